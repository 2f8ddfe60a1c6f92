package mcpchain_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/batch"
	"github.com/mcpchain/mcpchain/correlate"
	"github.com/mcpchain/mcpchain/deadline"
	"github.com/mcpchain/mcpchain/degrade"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/mask"
	"github.com/mcpchain/mcpchain/middleware"
	mcprecover "github.com/mcpchain/mcpchain/recover"
	"github.com/mcpchain/mcpchain/retry"
	"github.com/mcpchain/mcpchain/validate"
)

// The functions below are the code of README.md. TestReadme fails when a line
// there does not stand here.

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

func readmeSome(server *mcp.Server) {
	server.AddReceivingMiddleware(mcprecover.New(nil))                                   // one, and nothing else
	server.AddReceivingMiddleware(middleware.ForTools(mask.New(nil), "query", "search")) // for some tools
}

func readmeOptions(server *mcp.Server, logger *slog.Logger, inner mcp.Middleware) {
	errLocked := fault.New(fault.KindServiceUnavailable,
		"The requested resource could not be accessed. Please verify the table name against the provided schema tools.")

	server.AddReceivingMiddleware(mcpchain.Standard(&mcpchain.Options{
		Logger: logger,
		Mask: &mask.Options{Rules: []mask.Rule{
			mask.Contains("database is locked", errLocked),
		}},
	}, inner)) // your own middlewares stand inside
}

var projects = map[string]string{}

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
	if err := remove(ctx, name); err != nil {
		return fault.New(fault.KindConflict, "a deployment of this project is running").
			Because(err). // for the log only
			After(30*time.Second).
			Step("See how far it is", "deployment_status", map[string]any{"project": name})
	}
	return nil
}

func remove(context.Context, string) error { return errors.New("lock held by 10.0.0.7:4711") }

func readmeRaw(server *mcp.Server, tool *mcp.Tool, raw mcp.ToolHandler) {
	server.AddTool(tool, validate.Tool(tool.InputSchema, raw))
}

func readmeCheck(in string, check func(string) error) (*mcp.CallToolResult, any, error) {
	if err := validate.Arguments(check(in)); err != nil {
		return nil, nil, err
	}
	return nil, nil, nil
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
		Batch: &batch.Options{Lists: []batch.List{
			{Tool: "get_user", Item: "user_id", As: "get_users", Items: "user_ids"},
		}},
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

	degrade.Status // degraded, warnings, metadata: part of the output and of its schema
}

func report(ctx context.Context, _ *mcp.CallToolRequest, in city) (*mcp.CallToolResult, weather, error) {
	var out weather
	_, err := degrade.Run(ctx, // degrade.New puts the status into the answer; without it: out.Status, err = degrade.Run(...)
		degrade.Required("current", &out.Celsius, in.current),
		degrade.Optional("forecast", &out.Forecast, in.forecast).
			Within(2*time.Second).
			Stale("cache", 6*time.Hour, in.cached),
		degrade.Optional("alerts", &out.Alerts, in.alerts).
			Impact("Check for warnings elsewhere before you go out."))
	return nil, out, err
}

func readmeParts(server *mcp.Server) {
	server.AddReceivingMiddleware(mcpchain.Standard(&mcpchain.Options{Degrade: &degrade.Options{}}))
}

func readmeAnnotated(server *mcp.Server, getWeather mcp.ToolHandlerFor[struct{}, any]) {
	mcp.AddTool(server, &mcp.Tool{Name: "get_weather", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, getWeather)
}

func readmeResponse(resp *http.Response) error {
	if err := middleware.FromResponse(resp); err != nil {
		return err // knows Retry-After, rate limits and statuses
	}
	return nil
}

func readmePayment(err error, limit time.Duration, id string) error {
	return fault.Timeout("the payment", limit).Because(err).
		Step("See whether it was made", "find_payment", map[string]any{"id": id}) // the tool that tells
}

func readmeRetryServer(server *mcp.Server) {
	server.AddReceivingMiddleware(mcpchain.Standard(&mcpchain.Options{
		RetryServer: &retry.ServerOptions{MaxAttempts: 3, Budget: 10 * time.Second},
	}))
}

func readmeRetryClient(ctx context.Context, client *mcp.Client, session *mcp.ClientSession) error {
	client.AddSendingMiddleware(retry.Client(&retry.ClientOptions{
		MaxWait:          30 * time.Second, // a server that asks for more gets no second call
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
		Deadline: &deadline.Options{
			Limit: 20 * time.Second, // of a call that has none of its own
			Tools: map[string]time.Duration{"export": 2 * time.Minute},
		},
	}))
	server.AddSendingMiddleware(deadline.Sending()) // a person who is asked something may think for longer
}

func readmeClient(ctx context.Context, session *mcp.ClientSession, params *mcp.CallToolParams) error {
	res, err := session.CallTool(ctx, params)
	if f, failed := middleware.FaultOf(res, err); failed {
		for _, step := range f.Data().RecoverySteps {
			fmt.Println(step.Number, step.Action, step.Tool, step.Parameters)
		}
		return f // its text says all of it
	}
	return nil
}

func readmeLog(ctx context.Context) {
	logger := slog.New(correlate.Handler(slog.NewJSONHandler(os.Stderr, nil)))

	logger.InfoContext(ctx, "cache miss") // in a handler: has the reference of the call
}

func readmeGo(ctx context.Context, fetch func(context.Context) error) error {
	done := mcprecover.Go(ctx, fetch)
	// ... other work ...
	return <-done // a *mcprecover.PanicError if fetch panicked
}

// TestReadme fails when README.md shows code that is not compiled here.
func TestReadme(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	source, err := os.ReadFile("readme_test.go")
	require.NoError(t, err)
	compiled := trimmed(string(source))
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(readme), -1)
	require.NotEmpty(t, blocks)
	for _, b := range blocks {
		for _, line := range trimmed(b[1]) {
			require.Truef(t, slices.Contains(compiled, line), "README.md shows code that readme_test.go does not compile:\n%s", line)
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
func TestReadmeCode(t *testing.T) {
	projects["alpha"] = ""
	require.EqualError(t, readmeFault(t.Context(), "alhpa", ""), "Not found: project 'alhpa' does not exist. Did you mean 'alpha'?")
	require.ErrorIs(t, readmeFault(t.Context(), "alpha", ""), fault.KindPermissionDenied)
	locked := readmeFault(t.Context(), "alpha", "ada")
	require.NotContains(t, locked.Error(), "10.0.0.7")
	require.Contains(t, locked.Error(), `Next: 1. See how far it is: call deployment_status {"project":"alpha"}.`)
	require.ErrorContains(t, readmeGo(t.Context(), func(context.Context) error { panic("x") }), "panic: x")
	readmeLog(t.Context())

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
	require.Equal(t, fault.KindRateLimited, middleware.Classify(readmeResponse(&http.Response{StatusCode: http.StatusTooManyRequests})).Kind())
	require.ErrorContains(t, readmePayment(nil, 10*time.Second, "p-1"), `Next: 1. See whether it was made: call find_payment {"id":"p-1"}.`)
	readmeLists(server)
	readmeParts(server)
	_, found, err := readFiles(t.Context(), nil, args{Files: []string{"a", "b"}})
	require.NoError(t, err)
	require.Equal(t, 2, found.Succeeded)
	_, now, err := report(t.Context(), nil, city{})
	require.NoError(t, err)
	require.Equal(t, []string{"sun"}, now.Forecast)
	readmeRaw(server, &mcp.Tool{Name: "raw", InputSchema: map[string]any{"type": "object"}}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return nil, nil })
	_, _, wrong := readmeCheck("x", func(string) error { return errors.New("the code has the wrong length") })
	require.ErrorContains(t, wrong, "the code has the wrong length")

	ours, theirs := mcp.NewInMemoryTransports()
	_, err = server.Connect(t.Context(), theirs, nil)
	require.NoError(t, err)
	client := mcp.NewClient(&mcp.Implementation{Name: "reader"}, nil)
	session, err := client.Connect(t.Context(), ours, nil)
	require.NoError(t, err)
	defer session.Close()
	err = readmeClient(t.Context(), session, &mcp.CallToolParams{Name: "get_weather"})
	require.ErrorContains(t, err, "Please verify the table name against the provided schema tools.")
	require.NoError(t, readmeRetryClient(t.Context(), client, session), "there is no get_invoice: not found")
}
