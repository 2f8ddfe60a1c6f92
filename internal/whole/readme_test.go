package whole_test

import (
	"bytes"
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"expvar"
	"fmt"
	"io"
	"io/fs"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/audit"
	"github.com/mcpchain/mcpchain/batch"
	"github.com/mcpchain/mcpchain/budget"
	"github.com/mcpchain/mcpchain/correlate"
	"github.com/mcpchain/mcpchain/correlate/sinks"
	"github.com/mcpchain/mcpchain/deadline"
	"github.com/mcpchain/mcpchain/degrade"
	"github.com/mcpchain/mcpchain/drain"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/limit"
	"github.com/mcpchain/mcpchain/mask"
	"github.com/mcpchain/mcpchain/mcptest"
	"github.com/mcpchain/mcpchain/middleware"
	mcprecover "github.com/mcpchain/mcpchain/recover"
	"github.com/mcpchain/mcpchain/replay"
	"github.com/mcpchain/mcpchain/retry"
	retryclient "github.com/mcpchain/mcpchain/retry/client"
	"github.com/mcpchain/mcpchain/state"
	"github.com/mcpchain/mcpchain/store"
	"github.com/mcpchain/mcpchain/store/storetest"
	"github.com/mcpchain/mcpchain/task"
	"github.com/mcpchain/mcpchain/transport"
	"github.com/mcpchain/mcpchain/validate"
)

// The functions below are the code of README.md and docs/*.md. TestReadme fails when
// a line there does not stand here, TestReadmeOutputs when nothing answers what is
// said there to be an answer.

func readmeServer(getWeather mcp.ToolHandlerFor[struct{}, any]) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "weather", Version: "1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "get_weather"}, getWeather)
	// ... more tools, resources and prompts ...

	server.AddReceivingMiddleware(mcpchain.Standard(nil)) // this line
	return server
}

func readmeHandlers(
	server *mcp.Server, tool *mcp.Tool, resource *mcp.Resource, prompt *mcp.Prompt,
	raw mcp.ToolHandler, typed mcp.ToolHandlerFor[struct{}, any], read mcp.ResourceHandler, get mcp.PromptHandler,
) {
	guard := middleware.Chain(mcprecover.New(nil), mask.New(nil))

	server.AddTool(tool, middleware.Tool(raw, guard))              // a raw tool handler
	middleware.AddTool(server, tool, typed, guard)                 // a typed one
	server.AddResource(resource, middleware.Resource(read, guard)) // a resource
	server.AddPrompt(prompt, middleware.Prompt(get, guard))        // a prompt
}

func readmeHTTP(server *mcp.Server) {
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	guarded := auth.RequireBearerToken(verify, nil)(handler)
	http.Handle("/mcp", transport.HTTP(guarded, nil)) // outermost
}

// readmeFirst is the body of the README's first program.
func readmeFirst() {
	server := mcp.NewServer(&mcp.Implementation{Name: "shop", Version: "1.0.0"}, nil)
	// ... your tools, resources and prompts ...
	server.AddReceivingMiddleware(mcpchain.Standard(nil)) // the one line; add it last
	log.Println("ended:", server.Run(context.Background(), transport.Stdio(nil)))
}

// readmeLocal is docs/program.md.
func readmeLocal(ctx context.Context, server *mcp.Server) error {
	server.AddReceivingMiddleware(mcpchain.Standard(&mcpchain.Options{ // the last middleware that is added
		Mask: &mask.Options{Reader: mask.Operator}, // you read its errors: you run it
	}))
	err := server.Run(ctx, transport.Stdio(nil)) // instead of &mcp.StdioTransport{}
	return err
}

// readmeAgent is docs/agents.md.
func readmeAgent(client *mcp.Client) {
	client.AddSendingMiddleware(retryclient.New(nil)) // calls again where that does no harm: three times, and for a minute at most
}

// readmeClassify is docs/errors.md.
func readmeClassify(err error) (*fault.Error, fault.Hint) {
	known := middleware.Classify(err) // its kind, and the public text
	hint := middleware.HintOf(err)    // whether a second try can help, and when
	return known, hint
}

// readmeMigrate is the beginning of docs/migrating.md.
func readmeMigrate(ctx context.Context, server *mcp.Server, handler http.Handler) error {
	server.AddReceivingMiddleware(mcpchain.Standard(&mcpchain.Options{
		Observe:  true,
		Logger:   slog.New(slog.NewTextHandler(os.Stderr, nil)), // mcpchain log reads text and JSON of slog
		Validate: &validate.Options{RawTools: true},             // for raw tools: those that Server.AddTool adds
	}))
	server.AddReceivingMiddleware(mcpchain.Standard(nil)) // after your own middlewares
	err := server.Run(ctx, transport.Stdio(nil))          // over stdio: instead of &mcp.StdioTransport{}
	http.Handle("/mcp", transport.HTTP(handler, nil))     // over HTTP: around the SDK's handler, outermost
	return err
}

// failed is what becomes of a helper in docs/migrating.md.
func failed(err error) (*mcp.CallToolResult, error) {
	return nil, err // was: a result with IsError and err.Error()
}

func readmeTransports(ctx context.Context, server *mcp.Server, handler http.Handler) error {
	http.Handle("/mcp", transport.HTTP(handler, nil)) // around the SDK's HTTP handler, outermost
	err := server.Run(ctx, transport.Stdio(nil))      // instead of &mcp.StdioTransport{}
	return err
}

func readmeShutdown(ctx context.Context, d *drain.Drain, httpServer *http.Server) {
	if err := d.Shutdown(ctx); err != nil {
		log.Print(err) // names the calls that did not end
	}
	if err := httpServer.Shutdown(ctx); err != nil {
		_ = httpServer.Close()
	}
}

// users stands for the package that knows a reader's users.
var users tokens

type tokens struct{}

var errNoToken = errors.New("no such token")

func (tokens) ByToken(_ context.Context, token string) (user string, until time.Time, err error) {
	switch token {
	case "t":
		return "ada", time.Now().Add(time.Hour), nil
	case "down":
		return "", time.Time{}, errors.New("dial postgres://app:hunter2@10.0.0.7/users: connection refused")
	default:
		return "", time.Time{}, errNoToken
	}
}

func verify(ctx context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
	user, until, err := users.ByToken(ctx, token)
	if errors.Is(err, errNoToken) {
		return nil, auth.ErrInvalidToken // the SDK answers 401
	}
	if err != nil {
		return nil, err // 500; transport.HTTP hides its text and logs it
	}
	return &auth.TokenInfo{UserID: user, Expiration: until}, nil
}

// TestReadmeHTTP sends requests to the handler of docs/http.md.
func TestReadmeHTTP(t *testing.T) {
	readmeHTTP(mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil))
	for token, want := range map[string]int{"t": http.StatusBadRequest, "x": http.StatusUnauthorized, "down": http.StatusInternalServerError} {
		rec := httptest.NewRecorder()
		req := httptest.NewRequest(http.MethodPost, "/mcp", strings.NewReader("{"))
		req.Header.Set("Authorization", "Bearer "+token)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		http.DefaultServeMux.ServeHTTP(rec, req)
		require.Equal(t, want, rec.Code, rec.Body)
		require.NotContains(t, rec.Body.String(), "hunter2")
	}
}

func readmeSome(server *mcp.Server) {
	server.AddReceivingMiddleware(mcprecover.New(nil))                                   // one, and nothing else
	server.AddReceivingMiddleware(middleware.ForTools(mask.New(nil), "query", "search")) // for some tools
}

func readmeOptions(server *mcp.Server, logger *slog.Logger, inner mcp.Middleware) {
	errLocked := fault.New(fault.KindServiceUnavailable, "the database is busy").After(time.Second)

	server.AddReceivingMiddleware(mcpchain.Standard(&mcpchain.Options{
		Logger: logger,
		Mask: &mask.Options{Rules: []mask.Rule{
			mask.Contains("database is locked", errLocked),
		}},
	}, inner)) // your own middlewares stand inside
}

func readmeCredentials(server *mcp.Server) {
	server.AddReceivingMiddleware(mcpchain.Standard(&mcpchain.Options{
		Validate: &validate.Options{
			Credentials:     validate.RefuseCredentials, // or RecordCredentials
			ToolCredentials: map[string]validate.Credentials{"write_file": validate.AllowCredentials},
		},
	}, mask.Successes("query", "read_file")))
}

var projects = map[string]string{}

// mystore stands for the package of a reader's own store.
var mystore = struct{ New func() store.Store }{func() store.Store { return store.NewMemory(nil) }}

func TestStore(t *testing.T) {
	storetest.Run(t, storetest.Config{
		New:    func(testing.TB) store.Store { return mystore.New() },
		Around: synctest.Test, // for a store in memory, whose waits then take no time
	})
}

func readmeFault(ctx context.Context, name, user string) error {
	names := make([]string, 0, len(projects))
	for n := range projects {
		names = append(names, n)
	}
	if _, ok := projects[name]; !ok {
		return fault.NotFound("project", name, names...)
	}
	if user == "" {
		return fault.Denied("delete", "project "+name).Needs("projects.delete")
	}
	if deploying(ctx, name) {
		return fault.New(fault.KindConflict, "a deployment of this project is running").
			After(30*time.Second).
			Step("See how far it is", "deployment_status", map[string]any{"project": name})
	}
	return nil
}

func deploying(context.Context, string) bool { return true }

func readmeRaw(server *mcp.Server, tool *mcp.Tool, raw mcp.ToolHandler) {
	server.AddTool(tool, validate.Tool(tool.InputSchema, raw))
}

func readmeShow(server *mcp.Server) {
	server.AddReceivingMiddleware(mcpchain.Standard(&mcpchain.Options{
		Mask: &mask.Options{Reader: mask.Trusted},
	}))
}

func count(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		res, err := next(ctx, method, req)
		if !middleware.IsLookup(ctx) { // a call that mcpchain made itself, such as tools/list
			log.Print(method, " ended with ", correlate.OutcomeOf(ctx, res, err))
		}
		middleware.AddTo(ctx, res, err, func(f *fault.Error) *fault.Error { return f.With("region", "eu-1") })
		return res, err
	}
}

func readmeLoad(server *mcp.Server) *drain.Drain {
	d := &drain.Drain{Lag: 2 * time.Second}
	server.AddReceivingMiddleware(mcpchain.Standard(&mcpchain.Options{
		Drain:  drain.New(&drain.Options{Drain: d}), // d.Shutdown(ctx) on SIGTERM; d.Ready() is /readyz
		Budget: budget.New(nil),                     // 10,000 tokens an answer; the rest by read_more
		Limit: limit.New(&limit.Options{Limits: []limit.Limit{
			{Scope: limit.PerOwner, Calls: 60, Per: time.Minute, Running: 4},
			{Scope: limit.ForAll, Running: 64},
		}}),
	}))
	return d
}

func readmeAudit(server *mcp.Server, dir string, key []byte) error {
	records, err := audit.Open(dir, &audit.FileOptions{Key: key})
	if err != nil {
		return err
	}
	defer records.Close() // when nothing is called any more

	server.AddReceivingMiddleware(mcpchain.Standard(&mcpchain.Options{
		Audit: audit.New(&audit.Options{Log: records}),
	}))
	return nil
}

func readmeVerify(dir string, key []byte, kept []audit.Head) error {
	auditor := audit.Verifier{Key: key, Heads: kept}
	head, err := auditor.Dir(dir) // also while it is written
	log.Print(head.Seq, " records are right: ", err)
	return err
}

func readmeStores(server *mcp.Server) {
	shared := store.NewMemory(nil) // for many machines: mcpredis.New(client, nil)
	server.AddReceivingMiddleware(mcpchain.Standard(&mcpchain.Options{
		Replay: replay.New(&replay.Options{Store: shared}),
		State:  state.New(&state.Options{Store: shared, Argument: "cart", NewTool: "new_cart"}),
	}))
}

type cart struct{ Items []string }

func readmeCart(ctx context.Context, item string) error {
	handle, err := state.Create(ctx, cart{}) // in new_cart: the model passes it back as the argument "cart"
	_ = handle
	if err != nil {
		return err
	}
	return func() error {
		err := state.Update(ctx, func(c *cart) error { c.Items = append(c.Items, item); return nil }) // in add_item
		return err
	}()
}

type (
	args    struct{ Files []string }
	content struct{ Lines int }
	city    struct{ City string }
)

func read(context.Context, string) (content, error) { return content{}, nil }

func readFiles(ctx context.Context, _ *mcp.CallToolRequest, in args) (*mcp.CallToolResult, batch.Output[content], error) {
	return batch.Run(ctx, in.Files, read, &batch.RunOptions[string]{KeyName: "file"}).Output()
}

func readmeLists(server *mcp.Server) {
	server.AddReceivingMiddleware(mcpchain.Standard(&mcpchain.Options{
		Batch: batch.New(&batch.Options{Lists: []batch.List{
			{Tool: "get_user", Item: "user_id", As: "get_users", Items: "user_ids"},
		}}),
	}))
}

func (c city) current(context.Context) (int, error)       { return 21, nil }
func (c city) forecast(context.Context) ([]string, error) { return nil, errors.New("down") }
func (c city) alerts(context.Context) ([]string, error)   { return nil, nil }
func (c city) cached(context.Context) ([]string, time.Time, error) {
	return []string{"sun"}, time.Now(), nil
}

type weather struct {
	Celsius  int      `json:"celsius"`
	Forecast []string `json:"forecast,omitempty"`
	Alerts   []string `json:"alerts,omitempty"`

	degrade.Status
}

func report(ctx context.Context, _ *mcp.CallToolRequest, in city) (*mcp.CallToolResult, weather, error) {
	var out weather
	var err error
	out.Status, err = degrade.Run(ctx, // degraded, warnings, metadata: part of the output and of its schema
		degrade.Required("current", &out.Celsius, in.current),
		degrade.Optional("forecast", &out.Forecast, in.forecast).
			Within(2*time.Second).
			Stale("cache", 6*time.Hour, in.cached),
		degrade.Optional("alerts", &out.Alerts, in.alerts).
			Impact("Check for warnings elsewhere before you go out."))
	return nil, out, err
}

func readmeAnnotated(server *mcp.Server, getWeather mcp.ToolHandlerFor[struct{}, any]) {
	mcp.AddTool(server, &mcp.Tool{Name: "get_weather", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, getWeather)
}

var lost = regexp.MustCompile(`^(08|40003|57P0[12])`) // SQLSTATEs that leave open what became of a statement

// insert is of docs/retry.md, as TestReadmeStatement runs it.
func insert(ctx context.Context, conn *sql.Conn) error { // sends once; a *sql.DB may send again
	done := retry.Began(ctx)
	_, err := conn.ExecContext(ctx, "INSERT INTO orders ...") // one statement
	var answer interface{ SQLState() string }                 // what the database answered
	if errors.As(err, &answer) && !lost.MatchString(answer.SQLState()) {
		done(retry.ErrUnchanged)
	} else {
		done(err)
	}
	return err
}

func readmeWitness(ctx context.Context, db *sql.DB, tx *sql.Tx, url string, body io.Reader) {
	done := retry.Began(ctx)
	_, err := db.ExecContext(ctx, "INSERT INTO orders ...")
	done(err)
	err = tx.Commit()
	done(err)
	client := &http.Client{Transport: retry.Transport(nil, nil)}
	_ = func() (*http.Response, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, body)
		if err != nil {
			return nil, err
		}
		return client.Do(req)
	}
}

func readmePoll() error {
	return retry.NotReady("the export", 5*time.Second)
}

func readmeResponse(resp *http.Response) error {
	if err := retry.FromResponse(resp); err != nil {
		return err // knows Retry-After, rate limits and statuses
	}
	return nil
}

func readmePayment(err error, limit time.Duration, id string) error {
	return fault.Timeout("the payment", limit).Because(err).
		WithRetry(fault.Retry{ShouldRetry: true, Effect: fault.EffectUnknown}).   // it may have been made
		Step("See whether it was made", "find_payment", map[string]any{"id": id}) // the tool that tells
}

func readmeRetryServer(server *mcp.Server) {
	server.AddReceivingMiddleware(mcpchain.Standard(&mcpchain.Options{
		RetryServer: retry.Server(&retry.ServerOptions{MaxAttempts: 3, Budget: 10 * time.Second}),
	}))
}

func readmeRetryClient(ctx context.Context, client *mcp.Client, session *mcp.ClientSession) error {
	client.AddSendingMiddleware(retryclient.New(&retryclient.Options{
		Budget:           30 * time.Second, // a server that asks for more gets no second call
		FailuresAsErrors: true,             // a failed result becomes a *fault.Error
	}))
	_, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "get_invoice"})
	if errors.Is(err, fault.KindNotFound) {
		return nil
	}
	return err
}

func readmeDeadline(server *mcp.Server) {
	server.AddReceivingMiddleware(mcpchain.Standard(&mcpchain.Options{
		Deadline: deadline.New(&deadline.Options{
			Limit: 20 * time.Second, // of a call that has none of its own
			Tools: map[string]time.Duration{"export": 2 * time.Minute},
		}),
	}))
	server.AddSendingMiddleware(deadline.Sending()) // a person who is asked something may think for longer
}

func readmeTask(server *mcp.Server) {
	server.AddReceivingMiddleware(mcpchain.Standard(&mcpchain.Options{Task: task.New(nil)}))
	server.AddSendingMiddleware(task.Sending()) // keeps the progress that handlers tell their clients
}

func readmeClient(ctx context.Context, session *mcp.ClientSession, params *mcp.CallToolParams) error {
	res, err := session.CallTool(ctx, params)
	if f, failed := middleware.FaultOf(res, err); failed {
		return f // its text says all of it, f.Data() the same for a program: kind, retry, steps
	}
	return nil
}

func readmeLog(ctx context.Context) {
	logger := slog.New(correlate.Handler(slog.NewJSONHandler(os.Stderr, nil)))

	logger.InfoContext(ctx, "cache miss") // in a handler: has the reference of the call
}

func readmeOperate(server *mcp.Server, tenantOf func(context.Context) string) *correlate.Options {
	caller := correlate.FromRequest("traceparent", "X-Request-ID", "com.example/request")
	options := &correlate.Options{
		NewID: correlate.Extend(caller), // the reference begins with the caller's ID and ends with random digits
		Slow:  2 * time.Second,
		Attrs: func(ctx context.Context, req mcp.Request) []slog.Attr {
			return []slog.Attr{slog.String("tenant", tenantOf(ctx))}
		},
		Advanced: correlate.Advanced{
			CallerID:           caller,
			ArgumentValues:     1024,
			ReferenceInSuccess: true, // under correlate.ReferenceKey in _meta
		},
	}

	calls := expvar.NewMap("mcp")
	server.AddReceivingMiddleware(mcpchain.Standard(&mcpchain.Options{
		Correlate: &correlate.Options{Observe: func(_ context.Context, e correlate.Event) {
			calls.Add(fmt.Sprintln(e.Method, e.Tool, e.Outcome, e.Kind, e.Party), 1)
		}},
	}))
	return options
}

func readmeSinks(file, network, spool, pager slog.Handler) *slog.Logger {
	service := sinks.Failover(network, spool)
	logger := slog.New(sinks.Fanout(
		file,
		sinks.Pipe(service, mask.SlogMiddleware(nil)), // scrubbed, because it leaves the company
		sinks.Router(sinks.Route{To: pager, When: sinks.Attr("outcome", "panic")}),
	))
	return logger
}

func readmeGo(ctx context.Context, fetch func(context.Context) error) error {
	done := mcprecover.Go(ctx, fetch)
	// ... other work ...
	return <-done // a *fault.PanicError if fetch panicked
}

// pages returns what stands between the fences of this language in the README and
// the pages below docs, by file.
func pages(t *testing.T, language string) map[string][]string {
	t.Helper()
	files, err := filepath.Glob("docs/*.md")
	require.NoError(t, err)
	blocks := map[string][]string{}
	for _, file := range append(files, "README.md") {
		page, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, b := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
			blocks[file] = append(blocks[file], b[1])
		}
	}
	require.NotEmpty(t, blocks)
	return blocks
}

// adopting is the line of docs/migrating.md, and what it may say.
func adopting(server *mcp.Server) {
	server.AddReceivingMiddleware(mcpchain.Standard(nil))
	server.AddReceivingMiddleware(mcpchain.Standard(&mcpchain.Options{Mask: &mask.Options{Reader: mask.Trusted}}))
	server.AddReceivingMiddleware(mcpchain.Standard(&mcpchain.Options{Mask: &mask.Options{Reader: mask.Operator}}))
	server.AddReceivingMiddleware(mcpchain.Standard(&mcpchain.Options{Observe: true}))
}

var _, _, _ = adopting, readmePoll, readmeWitness

// addTools adds the tools of docs/testing.md: "pay" is refused because the account is locked.
func addTools(server *mcp.Server) {
	mcp.AddTool(server, &mcp.Tool{Name: "pay"}, func(context.Context, *mcp.CallToolRequest, struct {
		Amount int    `json:"amount"`
		To     string `json:"to,omitempty"`
	},
	) (*mcp.CallToolResult, any, error) {
		return nil, nil, fault.New(fault.KindConflict, "the account is locked").
			Because(errors.New("lock held by postgres://bank:hunter2@10.0.0.7")).
			Never("It stays locked.").
			Step("See who holds the lock", "get_lock", nil)
	})
	mcp.AddTool(server, &mcp.Tool{Name: "get_lock"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return nil, nil, nil
	})
}

func bank(inner ...mcp.Middleware) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "bank"}, nil)
	addTools(server)
	server.AddReceivingMiddleware(mcpchain.Standard(nil, inner...))
	return server
}

func TestPay(t *testing.T) {
	for _, version := range []string{mcptest.Current, mcptest.Older} {
		s := mcptest.Start(t, bank(), &mcptest.Options{Version: version})

		res, err := s.Call("pay", map[string]any{"amount": 5, "to": "ada"})

		mcptest.Expect{
			Kind:  fault.KindConflict,
			Retry: fault.RetryNo,
			Steps: []string{"get_lock"},
			Text:  []string{"the account is locked"},
		}.Check(t, res, err)
		mcptest.ExecutableSteps(t, s, mcptest.Failure(t, res, err))
		mcptest.NoLeak(t, s, "hunter2", "10.0.0.7")
		mcptest.Legal(t, s)
	}
}

// newServer is what docs/start.md tests.
func newServer() *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "calculator"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "divide"}, func(_ context.Context, _ *mcp.CallToolRequest, in input) (*mcp.CallToolResult, output, error) {
		return nil, output{in.A / in.B}, nil
	})
	server.AddReceivingMiddleware(mcpchain.Standard(&mcpchain.Options{Logger: slog.New(slog.DiscardHandler)}))
	return server
}

type input struct {
	A int `json:"a"`
	B int `json:"b"`
}

type output struct {
	Quotient int `json:"quotient"`
}

// divide is the tool after step 4 of docs/start.md.
func divide(_ context.Context, _ *mcp.CallToolRequest, in input) (*mcp.CallToolResult, output, error) {
	if in.B == 0 {
		return nil, output{}, fault.Invalid("b", in.B, "a number that is not 0")
	}
	return nil, output{in.A / in.B}, nil
}

func TestDivideByZero(t *testing.T) {
	s := mcptest.Start(t, newServer(), nil)

	res, err := s.Call("divide", map[string]any{"a": 1, "b": 0})

	mcptest.Expect{Kind: fault.KindInternal}.Check(t, res, err)
	mcptest.NoLeak(t, s, "integer divide by zero")
}

// TestPayFails is the rest of docs/testing.md.
func TestPayFails(t *testing.T) {
	server := bank(mcptest.Inject(t, mcptest.Injection{Error: errors.New("dial postgres://bank:hunter2@10.0.0.7")}))
	s := mcptest.Start(t, server, nil)
	_, _ = s.Call("pay", map[string]any{"amount": 5})
	mcptest.NoLeak(t, s, "hunter2", "10.0.0.7")

	mcptest.Inject(t,
		mcptest.Injection{Names: []string{"pay"}, Hang: true},
		mcptest.Injection{Probability: 0.1, Seed: 1, Error: io.ErrUnexpectedEOF})
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true})
	_ = func() { // a session for this handler, whose test stands in package mcptest
		s := mcptest.StartHTTP(t, handler, &mcptest.Options{Header: http.Header{"Authorization": {"Bearer good"}}})
		mcptest.Legal(t, s)
	}
	_ = func() { // there is no such program, and no such file
		s := mcptest.Run(t, exec.Command("./bank"), nil)
		res, err := s.Call("pay", nil)
		mcptest.Golden(t, "locked", mcptest.Text(res, err))
	}
}

// TestReadme fails when a page shows code that is not compiled here or in a recipe.
func TestReadme(t *testing.T) {
	sources, err := filepath.Glob("examples/*/*.go")
	require.NoError(t, err)
	var compiled []string
	for _, name := range append(sources, "internal/whole/readme_test.go", "internal/whole/ask_test.go") {
		source, err := os.ReadFile(name)
		require.NoError(t, err)
		compiled = append(compiled, trimmed(string(source))...)
	}
	for file, blocks := range pages(t, "go") {
		for _, b := range blocks {
			for _, line := range trimmed(b) {
				require.Truef(t, slices.Contains(compiled, line), "%s shows code that internal/whole/readme_test.go does not compile:\n%s", file, line)
			}
		}
	}
}

// TestFirstProgram: the README's first program can be read at once, and compiles as it stands.
func TestFirstProgram(t *testing.T) {
	program := pages(t, "go")["README.md"][0]
	require.LessOrEqual(t, len(trimmed(program)), 14)
	file := filepath.Join(t.TempDir(), "main.go")
	require.NoError(t, os.WriteFile(file, []byte(program), 0o600))
	said, err := exec.CommandContext(t.Context(), "go", "vet", file).CombinedOutput()
	require.NoError(t, err, string(said))
}

// TestLinks fails when a page of the repository leads to a file or a heading that there is not.
func TestLinks(t *testing.T) {
	links := regexp.MustCompile(`\]\(([^):#]*)(?:#([^)]*))?\)`)
	checked := 0
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "bin" || d.Name() == "testdata" || d.Name() == "node_modules" || len(d.Name()) > 1 && d.Name()[0] == '.'):
			return filepath.SkipDir
		case filepath.Ext(file) != ".md":
			return nil
		}
		page, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, link := range links.FindAllStringSubmatch(withoutCode(string(page)), -1) {
			target := file
			if link[1] != "" {
				target = filepath.Join(filepath.Dir(file), filepath.FromSlash(link[1]))
			}
			_, err := os.Stat(target)
			require.NoErrorf(t, err, "%s leads to %s", file, link[0])
			if link[2] != "" {
				led, err := os.ReadFile(target)
				require.NoError(t, err)
				require.Containsf(t, anchors(string(led)), link[2], "%s leads to %s", file, link[0])
			}
			checked++
		}
		return nil
	})
	require.NoError(t, err)
	require.Greater(t, checked, 200)
}

// TestTheTwoCommands: the README names the commands that .ci/run runs first, with what they need
// and how long they take.
func TestTheTwoCommands(t *testing.T) {
	page, err := os.ReadFile("README.md")
	require.NoError(t, err)
	_, section, found := strings.Cut(string(page), "\n## Try it\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n## ")
	ci, err := os.ReadFile(".ci/run")
	require.NoError(t, err)
	for step, takes := range map[string]string{"test": "minutes", "quickstart": "seconds"} {
		run := regexp.MustCompile(`(?m)^step_` + step + `\(\) \{ say (.*); \}$`).FindSubmatch(ci)
		require.NotNil(t, run, step)
		_, about, named := strings.Cut(section, "`"+string(run[1])+"`")
		require.True(t, named, "%s is not named", run[1])
		about, _, _ = strings.Cut(about, "`")
		require.Contains(t, about, takes)
	}
	require.Contains(t, section, "git clone https://github.com/mcpchain/mcpchain")
	require.Contains(t, section, "Go")

	// The quickstart ends itself before the time that it is said to take is over.
	main, err := os.ReadFile("examples/quickstart/main.go")
	require.NoError(t, err)
	ends := regexp.MustCompile(`WithTimeout\(context\.Background\(\), (\d+)\*time\.Second\)`).FindSubmatch(main)
	require.NotNil(t, ends)
	said := regexp.MustCompile(`at most (\d+) seconds`).FindStringSubmatch(section)
	require.NotNil(t, said)
	limit, err := strconv.Atoi(string(ends[1]))
	require.NoError(t, err)
	most, err := strconv.Atoi(said[1])
	require.NoError(t, err)
	require.Less(t, limit, most)
	require.LessOrEqual(t, most, limit+2)
}

// withoutCode returns a page without its blocks of code.
func withoutCode(page string) string {
	return regexp.MustCompile("(?ms)^```.*?^```").ReplaceAllString(page, "")
}

// anchors returns what the headings of a page can be linked by.
func anchors(page string) []string {
	var found []string
	for _, heading := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(withoutCode(page), -1) {
		kept := regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(strings.ToLower(heading[1]), "")
		found = append(found, strings.ReplaceAll(kept, " ", "-"))
	}
	return found
}

// TestPages keeps the pages short, and in the tables of contents.
func TestPages(t *testing.T) {
	front, err := os.ReadFile("README.md")
	require.NoError(t, err)
	require.Less(t, bytes.Count(front, []byte("\n")), 179, "README.md is read in one go")
	files, err := filepath.Glob("docs/*.md")
	require.NoError(t, err)
	contents, err := os.ReadFile("docs/README.md")
	require.NoError(t, err)
	require.NotRegexp(t, `\[[^\]]*\.md\]`, string(contents), "docs/README.md links titles, not names of files")
	site, err := os.ReadFile("mkdocs.yml")
	require.NoError(t, err)
	for _, file := range files {
		name := filepath.Base(file)
		require.Contains(t, string(site), ": "+name+"\n", "mkdocs.yml")
		if name != "README.md" {
			require.Regexp(t, `\]\(`+regexp.QuoteMeta(name)+`[#)]`, string(contents), "docs/README.md leads to each page")
		}
	}
}

// trimmed returns the lines that are not empty, with white space folded.
func trimmed(text string) []string {
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.Join(strings.Fields(line), " "); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// TestReadmeCode runs what the README shows.
func TestReadmeCode(t *testing.T) { synctest.Test(t, readmeCode) }

func readmeCode(t *testing.T) {
	t.Helper()
	projects["alpha"] = ""
	require.EqualError(t, readmeFault(t.Context(), "alhpa", ""), "Not found: project 'alhpa' does not exist. Did you mean 'alpha'?")
	require.ErrorIs(t, readmeFault(t.Context(), "alpha", ""), fault.KindPermissionDenied)
	locked := readmeFault(t.Context(), "alpha", "ada")
	require.NotContains(t, locked.Error(), "10.0.0.7")
	require.Contains(t, locked.Error(), `Next: 1. See how far it is: call deployment_status {"project":"alpha"}.`)
	require.ErrorContains(t, readmeGo(t.Context(), func(context.Context) error { panic("x") }), "panic: x")
	readmeLog(t.Context())
	require.NotPanics(t, func() {
		correlate.New(readmeOperate(mcp.NewServer(&mcp.Implementation{Name: "shop"}, nil), func(context.Context) string { return "acme" }))
	})
	readmeSinks(slog.DiscardHandler, slog.DiscardHandler, slog.DiscardHandler, slog.DiscardHandler).Info("to all")

	failing := func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return nil, nil, errors.New("sqlite: database is locked (5)")
	}
	server := readmeServer(failing)
	readmeHandlers(server,
		&mcp.Tool{Name: "t", InputSchema: map[string]any{"type": "object"}},
		&mcp.Resource{URI: "x://y"}, &mcp.Prompt{Name: "p"},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return nil, nil }, failing,
		func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) { return nil, nil },
		func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) { return nil, nil })
	readmeSome(server)
	readmeOptions(server, slog.New(slog.DiscardHandler), nil)
	readmeDeadline(server)
	readmeAnnotated(server, failing)
	readmeRetryServer(server)
	dir, key := t.TempDir(), []byte("0123456789abcdef")
	require.NoError(t, readmeAudit(mcp.NewServer(&mcp.Implementation{Name: "bank"}, nil), dir, key))
	require.NoError(t, readmeVerify(dir, key, nil))
	require.ErrorIs(t, readmeVerify(dir, []byte("another key 1234"), nil), audit.ErrBroken)
	readmeStores(mcp.NewServer(&mcp.Implementation{Name: "shop"}, nil))
	require.Error(t, readmeCart(t.Context(), "tea")) // outside of a call
	drained := readmeLoad(mcp.NewServer(&mcp.Implementation{Name: "busy"}, nil))
	require.Zero(t, drained.Running())
	readmeShutdown(t.Context(), drained, &http.Server{ReadHeaderTimeout: time.Second})
	require.NotNil(t, readmeTransports)
	require.NotNil(t, readmeFirst)
	require.NotNil(t, readmeLocal)
	require.NotNil(t, readmeMigrate)
	readmeAgent(mcp.NewClient(&mcp.Implementation{Name: "agent"}, nil))
	known, hint := readmeClassify(context.DeadlineExceeded)
	require.Equal(t, fault.KindTimeout, known.Kind())
	require.Empty(t, hint.Effect)
	_, told := failed(errors.New("no rows"))
	require.EqualError(t, told, "no rows")
	require.Equal(t, fault.KindRateLimited, middleware.Classify(readmeResponse(&http.Response{StatusCode: http.StatusTooManyRequests})).Kind())
	require.ErrorContains(t, readmePayment(nil, 10*time.Second, "p-1"), `Next: 1. See whether it was made: call find_payment {"id":"p-1"}.`)
	readmeLists(server)
	_, found, err := readFiles(t.Context(), nil, args{Files: []string{"a", "b"}})
	require.NoError(t, err)
	require.Equal(t, 2, found.Succeeded)
	_, now, err := report(t.Context(), nil, city{})
	require.NoError(t, err)
	require.Equal(t, []string{"sun"}, now.Forecast)
	require.True(t, now.Degraded, "what is old is said to be")
	readmeCredentials(server)
	readmeRaw(server, &mcp.Tool{Name: "raw", InputSchema: map[string]any{"type": "object"}}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return nil, nil })

	ours, theirs := mcp.NewInMemoryTransports()
	_, err = server.Connect(t.Context(), theirs, nil)
	require.NoError(t, err)
	client := mcp.NewClient(&mcp.Implementation{Name: "reader"}, nil)
	session, err := client.Connect(t.Context(), ours, nil)
	require.NoError(t, err)
	defer session.Close()
	err = readmeClient(t.Context(), session, &mcp.CallToolParams{Name: "get_weather"})
	require.ErrorContains(t, err, "the database is busy")
	require.NoError(t, readmeRetryClient(t.Context(), client, session), "there is no get_invoice: not found")
}

// oneStatement is a database that ends the first statement with the error, and later ones as those of which the row
// exists already.
type oneStatement struct {
	driver.Conn

	err error
}

func (d *oneStatement) Connect(context.Context) (driver.Conn, error) { return d, nil }
func (d *oneStatement) Driver() driver.Driver                        { return nil }
func (d *oneStatement) Close() error                                 { return nil }
func (d *oneStatement) ExecContext(context.Context, string, []driver.NamedValue) (driver.Result, error) {
	err := d.err
	d.err = answered("23505")
	return driver.RowsAffected(1), err
}

type answered string

func (e answered) Error() string    { return "SQLSTATE " + string(e) }
func (e answered) SQLState() string { return string(e) }

// TestReadmeStatement: a statement that the database refused changed nothing, one that was lost is open.
func TestReadmeStatement(t *testing.T) {
	const nothing, open = "Nothing was changed by this call.", "Retry: no, unless you see that it did not take effect."
	for name, tc := range map[string]struct {
		err         error
		says, never string
	}{
		"refused":             {answered("23505"), nothing, open},
		"rolled back":         {answered("40001"), nothing, open},
		"cancelled":           {answered("57014"), nothing, open},
		"connection":          {answered("08006"), open, nothing},
		"completion unknown":  {answered("40003"), open, nothing},
		"shutdown":            {answered("57P01"), open, nothing},
		"crash":               {answered("57P02"), open, nothing},
		"no answer":           {io.ErrUnexpectedEOF, open, nothing},
		"not sent again":      {driver.ErrBadConn, open, nothing}, // as pgx and lib/pq call a statement without an answer
		"a driver's own word": {errors.New("too many tries"), open, nothing},
	} {
		t.Run(name, func(t *testing.T) {
			db := sql.OpenDB(&oneStatement{err: tc.err})
			defer db.Close()
			conn, err := db.Conn(t.Context())
			require.NoError(t, err)
			defer conn.Close()
			server := mcp.NewServer(&mcp.Implementation{Name: "shop"}, nil)
			mcp.AddTool(server, &mcp.Tool{Name: "order"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
				return nil, nil, insert(ctx, conn)
			})
			server.AddReceivingMiddleware(mcpchain.Standard(&mcpchain.Options{
				Logger: slog.New(slog.DiscardHandler), Retry: &retry.Options{Witnessed: func(string) bool { return true }},
			}))
			res, err := mcptest.Start(t, server, nil).Call("order", nil)
			text := mcptest.Text(res, err)
			require.Contains(t, text, tc.says)
			require.NotContains(t, text, tc.never)
		})
	}
}

// TestReadmeShow holds the table of what a caller reads of an error that nobody worded,
// and that a middleware of the reader's own adds to a failure.
func TestReadmeShow(t *testing.T) {
	failing := func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return nil, nil, errors.New("no invoice for May")
	}
	quiet := slog.New(slog.DiscardHandler)
	for name, c := range map[string]struct {
		add  func(*mcp.Server)
		want string
	}{
		"nothing": {func(s *mcp.Server) { s.AddReceivingMiddleware(mcpchain.Standard(nil)) }, "Internal error: the server failed unexpectedly."},
		"worded":  {readmeShow, "Tool error: no invoice for May."},
		"reveal": {func(s *mcp.Server) {
			s.AddReceivingMiddleware(mcpchain.Standard(&mcpchain.Options{Logger: quiet, Mask: &mask.Options{Reveal: true}}))
		}, "Internal error: no invoice for May."},
		"own": {func(s *mcp.Server) {
			s.AddReceivingMiddleware(mcpchain.Standard(&mcpchain.Options{Logger: quiet}, count))
		}, `Details: {"region":"eu-1"}`},
	} {
		t.Run(name, func(t *testing.T) {
			server := mcp.NewServer(&mcp.Implementation{Name: "invoices"}, nil)
			mcp.AddTool(server, &mcp.Tool{Name: "get"}, failing)
			c.add(server)
			ours, theirs := mcp.NewInMemoryTransports()
			_, err := server.Connect(t.Context(), theirs, nil)
			require.NoError(t, err)
			session, err := mcp.NewClient(&mcp.Implementation{Name: "reader"}, nil).Connect(t.Context(), ours, nil)
			require.NoError(t, err)
			defer session.Close()
			res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "get"})
			require.NoError(t, err)
			require.Contains(t, res.Content[0].(*mcp.TextContent).Text, c.want)
		})
	}
}

// TestReadmeOutputs fails when a page shows an answer that nobody gives. It makes the
// calls that the pages tell of and takes the rest from what the recipes print.
func TestReadmeOutputs(t *testing.T) {
	var all []string
	goldens, err := filepath.Glob("examples/*/output.golden")
	require.NoError(t, err)
	for _, name := range goldens {
		printed, err := os.ReadFile(name)
		require.NoError(t, err)
		all = append(all, string(printed))
	}
	shown, err := filepath.Glob("internal/node/testdata/*.golden") // which .ci/run node compares
	require.NoError(t, err)
	reports, err := filepath.Glob("cmd/mcpchain/testdata/*.golden") // of check and compare
	require.NoError(t, err)
	shown = append(shown, reports...)
	for _, file := range shown {
		printed, err := os.ReadFile(file)
		require.NoError(t, err)
		all = append(all, string(printed))
	}
	synctest.Test(t, func(t *testing.T) { all = append(all, readmeAnswers(t)...) })
	said, err := os.ReadFile("mcptest/example_test.go") // whose outputs go test compares
	require.NoError(t, err)
	all = append(all, strings.ReplaceAll(string(said), "\t// ", ""))

	order, err := os.ReadFile("chain.go")
	require.NoError(t, err)
	printed := strings.Join(append(all, string(order)), "\n")
	for file, blocks := range pages(t, "text") {
		for _, b := range blocks {
			for answer := range strings.SplitSeq(strings.TrimSpace(b), "\n\n") {
				if !strings.Contains(printed, answer) { // all that is printed would be a long message
					t.Errorf("%s shows what nobody says:\n%s", file, answer)
				}
			}
		}
	}
}

// TestAgentPage: the data of a failure that docs/agents.md shows are what examples/agent prints.
func TestAgentPage(t *testing.T) {
	printed, err := os.ReadFile("examples/agent/output.golden")
	require.NoError(t, err)
	shown := pages(t, "json")["docs/agents.md"]
	require.Len(t, shown, 1)
	reference := regexp.MustCompile(`("reference_id": )"[^"]*"`)
	require.Contains(t, reference.ReplaceAllString(string(printed), "$1"), reference.ReplaceAllString(shown[0], "$1"))
}

// readmeAnswers returns what a server answers in the cases that the pages tell of, and
// the records in its log.
func readmeAnswers(t *testing.T) []string {
	t.Helper()
	projects["alpha"] = ""
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || a.Key == "duration_ms" {
			return slog.Attr{}
		}
		return a
	}}))
	server := mcp.NewServer(&mcp.Implementation{Name: "weather"}, nil)
	text := func(name string, fn func(ctx context.Context, in struct{ Name string }) error) {
		mcp.AddTool(server, &mcp.Tool{Name: name},
			func(ctx context.Context, _ *mcp.CallToolRequest, in struct{ Name string }) (*mcp.CallToolResult, any, error) {
				return nil, nil, fn(ctx, in)
			})
	}
	refused := &net.OpError{
		Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(10, 0, 0, 7), Port: 5432},
		Err: os.NewSyscallError("connect", syscall.ECONNREFUSED),
	}
	mcp.AddTool(server, &mcp.Tool{Name: "divide"}, divide)
	text("get_weather", func(context.Context, struct{ Name string }) error { return fmt.Errorf("billing: %w", refused) })
	text("delete", func(ctx context.Context, in struct{ Name string }) error { return readmeFault(ctx, in.Name, "ada") })
	text("delete_as_nobody", func(ctx context.Context, in struct{ Name string }) error { return readmeFault(ctx, in.Name, "") })
	text("project", func(_ context.Context, in struct{ Name string }) error { return fault.NotFound("project", in.Name) })
	text("pay", func(context.Context, struct{ Name string }) error {
		return readmePayment(errors.New("no answer"), 10*time.Second, "p-1")
	})
	for _, name := range []string{"deployment_status", "find_payment"} { // a step names only tools that the caller can call
		server.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { panic("it was called") })
	}
	released := make(chan struct{})
	text("stuck", func(context.Context, struct{ Name string }) error { <-released; return nil })
	mcp.AddTool(server, &mcp.Tool{Name: "get_user"}, func(_ context.Context, _ *mcp.CallToolRequest, in struct {
		ID string `json:"user_id"`
	},
	) (*mcp.CallToolResult, struct {
		Name string `json:"name"`
	}, error,
	) {
		out := struct {
			Name string `json:"name"`
		}{"User " + in.ID}
		if in.ID == "u2" {
			return nil, out, fault.NotFound("user", in.ID)
		}
		return nil, out, nil
	})
	server.AddTool(&mcp.Tool{Name: "search", InputSchema: json.RawMessage(`{"type":"object","properties":{"query":{"type":"string"}}}`)},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { panic("it was called") })
	readmeRaw(server, &mcp.Tool{Name: "resize", InputSchema: json.RawMessage(`{"type":"object","required":["width"],"additionalProperties":false,"properties":{
		"width":{"type":"integer","minimum":1,"maximum":4096},"format":{"enum":["png","webp"]}}}`)},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { panic("it was called") })
	server.AddReceivingMiddleware(mcpchain.Standard(&mcpchain.Options{
		Logger:    logger,
		Correlate: &correlate.Options{NewID: func(context.Context, mcp.Request) string { return "0198c7f2-9d3e-7c41-9f0a-5b7d6c1e2a34" }},
		Retry:     &retry.Options{InitialInterval: time.Millisecond}, // the same wait each time
		Validate:  &validate.Options{Credentials: validate.RefuseCredentials},
		Deadline:  deadline.New(&deadline.Options{Limit: 20 * time.Second}),
		Batch:     batch.New(&batch.Options{Lists: []batch.List{{Tool: "get_user", Item: "user_id", As: "get_users", Items: "user_ids"}}}),
	}))

	ours, theirs := mcp.NewInMemoryTransports()
	serving, err := server.Connect(t.Context(), theirs, nil)
	require.NoError(t, err)
	session, err := mcp.NewClient(&mcp.Implementation{Name: "reader"}, nil).Connect(t.Context(), ours, nil)
	require.NoError(t, err)
	var answers []string
	call := func(name string, arguments map[string]any) {
		res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: arguments})
		require.NoError(t, err)
		require.NotEmpty(t, res.Content)
		answers = append(answers, res.Content[0].(*mcp.TextContent).Text)
	}
	call("divide", map[string]any{"a": 1, "b": 0})
	answers = append(answers, readmeOperator(t), readmeLasts(t))
	answers = append(answers, readmeFailure(t)...)
	call("get_weather", map[string]any{"Name": "Oslo"})
	call("delete", map[string]any{"Name": "alhpa"})
	call("delete", map[string]any{"Name": "alpha"})
	call("delete_as_nobody", map[string]any{"Name": "alpha"})
	call("pay", map[string]any{"Name": "p-1"})
	call("stuck", map[string]any{"Name": ""})
	call("resize", map[string]any{"format": "jpg", "widht": 99999})
	call("search", map[string]any{"query": "who has postgres://app:hunter2@db/prod"})
	call("get_users", map[string]any{"user_ids": []string{"u1", "u2", "u3"}})
	for range 7 {
		call("project", map[string]any{"Name": "zebra"})
	}
	close(released)
	require.NoError(t, session.Close())
	require.NoError(t, serving.Wait())
	synctest.Wait()
	return append(answers, log.String())
}

// readmeLasts returns what the caller of a tool that lasts reads, under the ID of the pages.
func readmeLasts(t *testing.T) string {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "reports"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "report"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		task.Report(ctx, "30 of 100")
		time.Sleep(time.Minute)
		return &mcp.CallToolResult{}, nil, nil
	})
	readmeTask(server)
	ours, theirs := mcp.NewInMemoryTransports()
	_, err := server.Connect(t.Context(), theirs, nil)
	require.NoError(t, err)
	session, err := mcp.NewClient(&mcp.Implementation{Name: "reader"}, nil).Connect(t.Context(), ours, nil)
	require.NoError(t, err)
	defer session.Close()
	res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "report"})
	require.NoError(t, err)
	time.Sleep(time.Hour) // it ends
	return regexp.MustCompile(`[A-Z2-7]{26}`).ReplaceAllString(res.Content[0].(*mcp.TextContent).Text, "GQ3DEGJHHTN5BHXB3YSGUGHLCB")
}

// readmeFailure returns what the README shows first: the answers of the quickstart's list_orders without the chain
// and with it, and its record in three lines.
func readmeFailure(t *testing.T) []string {
	t.Helper()
	const failed = "connect to postgres://shop:tr0ub4dor@10.1.2.3:5432/shop: too many clients"
	source, err := os.ReadFile("examples/quickstart/failures.go")
	require.NoError(t, err)
	address, end, _ := strings.Cut(strings.TrimPrefix(failed, "connect to "), ": ")
	require.Contains(t, string(source), "databaseURL = "+strconv.Quote(address))
	require.Contains(t, string(source), `errors.New("connect to " + databaseURL + ": `+end+`")`)

	var record bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&record, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || a.Key == "duration_ms" {
			return slog.Attr{}
		}
		return a
	}}))
	answer := func(chain ...mcp.Middleware) string {
		server := mcp.NewServer(&mcp.Implementation{Name: "shop"}, nil)
		mcp.AddTool(server, &mcp.Tool{Name: "list_orders", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
			func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
				return nil, nil, errors.New(failed)
			})
		server.AddReceivingMiddleware(chain...)
		ours, theirs := mcp.NewInMemoryTransports()
		_, err := server.Connect(t.Context(), theirs, nil)
		require.NoError(t, err)
		session, err := mcp.NewClient(&mcp.Implementation{Name: "quickstart"}, nil).Connect(t.Context(), ours, nil)
		require.NoError(t, err)
		defer session.Close()
		res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "list_orders"})
		require.NoError(t, err)
		return res.Content[0].(*mcp.TextContent).Text
	}
	without := answer()
	with := answer(mcpchain.Standard(&mcpchain.Options{
		Logger:    logger,
		Correlate: &correlate.Options{NewID: func(context.Context, mcp.Request) string { return "0198c7f2-9d3e-7c41-9f0a-5b7d6c1e2a34" }},
	}))
	require.Equal(t, failed, without)
	return []string{without, with, strings.NewReplacer(" reference=", "\nreference=", " error=", "\nerror=").Replace(record.String())}
}

// readmeOperator returns what the caller of a local server reads of an error.
func readmeOperator(t *testing.T) string {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "invoices"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "get"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return nil, nil, fmt.Errorf("no invoice in %s", "/srv/2026/may")
	})
	server.AddReceivingMiddleware(mcpchain.Standard(&mcpchain.Options{
		Logger: slog.New(slog.DiscardHandler), Mask: &mask.Options{Reader: mask.Operator},
	}))
	ours, theirs := mcp.NewInMemoryTransports()
	_, err := server.Connect(t.Context(), theirs, nil)
	require.NoError(t, err)
	session, err := mcp.NewClient(&mcp.Implementation{Name: "reader"}, nil).Connect(t.Context(), ours, nil)
	require.NoError(t, err)
	defer session.Close()
	res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "get"})
	require.NoError(t, err)
	return res.Content[0].(*mcp.TextContent).Text
}

// TestSecurityNamesItsTests holds SECURITY.md to its word: each promise is one list item that ends with the tests that
// hold it, and these exist.
func TestSecurityNamesItsTests(t *testing.T) {
	text, err := os.ReadFile("SECURITY.md")
	require.NoError(t, err)
	_, promised, ok := strings.Cut(string(text), "## What is promised\n")
	require.True(t, ok)
	promised, _, ok = strings.Cut(promised, "\n## ")
	require.True(t, ok)
	const tests = "(?:`Test[A-Za-z0-9]+`(?:, | and )?)+"
	in := regexp.MustCompile("(" + tests + ") in `([a-z0-9./]+)`")
	held := regexp.MustCompile("[^.] \\(" + in.String() + "(?:, " + in.String() + ")*\\)\\.$")
	items := 0
	for _, paragraph := range strings.Split(promised, "\n- ")[1:] {
		item := strings.Join(strings.Fields(strings.SplitN(paragraph, "\n\n", 2)[0]), " ")
		require.Regexp(t, held, item)
		require.NotContains(t, item, ". ", "one sentence a promise")
		items++
		for _, m := range in.FindAllStringSubmatch(item, -1) {
			var source strings.Builder
			files, err := filepath.Glob(filepath.Join(m[2], "*_test.go"))
			require.NoError(t, err)
			for _, name := range files {
				code, err := os.ReadFile(name)
				require.NoError(t, err)
				source.Write(code)
			}
			for _, test := range regexp.MustCompile("Test[A-Za-z0-9]+").FindAllString(m[1], -1) {
				require.Contains(t, source.String(), "\nfunc "+test+"(t *testing.T) {", m[2])
			}
		}
	}
	require.Greater(t, items, 20)
}
