package mask_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	neturl "net/url"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/internal/words"
	"github.com/mcpchain/mcpchain/mask"
	"github.com/mcpchain/mcpchain/retry"
)

// readers are all there are, by their names.
var readers = map[mask.Reader]string{mask.Anyone: "Anyone", mask.Trusted: "Trusted", mask.Operator: "Operator"}

// pgError is an error of PostgreSQL, as pgx has it.
type pgError struct{ Severity, Code, Message string }

func (e *pgError) Error() string    { return e.Severity + ": " + e.Message + " (SQLSTATE " + e.Code + ")" }
func (e *pgError) SQLState() string { return e.Code }

// terse is an error around another one that leaves out what that says.
type terse struct{ error }

func (terse) Error() string   { return "the query failed" }
func (t terse) Unwrap() error { return t.error }

// apiError is the error of a service's client that keeps the service's words apart.
type apiError struct {
	StatusCode int
	Body       string
}

func (*apiError) Error() string { return "unexpected answer" }

// silent is an error without a text.
type silent apiError

func (silent) Error() string { return "" }

// listed is an error that cannot be compared.
type listed struct {
	StatusCode int
	Errors     []string
}

func (listed) Error() string { return "refused" }

func answered(status int, body string) error {
	return retry.FromResponse(&http.Response{
		StatusCode: status, Body: io.NopCloser(strings.NewReader(body)),
		Request: &http.Request{Method: http.MethodPost, URL: &neturl.URL{Scheme: "https", Host: "api.example.com", Path: "/items"}},
	})
}

func none[T any]() (zero T) { return zero }

// bugs are what the runtime finds in a program.
func bugs() (all []error) {
	var index int
	for _, f := range []func(){
		func() { _ = []int{}[index] },
		func() { none[map[string]int]()["a"] = index },
		func() { _ = *none[*int]() },
		func() { _ = any("text").(int) },
	} {
		func() {
			defer func() {
				err, _ := recover().(error)
				all = append(all, err)
			}()
			f()
		}()
	}
	return all
}

// text returns what the reader reads of an error of a tool that was called with arguments, without the reference.
func text(t *testing.T, reader mask.Reader, err error, arguments any, rules ...mask.Rule) string {
	t.Helper()
	raw, invalid := json.Marshal(arguments)
	require.NoError(t, invalid)
	mw := mask.New(&mask.Options{Reader: reader, Rules: rules, Logger: slog.New(slog.DiscardHandler)})
	res, failed := mw(func(context.Context, string, mcp.Request) (mcp.Result, error) { return nil, err })(
		t.Context(), "tools/call", &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "it", Arguments: raw}})
	if failed != nil {
		return failed.Error()
	}
	said, _, _ := strings.Cut(res.(*mcp.CallToolResult).Content[0].(*mcp.TextContent).Text, "\nReference: ")
	return said
}

// TestReaders writes down what each reader reads of each shape of an error.
func TestReaders(t *testing.T) {
	const (
		internal = "Internal error: the server failed unexpectedly."
		missing  = "Not found: the requested item does not exist.\nSuggestion: Check the name. If a tool lists what exists, call it first."
		refused  = "Connection failed: a service that is needed could not be reached.\nSuggestion: Keep the arguments: they are not the cause."
		exists   = "Already exists: an item with this identifier exists already.\nSuggestion: Choose another identifier, or use the item that exists."
		mistake  = "Client error: this call cannot succeed as it is.\nSuggestion: Change the arguments before you call again."
		key      = "Server error: a service that is needed refused the access of this server."
	)
	dial := &neturl.Error{Op: "Get", URL: "http://127.0.0.1:18098/api/v3/repos/o/r/git/ref/heads/main", Err: &net.OpError{
		Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 18098}, Err: syscall.ECONNREFUSED,
	}}
	locked := mask.Contains("locked", fault.New("locked", "it is locked"))
	for name, c := range map[string]struct {
		err                       error
		anyone, trusted, operator string // trusted is "" if it is the operator's
	}{
		"plain": {errors.New("empty query"), internal, "", "Tool error: empty query."},
		"of the README": {
			fmt.Errorf("no invoice in %s", "/srv/2026/may"), internal, "Tool error: no invoice in [path].", "Tool error: no invoice in /srv/2026/may",
		},
		"wrapped": {fmt.Errorf("load order 7: %w", sql.ErrNoRows), missing, "", "Not found: load order 7: sql: no rows in result set."},
		"joined":  {errors.Join(errors.New("a.yaml: no name"), errors.New("b.yaml: no kind")), internal, "", "Tool error: a.yaml: no name\n> b.yaml: no kind"},
		"a resource name": {
			errors.New("Invalid value at 'name': projects/x1/locations/- is not a valid resource name"), internal, "",
			"Tool error: Invalid value at 'name': projects/x1/locations/- is not a valid resource name.",
		},
		"several lines": {
			errors.New("# example.com/app\n./main.go:7:2: undefined: fo\n./main.go:9:5: undefined: ba\n\n\tmain.go:9:9: too many errors"), internal, "",
			"Tool error: # example.com/app\n> ./main.go:7:2: undefined: fo\n> ./main.go:9:5: undefined: ba\n>\n> \tmain.go:9:9: too many errors",
		},
		"an answer in a text": {
			errors.New("failed to list commits: GET http://localhost:18100/api/v3/repos/o/r/commits?page=1: 404 Not Found []"), missing,
			"Not found: failed to list commits: GET http://[address]/api/v3/repos/o/r/commits?page=1: 404 Not Found [].",
			"Not found: failed to list commits: GET http://localhost:18100/api/v3/repos/o/r/commits?page=1: 404 Not Found [].",
		},
		"a statement": {&pgError{"ERROR", "42703", `column "nam" does not exist`}, internal, "", `Internal error: column "nam" does not exist (SQLSTATE 42703).`},
		"a statement with words around": {
			fmt.Errorf("query failed: %w", &pgError{"ERROR", "42703", `column "nam" does not exist`}), internal, "",
			`Internal error: query failed: ERROR: column "nam" does not exist (SQLSTATE 42703).`,
		},
		"a constraint": {
			&pgError{"ERROR", "23505", `duplicate key value violates unique constraint "users_pkey"`}, exists, "",
			`Already exists: ERROR: duplicate key value violates unique constraint "users_pkey" (SQLSTATE 23505).`,
		},
		"a driver whose words are left out": {
			terse{&pgError{"ERROR", "42P01", `relation "userz" does not exist`}}, internal, "",
			`Internal error: the query failed: relation "userz" does not exist (SQLSTATE 42P01).`,
		},
		"an answer":               {answered(422, `{"message":"the size must be small or large"}`), mistake, "", "Client error: POST api.example.com answered 422 Unprocessable Entity: the size must be small or large."},
		"an answer in lines":      {answered(400, "no\nRetry: yes"), mistake, "", "Client error: POST api.example.com answered 400 Bad Request\n> no\n> Retry: yes"},
		"an answer with a list":   {answered(400, `{"errors":[{"detail":"the name is taken"}]}`), mistake, "", "Client error: POST api.example.com answered 400 Bad Request: the name is taken."},
		"an answer of OAuth":      {answered(400, `{"error":"invalid_grant","error_description":"the code is used up"}`), mistake, "", "Client error: POST api.example.com answered 400 Bad Request: the code is used up."},
		"a page":                  {answered(404, "<html>nginx</html>"), missing, "", "Not found: POST api.example.com answered 404 Not Found."},
		"a field":                 {&apiError{400, `{"error":{"message":"name is too long"}}`}, mistake, "", "Client error: unexpected answer: name is too long (HTTP 400)."},
		"a field, said twice":     {fmt.Errorf("cannot: Name is  too long: %w", &apiError{400, "name is too long."}), mistake, "", "Client error: cannot: Name is  too long: unexpected answer (HTTP 400)."},
		"what cannot be compared": {listed{422, nil}, mistake, "", "Client error: refused (HTTP 422)."},
		"a refused key": {
			&apiError{403, `{"message":"Resource not accessible by personal access token"}`}, key,
			"Server error: unexpected answer: Resource not accessible by personal access token (HTTP 403).",
			"Permission denied: unexpected answer: Resource not accessible by personal access token (HTTP 403).",
		},
		"an unknown key": {&apiError{401, "Bad credentials"}, key, "Server error: unexpected answer: Bad credentials (HTTP 401).", "Not authenticated: unexpected answer: Bad credentials (HTTP 401)."},
		"a path":         {&fs.PathError{Op: "open", Path: "/srv/app/x.toml", Err: fs.ErrNotExist}, internal, "Internal error: open [path]: file does not exist.", "Internal error: open /srv/app/x.toml: file does not exist."},
		"a refused connection": {
			dial, refused,
			`Connection failed: Get "http://[address]/api/v3/repos/o/r/git/ref/heads/main": dial tcp [address]: connection refused.`,
			`Connection failed: Get "http://127.0.0.1:18098/api/v3/repos/o/r/git/ref/heads/main": dial tcp 127.0.0.1:18098: connection refused.`,
		},
		"a credential": {
			errors.New("cannot read /etc/app/x with password=canary7"), internal,
			"Tool error: cannot read [path] with password=[redacted].", "Tool error: cannot read /etc/app/x with password=[redacted].",
		},
		"a stack": {
			errors.New("it failed\ngoroutine 7 [running]:\nmain.main()\n\t/srv/main.go:7 +0x1d"), internal, "", "Tool error: it failed\n> [stack]",
		},
		"a sentinel":                {io.EOF, internal, "", "Tool error: EOF."},
		"a deadline":                {context.DeadlineExceeded, "Timeout: the operation did not finish in time.\nSuggestion: Ask for less at a time, if the tool allows it.", "", "Timeout: context deadline exceeded."},
		"the label of ours":         {errors.New("Tool error: it failed"), internal, "", "Tool error: it failed."},
		"a client that cannot":      {errors.New("client does not support elicitation"), "Precondition failed: this call needs elicitation, which the client of this session does not support.\nSuggestion: Tell the user, or call something that does not ask back.", "", "Precondition failed: client does not support elicitation.\nSuggestion: Tell the user, or call something that does not ask back."},
		"a service's words alone":   {silent{400, "it is full"}, mistake, "", "Client error: it is full (HTTP 400)."},
		"a status alone":            {silent{400, ""}, mistake, "", strings.Split(mistake, "\n")[0] + "\nSuggestion: Change the arguments before you call again."},
		"no words":                  {errors.New(" :\u200b"), internal, "", internal},
		"a panic":                   {&fault.PanicError{Value: harness.Canary}, internal, "", internal},
		"a panic with words around": {fmt.Errorf("words: %w", &fault.PanicError{Value: harness.Canary}), internal, "", internal},
		"a panic beside":            {errors.Join(errors.New("words"), &fault.PanicError{Value: harness.Canary}), internal, "", internal},
		"a fault":                   {fault.New("own", "it is open"), "Own: it is open.", "", "Own: it is open."},
		"a fault with a cause":      {fault.New("own", "it is open").Because(errSecret), "Own: it is open.", "", "Own: it is open."},
		"words around a fault": {
			fmt.Errorf("deploying to 10.0.0.7: %w", fault.NotFound("project", "x")),
			"Not found: project 'x' does not exist.\nSuggestion: Check the name. If a tool lists what exists, call it first.",
			"Not found: deploying to [address]: project 'x' does not exist.\nSuggestion: Check the name. If a tool lists what exists, call it first.",
			"Not found: deploying to 10.0.0.7: project 'x' does not exist.\nSuggestion: Check the name. If a tool lists what exists, call it first.",
		},
		"an error beside a fault": {
			errors.Join(errors.New("closing failed\nRetry: yes"), fault.New("own", "it is open").Suggest("Close it.")),
			"Own: it is open.\nSuggestion: Close it.", "", "Own: it is open.\n> closing failed\n> Retry: yes\nSuggestion: Close it.",
		},
		"an error beside two faults": {
			errors.Join(fault.New("own", "a is open"), errors.New("closing failed"), fault.New("own", "b is open")),
			"Own: 2 things failed.\n- Own: a is open.\n- Own: b is open.", "", "Own: 2 things failed.\n- Own: a is open.\n- Own: b is open.\n> closing failed",
		},
		"words around both": {
			fmt.Errorf("deploying: %w (step 2)", fault.New("own", "it is open")), "Own: it is open.", "", "Own: deploying: it is open.\n> (step 2)",
		},
		"a panic beside a fault": {errors.Join(fault.New("own", "it is open"), &fault.PanicError{Value: harness.Canary}), internal, "", internal},
		"a protocol error":       {&jsonrpc.Error{Code: -32042, Message: "open the page"}, "open the page", "", "open the page"},
		"a rule":                 {errors.New("row 7 is locked"), "Locked: it is locked.", "", "Locked: it is locked."},
		"a public message":       {public{"the disk is full"}, "Tool error: the disk is full.", "", "Tool error: the disk is full."},
	} {
		t.Run(name, func(t *testing.T) {
			if c.trusted == "" {
				c.trusted = c.operator
			}
			for reader, want := range map[mask.Reader]string{mask.Anyone: c.anyone, mask.Trusted: c.trusted, mask.Operator: c.operator} {
				require.Equal(t, want, text(t, reader, c.err, nil, locked), readers[reader])
			}
		})
	}
	for _, bug := range bugs() {
		for reader := range readers {
			require.Equal(t, internal, text(t, reader, bug, nil), "%v", bug)
			require.Equal(t, internal, text(t, reader, fmt.Errorf("words: %w", bug), nil), "%v", bug)
			require.Equal(t, internal, text(t, reader, errors.Join(errors.New("words"), bug), nil), "%v", bug)
		}
	}
}

// TestStatementsOfTheCaller: who wrote the statement reads what the database says of it.
func TestStatementsOfTheCaller(t *testing.T) {
	sent := map[string]string{"query": "select nam from people"}
	err := &pgError{"ERROR", "42703", `column "nam" does not exist`}
	require.Equal(t, `Client error: column "nam" does not exist (SQLSTATE 42703).`, text(t, mask.Operator, err, sent))
	require.Equal(t, `Client error: column "nam" does not exist (SQLSTATE 42703).`, text(t, mask.Trusted, err, sent))
	require.Equal(t, "Client error: the database does not accept the statement of this call.\nSuggestion: Check its syntax and the names of its tables and columns.",
		text(t, mask.Anyone, err, sent))
}

// hintingDatabase is an error of PostgreSQL with a hint, which its drivers keep apart from the text.
type hintingDatabase struct {
	pgError
	Hint string
}

// lateService is the error of a client whose text begins as the label of the failure does.
type lateService struct {
	StatusCode int
	Message    string
}

func (e *lateService) Error() string { return e.Message }

// TestWhatWasLeftOut: what the text of an error leaves out stands behind it, and nothing stands there twice.
func TestWhatWasLeftOut(t *testing.T) {
	hinted := &hintingDatabase{pgError{"ERROR", "42703", `column "nam" does not exist`}, `Perhaps you meant to reference the column "users.name" of password=` + harness.Canary + `.`}
	for _, reader := range []mask.Reader{mask.Trusted, mask.Operator} {
		require.Equal(t, `Internal error: column "nam" does not exist (SQLSTATE 42703). HINT: Perhaps you meant to reference the column "users.name" of password=[redacted].`, text(t, reader, hinted, nil))
		require.Equal(t, "Timeout: the request did not complete (HTTP 504).", text(t, reader, &lateService{504, "Timeout: the request did not complete"}, nil))
	}
	require.Equal(t, "Internal error: the server failed unexpectedly.", text(t, mask.Anyone, hinted, nil))
	said := fmt.Errorf("%w (HINT: %s)", hinted, hinted.Hint)
	require.Equal(t, 1, strings.Count(text(t, mask.Operator, said, nil), "Perhaps"))
}

// TestRefusedArguments: what the SDK says of arguments stays, too, where nobody explains it, but for the value of a secret.
func TestRefusedArguments(t *testing.T) {
	server := mcp.NewServer(&mcp.Implementation{Name: "it"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "it"}, func(context.Context, *mcp.CallToolRequest, struct {
		Count    int `json:"count"`
		Password int `json:"password,omitempty"`
	},
	) (*mcp.CallToolResult, any, error) {
		return nil, nil, nil
	})
	server.AddReceivingMiddleware(mask.New(&mask.Options{Reader: mask.Operator, Logger: slog.New(slog.DiscardHandler)}))
	here, there := mcp.NewInMemoryTransports()
	_, err := server.Connect(t.Context(), there, nil)
	require.NoError(t, err)
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).Connect(t.Context(), here, nil)
	require.NoError(t, err)
	defer session.Close()
	for _, c := range []struct {
		arguments map[string]any
		want      string
	}{
		{map[string]any{"count": "five"}, `Validation Error: validating "arguments": validating root: validating /properties/count: type: five has type "string", want "integer".`},
		{map[string]any{"count": 5, "password": harness.Canary}, "Validation Error: the arguments of this call are not valid.\nSuggestion: Correct the arguments and call again."},
	} {
		res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "it", Arguments: c.arguments})
		require.NoError(t, err)
		said, _, _ := strings.Cut(res.Content[0].(*mcp.TextContent).Text, "\nReference: ")
		require.Equal(t, c.want, said)
	}
}

// TestNoSuggestionBesideWords: with the whole chain, nothing general is said below the words of an error, which may say the contrary.
func TestNoSuggestionBesideWords(t *testing.T) {
	for _, err := range []error{
		errors.New("GET https://api.example.com/x: 404 Not Found []"), errors.New("GET https://api.example.com/x: 403 Forbidden: ask Ann []"),
		fmt.Errorf("call not before 5: %w", context.DeadlineExceeded), fmt.Errorf("gone for good: %w", syscall.ECONNREFUSED),
		&pgError{"ERROR", "23505", "it exists"}, &pgError{"ERROR", "23502", "no value"}, answered(429, "the limit is one an hour"),
	} {
		for _, reader := range []mask.Reader{mask.Trusted, mask.Operator} {
			got := harness.Call(t, rawAt, harness.Fail(err), mcpchain.Standard(&mcpchain.Options{Logger: slog.New(slog.DiscardHandler), Mask: &mask.Options{Reader: reader}}))
			require.NotContains(t, got.Text(), "Suggestion:", "%v", err)
		}
	}
	hinted := hinting{errors.New("no such user")}
	require.Equal(t, "Tool error: no such user.\nSuggestion: Ask list_users.", text(t, mask.Operator, hinted, nil), "that of the error stays")
}

type hinting struct{ error }

func (hinting) PublicHint() string { return "Ask list_users." }

func TestReadersKeepRulesAndReferences(t *testing.T) {
	for _, reader := range []mask.Reader{mask.Trusted, mask.Operator} {
		log := harness.NewLog(slog.LevelDebug)
		mw := mask.New(&mask.Options{Logger: log.Logger(), Reader: reader, Rules: []mask.Rule{mask.Contains("locked", fault.New("locked", "it is locked"))}})
		got := harness.Call(t, rawAt, harness.Fail(errors.New("row 7 is locked")), mw)
		require.Contains(t, got.Text(), "Locked: it is locked.")
		got = harness.Call(t, rawAt, harness.Fail(errors.New("row 7 is gone")), mw)
		require.Contains(t, got.Text(), "Tool error: row 7 is gone.")
		require.Contains(t, got.Text(), "Reference: "+got.Reference())
		require.NotEmpty(t, got.Reference())
		require.Len(t, log.Records(), 2)
	}
}

func TestReaderOptions(t *testing.T) {
	require.PanicsWithValue(t, "mask.New: Options.Reader is 7; use Anyone, Trusted or Operator", func() { mask.New(&mask.Options{Reader: 7}) })
	require.PanicsWithValue(t, "mask.New: Options.Reader and Options.Reveal exclude each other; leave one out", func() { mask.New(&mask.Options{Reader: mask.Trusted, Reveal: true}) })
	require.PanicsWithValue(t, "mask.New: Options.QuoteService is for the Reader Anyone, the others read what services say; leave one out", func() {
		mask.New(&mask.Options{Reader: mask.Operator, QuoteService: func(string, string) bool { return true }})
	})
	// Of two masks the reader holds who may read most, and what each hides is hidden.
	quiet := slog.New(slog.DiscardHandler)
	outer, inner := mask.Options{Logger: quiet, Scrub: func(s string) string { return strings.ReplaceAll(s, "row", "...") }}, mask.Options{Logger: quiet, Reader: mask.Operator}
	for range 2 {
		got := harness.Call(t, rawAt, harness.Fail(errors.New("row 7 of /srv/x has pin=1234")), mask.New(&outer), mask.New(&inner))
		first, _, _ := strings.Cut(got.Text(), "\n")
		require.Equal(t, "Tool error: ... 7 of /srv/x has pin=[redacted].", first)
		outer, inner = inner, outer
	}
}

func TestTrustedReadsWhatWasSent(t *testing.T) {
	err := errors.New("nothing is known of file:///srv/a.go, nor of file:///etc/own.go")
	require.Equal(t, "Tool error: nothing is known of file:///srv/a.go, nor of [path].", text(t, mask.Trusted, err, map[string]any{"file": "/srv/a.go"}))
	require.Equal(t, "Tool error: "+err.Error(), text(t, mask.Operator, err, nil))
}

// TestPathsOfTheCaller: a trusted caller reads a file's name as it sent it, and nothing of
// the directories that the server put before it; an address takes nothing of the path behind it.
func TestPathsOfTheCaller(t *testing.T) {
	for sent, c := range map[string]struct{ text, want string }{
		"sub/a.go":   {"no package for /home/app/ws/sub/a.go", "no package for sub/a.go"},
		"a.go":       {"file:///home/app/a.go:3:1: expected ';'", "a.go:3:1: expected ';'"},
		"/srv/b.go":  {"cannot read /srv/b.go", "cannot read /srv/b.go"},
		"other.go":   {"cannot read /home/app/a.go", "cannot read [path]"},
		"go":         {"cannot read /home/app/go", "cannot read [path]"},
		"a.c":        {"cannot read /home/app/a.c", "cannot read a.c"},
		"main":       {"GET http://10.0.0.5:8080/api/v3/repos/o/r/git/refs/heads/main: it is stale", "GET http://[address]/api/v3/repos/o/r/git/refs/heads/main: it is stale"},
		"heads/main": {"PATCH http://localhost:18100/api/v3/repos/o/r/git/refs/heads/main: 422", "PATCH http://[address]/api/v3/repos/o/r/git/refs/heads/main: 422"},
		"query":      {`Get "https://api.example.com/v2/projects/p/query?alt=json": EOF`, `Get "https://api.example.com/v2/projects/p/query?alt=json": EOF`},
		"ds/query":   {`Post "http://[::1]:3000/api/ds/query?alt=json": EOF`, `Post "http://[address]/api/ds/query?alt=json": EOF`},
		"pods":       {`Get "https://10.96.0.1:443/api/v1/namespaces/default/pods?limit=500": dial tcp 10.96.0.1:443: i/o timeout`, `Get "https://[address]/api/v1/namespaces/default/pods?limit=500": dial tcp [address]: i/o timeout`},
		"many.go":    {strings.Repeat("/w/x/many.go:1: bad; ", 100) + "end", strings.Repeat("many.go:1: bad; ", 100) + "end"},
	} {
		first, _, _ := strings.Cut(text(t, mask.Trusted, errors.New(c.text), map[string]string{"file": sent}), "\n")
		_, said, _ := strings.Cut(first, ": ")
		require.Equal(t, words.Ended(c.want), said, sent)
		first, _, _ = strings.Cut(text(t, mask.Operator, errors.New(c.text), nil), "\n")
		require.Contains(t, first, c.text)
	}
}

// TestACutLeavesNoHalfOfASecret: wherever a long text is cut, the end that may hold half of a secret is left out.
func TestACutLeavesNoHalfOfASecret(t *testing.T) {
	step := 3
	if os.Getenv("MCPCHAIN_SOAK") != "" {
		step = 1
	}
	for at := 0; at < 40; at += step {
		for _, pad := range []string{"\u200b", "a line\n"} {
			text := strings.Repeat(pad, (64<<10-at)/len(pad)) + " https://app:hunter2hunter2@db/x"
			for _, reader := range []mask.Reader{mask.Trusted, mask.Operator} {
				got := harness.Call(t, rawAt, harness.Fail(errors.New(text)), mask.New(&mask.Options{Reader: reader, Logger: slog.New(slog.DiscardHandler)}))
				require.NotContains(t, string(got.Wire), "hunter2")
			}
		}
	}
}
