package mcptest_test

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/mcptest"
	"github.com/mcpchain/mcpchain/middleware"
)

// Many tests have a flag of this name, so it must not be taken.
var _ = flag.Bool("update", false, "write golden files anew")

// modeEnv makes the binary of this test a server.
const modeEnv = "MCPTEST_SERVER"

func TestMain(m *testing.M) {
	if mode := os.Getenv(modeEnv); mode != "" {
		serve(mode)
		return
	}
	os.Exit(m.Run())
}

func serve(mode string) {
	fmt.Fprintln(os.Stderr, "mode", mode)
	switch mode {
	case "dies":
		server := newServer()
		mcp.AddTool(server, &mcp.Tool{Name: "die"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			os.Exit(3)
			return nil, nil, nil
		})
		_ = server.Run(context.Background(), &mcp.StdioTransport{})
	case "stays":
		_ = newServer().Run(context.Background(), &mcp.StdioTransport{})
		time.Sleep(time.Minute)
	case "rude":
		rude()
	default:
		_ = newServer().Run(context.Background(), &mcp.StdioTransport{})
	}
}

// rude answers calls of tools with what the SDK would never send: the arguments.
func rude() {
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ Arguments struct{ Lines []string } }
		}
		if json.Unmarshal(in.Bytes(), &m) != nil || m.ID == nil {
			continue
		}
		switch m.Method {
		case "initialize":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"rude","version":"1"}}}`+"\n", m.ID)
		case "tools/list":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"pay","inputSchema":{"type":"object"}}]}}`+"\n", m.ID)
		case "server/discover":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"unknown"}}`+"\n", m.ID)
		default:
			for _, line := range m.Params.Arguments.Lines {
				fmt.Println(strings.ReplaceAll(line, "ID", string(m.ID)))
			}
		}
	}
}

func command(t *testing.T, mode string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), modeEnv+"="+mode)
	return cmd
}

func TestBothStartsSpeakBothVersions(t *testing.T) {
	for _, version := range []string{"", mcptest.Current, mcptest.Older} {
		opts := &mcptest.Options{Version: version}
		for name, s := range map[string]*mcptest.Session{
			"Start": mcptest.Start(t, newServer(), opts),
			"Run":   mcptest.Run(t, command(t, "good"), opts),
		} {
			t.Run(name+version, func(t *testing.T) {
				if version == "" {
					version = mcptest.Current
				}
				require.Equal(t, version, s.InitializeResult().ProtocolVersion)
				res, err := s.Call("pay", map[string]any{"amount": 5})
				require.NoError(t, err)
				require.Equal(t, "paid", mcptest.Text(res, err))
				require.Contains(t, string(s.Sent()), `"paid"`)
				require.Contains(t, string(s.Received()), `"amount":5`)
				mcptest.Legal(t, s)
			})
		}
	}
}

func TestRunReportsHowAServerEnds(t *testing.T) {
	got := newFake().run(func(t testing.TB) { mcptest.Run(t, exec.Command("/nowhere/server"), nil) })
	require.Contains(t, got, "mcptest.Run: fork/exec /nowhere/server")

	var cmd *exec.Cmd
	got = newFake().run(func(tb testing.TB) {
		cmd = command(t, "dies")
		s := mcptest.Run(tb, cmd, nil)
		res, err := s.Call("die", nil)
		_ = mcptest.Failure(tb, res, err)
	})
	require.Contains(t, got, "mcptest.Failure: the call was not answered: ")
	require.Contains(t, got, "mcptest.Run: the server ended before the test did: exit status 3; its standard error:\n\tmode dies")

	got = newFake().run(func(tb testing.TB) { mcptest.Run(tb, command(t, "rude"), nil) })
	require.Equal(t, "mcptest.Run: the server speaks 2025-11-25, want 2026-07-28", got)
	require.Empty(t, newFake().run(func(tb testing.TB) { mcptest.Run(tb, command(t, "good"), nil) }))
}

func TestRunReportsAServerThatDoesNotEnd(t *testing.T) {
	reports(t, func(patience time.Duration) string {
		return newFake().run(func(tb testing.TB) {
			mcptest.Run(tb, command(t, "stays"), &mcptest.Options{Patience: patience})
		})
	}, "mcptest.Run: the server still runs PATIENCE after its standard input was closed; its standard error:\n\tmode stays")
}

// reports fails if what run returns lacks one of the wanted texts with the patience that it got. On a
// machine that is busy a server takes longer to start, so run has more patience before that.
func reports(t *testing.T, run func(patience time.Duration) string, wanted ...string) {
	t.Helper()
	for patience := 400 * time.Millisecond; ; patience *= 5 {
		got, missing := run(patience), ""
		for _, want := range wanted {
			if want = strings.ReplaceAll(want, "PATIENCE", patience.String()); !strings.Contains(got, want) {
				missing = want
			}
		}
		if missing == "" {
			return
		}
		require.Less(t, patience, 10*time.Second, "%q is not in %q", missing, got)
	}
}

func TestStartReportsAHandlerThatDoesNotEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		server := mcp.NewServer(&mcp.Implementation{Name: "s"}, nil)
		mcp.AddTool(server, &mcp.Tool{Name: "stuck"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			<-release
			return nil, nil, nil
		})
		began := time.Now()
		got := newFake().run(func(tb testing.TB) {
			s := mcptest.Start(tb, server, nil)
			res, err := s.Call("stuck", nil)
			require.Equal(tb, 30*time.Second, time.Since(began))
			_ = mcptest.Failure(tb, res, err)
		})
		close(release)
		require.Contains(t, got, "mcptest.Failure: the call was not answered: ")
		require.Contains(t, got, "mcptest.Start: a handler still runs 30s after the end of the test")
	})
}

func TestNoLeakFindsEveryForm(t *testing.T) {
	const secret = `s3cret/"Ü~?>~`
	quoted, err := json.Marshal(secret)
	require.NoError(t, err)
	twice, err := json.Marshal(string(quoted))
	require.NoError(t, err)
	escaped := ""
	for _, r := range secret {
		escaped += fmt.Sprintf(`\u%04X`, r)
	}
	forms := map[string]string{
		secret:                                   "",
		strings.ToUpper(secret):                  "",
		string(quoted):                           " escaped",
		string(twice):                            " escaped",
		escaped:                                  " escaped",
		strings.ReplaceAll(escaped, `\`, `\\`):   " escaped",
		url.QueryEscape(secret):                  " escaped",
		`s3cret/&quot;&Uuml;~?&gt;~`:             " escaped",
		hex.EncodeToString([]byte(secret)):       " in hexadecimal",
		`"` + hex.EncodeToString([]byte(secret)): " in hexadecimal",
	}
	for before := range 4 {
		text := []byte(strings.Repeat("~", before) + secret + "~~")
		forms[base64.StdEncoding.EncodeToString(text)] = " in base64"
		forms[base64.RawURLEncoding.EncodeToString(text)] = " in base64"
	}
	for text, how := range forms {
		for _, left := range []any{"first\nbefore " + text + " after", []byte("\n" + text)} {
			got := newFake().run(func(t testing.TB) { mcptest.NoLeak(t, left, "other", secret) })
			require.Contains(t, got, fmt.Sprintf("mcptest.NoLeak: the secret %q left the server%s, in message 2:", secret, how), text)
		}
	}
	mcptest.NoLeak(t, "s3cret is not whole", secret)
	mcptest.NoLeak(t, `\`+`\u12`+`%zz &nothing;`, secret)
}

func TestNoLeakLooksIntoWhatLeft(t *testing.T) {
	wire := &jsonrpc.Error{Code: 409, Message: "x", Data: json.RawMessage(`{"a":"hunter2"}`)}
	for _, left := range []any{
		errors.New("hunter2"),
		fmt.Errorf("calling: %w", wire),
		&mcp.CallToolResult{Meta: mcp.Meta{"hunter2": 1}},
		map[string]string{"a": "HUNTER2"},
	} {
		got := newFake().run(func(t testing.TB) { mcptest.NoLeak(t, left, "hunter2") })
		require.Contains(t, got, `the secret "hunter2" left the server`, "%T", left)
		mcptest.NoLeak(t, left, "hunter3")
	}
	// The log may have it.
	hidden := fault.New(fault.KindConflict, "x").Because(errors.New("hunter2"))
	mcptest.NoLeak(t, hidden, "hunter2")

	for want, test := range map[string]func(t testing.TB){
		"there is no secret to look for": func(t testing.TB) { mcptest.NoLeak(t, "x") },
		"a secret is empty":              func(t testing.TB) { mcptest.NoLeak(t, "x", " ") },
		"float64 cannot leave as JSON":   func(t testing.TB) { mcptest.NoLeak(t, math.NaN(), "x") },
	} {
		f := newFake()
		require.Contains(t, f.run(test), "mcptest.NoLeak: "+want)
		require.True(t, f.fatal)
	}
}

func TestExpectLooksAtEachField(t *testing.T) {
	f := fault.Violations(fault.Violation{Field: "a", Rule: "type", Expected: "an integer"}, fault.Violation{Field: "b", Rule: "required"}).
		WithCode("C").WithParty(fault.PartyCaller).
		WithRetry(fault.Retry{ShouldRetry: true, RetryAfterSeconds: 30, Effect: fault.EffectNone}).
		Step("do", "one", nil).WithSteps(fault.Step{Action: "choose", Options: []fault.Option{{Action: "x", Tool: "two"}}})
	res := &mcp.CallToolResult{
		IsError: true, Meta: mcp.Meta{middleware.MetaKey: f},
		Content: []mcp.Content{&mcp.TextContent{Text: "the text"}},
	}
	right := mcptest.Expect{
		Kind: fault.KindValidation, Code: "C", Party: fault.PartyCaller, Effect: fault.EffectNone,
		Retry: fault.RetryYes, After: 30 * time.Second, Steps: []string{"one", "two"},
		Violations: map[string]string{"a": "type", "b": ""}, Text: []string{"the", "text"},
	}
	right.Check(t, res, nil)
	mcptest.Expect{}.Check(t, res, nil)
	require.Equal(t, f.Data(), mcptest.Failure(t, res, nil).Data())
	for want, wrong := range map[string]mcptest.Expect{
		"kind: got validation_error, want not_found":               {Kind: fault.KindNotFound},
		"code: got C, want D":                                      {Code: "D"},
		"party: got caller, want server":                           {Party: fault.PartyServer},
		"effect: got none, want unknown":                           {Effect: fault.EffectUnknown},
		"retry: got yes, want no":                                  {Retry: fault.RetryNo},
		"wait: got 30s, want 20s":                                  {After: 20 * time.Second},
		"steps: got one, two, want one":                            {Steps: []string{"one"}},
		"steps: got one, two, want nothing":                        {Steps: []string{}},
		"violations: got a (type), b (required), want a (type)":    {Violations: map[string]string{"a": "type"}},
		"violations: got a (type), b (required), want a (type), c": {Violations: map[string]string{"a": "type", "c": ""}},
		"violations: got a (type), b (required), want a, b (type)": {Violations: map[string]string{"a": "", "b": "type"}},
		"violations: got a (type), b (required), want nothing":     {Violations: map[string]string{}},
		`text: does not have "words"`:                              {Text: []string{"words"}},
	} {
		fake := newFake()
		got := fake.run(func(t testing.TB) { wrong.Check(t, res, nil) })
		require.Equal(t, "mcptest.Expect: not as expected:\n\t"+want+"\nThe caller reads:\n\tthe text", got)
		require.False(t, fake.fatal, "the test goes on")
	}
	bare := &jsonrpc.Error{Code: -32602, Message: "no"}
	got := newFake().run(func(t testing.TB) {
		mcptest.Expect{Retry: fault.RetryNo, Code: "C", Violations: map[string]string{"a": ""}}.Check(t, nil, bare)
	})
	require.Equal(t, "mcptest.Expect: not as expected:\n\tcode: got nothing, want C\n\tretry: got unknown, want no\n"+
		"\tviolations: got nothing, want a\nThe caller reads:\n\tno", got)
	single := mcptest.Expect{Violations: map[string]string{"q": ""}}
	single.Check(t, nil, &jsonrpc.Error{Code: -32602, Message: "x", Data: mustJSON(t, fault.Invalid("q", 1, "a word"))})
}

func mustJSON(t *testing.T, v any) json.RawMessage {
	t.Helper()
	b, err := json.Marshal(v)
	require.NoError(t, err)
	return b
}

func TestFailureOfASuccessEndsTheTest(t *testing.T) {
	for want, err := range map[string]error{
		"the call succeeded:\n\tfine":                          nil,
		"the call was not answered: context deadline exceeded": context.DeadlineExceeded,
	} {
		f := newFake()
		got := f.run(func(t testing.TB) {
			_ = mcptest.Failure(t, &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "fine"}}}, err)
		})
		require.Equal(t, "mcptest.Failure: "+want, got)
		require.True(t, f.fatal)

		f = newFake()
		require.Equal(t, "mcptest.Expect: "+want, f.run(func(t testing.TB) {
			mcptest.Expect{}.Check(t, &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "fine"}}}, err)
		}))
		require.True(t, f.fatal)
	}
}

func TestTextIsWhatAModelReads(t *testing.T) {
	text := func(s string) mcp.Content { return &mcp.TextContent{Text: s} }
	require.Equal(t, "a\nb", mcptest.Text(&mcp.CallToolResult{Content: []mcp.Content{text("a"), &mcp.ImageContent{}, text("b")}}, nil))
	require.Equal(t, "a", mcptest.Text(&mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Content: text("a")}}}, nil))
	require.Equal(t, "a", mcptest.Text(&mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{Text: "a"}}}, nil))
	require.Equal(t, "m", mcptest.Text(nil, fmt.Errorf("calling: %w", &jsonrpc.Error{Message: "m"})))
	require.Equal(t, "plain", mcptest.Text(nil, errors.New("plain")))
}

func TestExecutableStepsLooksAtOptionsAndCorrections(t *testing.T) {
	s := mcptest.Start(t, newServer(), nil)
	good := map[string]any{"account": "ada"}
	mcptest.ExecutableSteps(t, s, fault.New(fault.KindConflict, "x").Step("look", "get_lock", good))
	mcptest.ExecutableSteps(t, s, fault.New(fault.KindConflict, "x").WithSteps(fault.Step{
		Action: "choose", Options: []fault.Option{{Action: "look", Tool: "get_lock", Parameters: good}},
	}))
	got := newFake().run(func(t testing.TB) {
		mcptest.ExecutableSteps(t, s, fault.New(fault.KindConflict, "x").WithSteps(fault.Step{
			Action: "choose", Options: []fault.Option{{Action: "look", Tool: "get_lock"}},
		}))
		mcptest.ExecutableSteps(t, s, fault.FromData(fault.Data{
			Type: fault.KindValidation, Message: "x", CorrectedTool: "get_lock", CorrectedArguments: map[string]any{"a": 1},
		}))
	})
	require.Contains(t, got, `mcptest.ExecutableSteps: option "look" of step 1: get_lock does not accept {}: `)
	require.Contains(t, got, `mcptest.ExecutableSteps: the correction: get_lock does not accept {"a":1}: `)
	closed := newFake()
	got = closed.run(func(tb testing.TB) {
		s := mcptest.Start(tb, newServer(), nil)
		_ = s.Close()
		mcptest.ExecutableSteps(tb, s, fault.New(fault.KindConflict, "x"))
		mcptest.Legal(tb, s)
	})
	require.Contains(t, got, "mcptest.ExecutableSteps: the server does not list its tools: ")
	require.Contains(t, got, "mcptest.Legal: the server does not list its tools: ")
}

// TestALostStepIsSeen holds what the comments say: the call of a wrong step does not
// arrive, and Expect.Steps tells.
func TestALostStepIsSeen(t *testing.T) {
	server := newServer(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if middleware.Target(req) == "pay" {
				return nil, fault.New(fault.KindConflict, "x").Step("look", "no_such_tool", nil)
			}
			return next(ctx, method, req)
		}
	})
	got := newFake().run(func(t testing.TB) {
		s := mcptest.Start(t, server, nil)
		res, err := s.Call("pay", map[string]any{"amount": 1})
		mcptest.Expect{Steps: []string{"no_such_tool"}}.Check(t, res, err)
		mcptest.ExecutableSteps(t, s, mcptest.Failure(t, res, err))
	})
	require.Contains(t, got, "steps: got nothing, want no_such_tool")
	require.Contains(t, got, "mcptest.ExecutableSteps: the failure names no call:")
	require.Contains(t, got, "mcptest.ExecutableSteps: step 1 (look) has lost its call of no_such_tool: the tool is not listed for this caller")
}

// TestPlaceholdersInSteps: a text that stands for a value is no value.
func TestPlaceholdersInSteps(t *testing.T) {
	s := mcptest.Start(t, newServer(), nil)
	check := func(account any) string {
		return newFake().run(func(t testing.TB) {
			mcptest.ExecutableSteps(t, s, fault.New(fault.KindConflict, "x").Step("look", "get_lock", map[string]any{"account": account}))
		})
	}
	for _, text := range []string{"<name>", "<your account>", "{id}", "{{ account }}", "${ACCOUNT}", "$ACCOUNT", "YOUR_TOKEN", "your account", "...", "…", "TODO", "xxx", "[your name]", " <name> ", "replace_me"} {
		require.Contains(t, check(text), "mcptest.ExecutableSteps: step 1 (look): get_lock.account is the placeholder ", text)
	}
	for _, text := range []string{"ada", "", "<b>bold</b>", "a < b > c", `{"a":1}`, "wait...", "youra", "$5", "[1]", "<3"} {
		require.Empty(t, check(text), text)
	}
	got := newFake().run(func(t testing.TB) {
		mcptest.ExecutableSteps(t, s, fault.New(fault.KindConflict, "x").Step("look", "get_lock", map[string]any{"account": "ada", "more": []any{1, map[string]any{"a": "<x>"}}}))
	})
	require.Contains(t, got, "get_lock.more[1].a is the placeholder \"<x>\"")
}

// TestStepsThatAreFilledIn: what the caller has to fill in may be absent.
func TestStepsThatAreFilledIn(t *testing.T) {
	server := newServer(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if middleware.Target(req) == "pay" {
				return nil, fault.New(fault.KindConflict, "x").Step("fill it in", "get_lock", nil)
			}
			return next(ctx, method, req)
		}
	})
	s := mcptest.Start(t, server, nil)
	res, err := s.Call("pay", map[string]any{"amount": 1})
	mcptest.Expect{Steps: []string{"get_lock"}, Text: []string{"fill it in: call get_lock {} with 'account' filled in."}}.Check(t, res, err)
	mcptest.ExecutableSteps(t, s, mcptest.Failure(t, res, err))
	mcptest.ExecutableSteps(t, s, fault.New(fault.KindConflict, "x").WithSteps(fault.Step{Action: "look", Tool: "get_lock", Missing: []string{"account"}}))
	require.Contains(t, newFake().run(func(t testing.TB) {
		mcptest.ExecutableSteps(t, s, fault.New(fault.KindConflict, "x").WithSteps(fault.Step{Action: "look", Tool: "get_lock", Missing: []string{"other"}}))
	}), "get_lock does not accept {}")
}

func TestLegal(t *testing.T) {
	text := func(texts ...string) (all []mcp.Content) {
		for _, s := range texts {
			all = append(all, &mcp.TextContent{Text: s})
		}
		return all
	}
	const both, newer, older = "both", mcptest.Current, mcptest.Older
	object := map[string]any{"type": "object"}
	withN := map[string]any{"type": "object", "required": []string{"n"}, "properties": map[string]any{"n": map[string]any{"type": "integer"}}}
	for name, c := range map[string]struct {
		output any
		res    *mcp.CallToolResult
		err    error
		want   string // "" legal
		in     string
	}{
		"success":              {res: &mcp.CallToolResult{Content: text("a", "b")}, in: both},
		"failure":              {res: &mcp.CallToolResult{IsError: true, Content: text("a")}, in: both},
		"two blocks":           {res: &mcp.CallToolResult{IsError: true, Content: text("a", "b")}, in: both, want: "a failure has 2 blocks of content, want one text"},
		"no block":             {res: &mcp.CallToolResult{IsError: true}, in: both, want: "a failure has 0 blocks of content, want one text"},
		"an image":             {res: &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.ImageContent{}}}, in: both, want: "a failure has 1 blocks of content, want one text"},
		"empty text":           {res: &mcp.CallToolResult{IsError: true, Content: text("")}, in: both, want: "the text of a failure is empty"},
		"structured":           {output: withN, res: &mcp.CallToolResult{StructuredContent: map[string]any{"n": 1}}, in: both},
		"no structured":        {output: withN, res: &mcp.CallToolResult{Content: text("a")}, in: both, want: "structuredContent is missing, and the tool declares an output schema"},
		"wrong structured":     {output: withN, res: &mcp.CallToolResult{StructuredContent: map[string]any{"n": "x"}}, in: both, want: "structuredContent does not fit the output schema: "},
		"failure with schema":  {output: withN, res: &mcp.CallToolResult{IsError: true, Content: text("a")}, in: both},
		"structured failure":   {output: withN, res: &mcp.CallToolResult{IsError: true, Content: text("a"), StructuredContent: map[string]any{"error": "x"}}, in: both, want: "structuredContent does not fit the output schema: "},
		"application code":     {err: &jsonrpc.Error{Code: 409, Message: "x"}, in: both},
		"lowest free code":     {err: &jsonrpc.Error{Code: -31999, Message: "x"}, in: both},
		"url elicitation":      {err: &jsonrpc.Error{Code: mcp.CodeURLElicitationRequired, Message: "x"}, in: both},
		"invalid params":       {err: &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "x"}, in: both},
		"code 0":               {err: errors.New("x"), in: both, want: "the code is 0"},
		"no message":           {err: &jsonrpc.Error{Code: 409}, in: both, want: "the message is empty"},
		"server's code, newer": {err: &jsonrpc.Error{Code: -32001, Message: "x"}, in: newer, want: "the code -32001 is reserved"},
		"server's code, older": {err: &jsonrpc.Error{Code: -32001, Message: "x"}, in: older},
		"reserved code":        {err: &jsonrpc.Error{Code: -32100, Message: "x"}, in: both, want: "the code -32100 is reserved"},
		"reserved code, end":   {err: &jsonrpc.Error{Code: -32768, Message: "x"}, in: both, want: "the code -32768 is reserved"},
	} {
		for _, version := range []string{newer, older} {
			if c.in != both && c.in != version {
				continue
			}
			t.Run(name+"/"+version, func(t *testing.T) {
				got := newFake().run(func(t testing.TB) {
					server := mcp.NewServer(&mcp.Implementation{Name: "s"}, nil)
					server.AddTool(&mcp.Tool{Name: "pay", InputSchema: object, OutputSchema: c.output},
						func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return c.res, c.err })
					s := mcptest.Start(t, server, &mcptest.Options{Version: version})
					_, _ = s.Call("pay", nil)
					mcptest.Legal(t, s)
				})
				if c.want == "" {
					require.Empty(t, got)
					return
				}
				require.Contains(t, got, "mcptest.Legal: the answer to tools/call pay: "+c.want)
				require.Equal(t, 1, strings.Count(got, "mcptest.Legal: "))
			})
		}
	}
}

// TestLegalWithoutResultType makes the result as a careless middleware would.
func TestLegalWithoutResultType(t *testing.T) {
	for version, want := range map[string]string{
		mcptest.Older:   "",
		mcptest.Current: "mcptest.Legal: the answer to tools/call pay: resultType is missing:\n\t{",
	} {
		got := newFake().run(func(t testing.TB) {
			server := mcp.NewServer(&mcp.Implementation{Name: "s"}, nil)
			server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
				return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
					if method == middleware.MethodCallTool {
						return &mcp.CallToolResult{Content: []mcp.Content{}}, nil
					}
					return next(ctx, method, req)
				}
			})
			server.AddTool(&mcp.Tool{Name: "pay", InputSchema: map[string]any{"type": "object"}}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return nil, nil })
			s := mcptest.Start(t, server, &mcptest.Options{Version: version})
			_, _ = s.Call("pay", nil)
			mcptest.Legal(t, s)
		})
		require.True(t, strings.HasPrefix(got, want) && (want != "") == (got != ""), got)
	}
}

func TestLegalOfRawMessages(t *testing.T) {
	const (
		fine  = `{"jsonrpc":"2.0","id":ID,"result":{"content":[]}}`
		later = `{"jsonrpc":"2.0","id":ID,"result":{"content":[],"isError":true,"resultType":"task"}}`
	)
	for want, lines := range map[string][]string{
		"":                                       {`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}`, later},
		"tools/call pay: it was answered before": {fine, fine},
		`tools/call pay: "jsonrpc" is not "2.0"`: {`{"id":ID,"result":{"content":[]}}`, fine},
		"it has not one of result and error":     {`{"jsonrpc":"2.0","id":ID}`, fine},
		"no request: ":                           {`{"jsonrpc":"2.0","id":77,"result":{},"error":{"code":1,"message":"x"}}`, fine},
		"the server sent something that is not a message":   {`{"jsonrpc":"2.0","id":5,"result":{},"error":"no"}`, fine},
		"the result cannot be read: json: cannot unmarshal": {`{"jsonrpc":"2.0","id":ID,"result":{"content":[],"isError":"yes"}}`},
	} {
		t.Run(want, func(t *testing.T) {
			got := newFake().run(func(tb testing.TB) {
				s := mcptest.Run(tb, command(t, "rude"), &mcptest.Options{Version: mcptest.Older})
				_, _ = s.Call("pay", map[string]any{"lines": lines})
				mcptest.Legal(tb, s)
			})
			if want == "" {
				require.Empty(t, got)
				return
			}
			require.Contains(t, got, want)
		})
	}
}

func TestInjectionsFailAsTheySay(t *testing.T) {
	for name, c := range map[string]struct {
		in   mcptest.Injection
		want mcptest.Expect
	}{
		"error": {mcptest.Injection{Error: fault.NotFound("account", "eve")}, mcptest.Expect{Kind: fault.KindNotFound}},
		"panic": {mcptest.Injection{Panic: "hunter2"}, mcptest.Expect{Kind: fault.KindInternal}},
		"nil":   {mcptest.Injection{Nil: true}, mcptest.Expect{Kind: fault.KindInternal}},
		"nan":   {mcptest.Injection{NaN: true}, mcptest.Expect{Kind: fault.KindInternal}},
	} {
		for _, version := range []string{mcptest.Current, mcptest.Older} {
			t.Run(name+"/"+version, func(t *testing.T) {
				server := newServer(mcptest.Inject(t, c.in))
				server.AddPrompt(&mcp.Prompt{Name: "p"}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
					return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{}}, nil
				})
				server.AddResource(&mcp.Resource{Name: "r", URI: "x:///r"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
					return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{}}, nil
				})
				s := mcptest.Start(t, server, &mcptest.Options{Version: version})
				tool, err := s.Call("pay", map[string]any{"amount": 5})
				c.want.Check(t, tool, err)
				prompt, err := s.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "p"})
				c.want.Check(t, prompt, err)
				read, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "x:///r"})
				c.want.Check(t, read, err)
				require.NoError(t, s.Ping(t.Context(), nil), "other methods go on")
				mcptest.NoLeak(t, s, "hunter2")
				mcptest.Legal(t, s)
			})
		}
	}
}

func TestInjectChooses(t *testing.T) {
	handler := func(context.Context, string, mcp.Request) (mcp.Result, error) { return &mcp.CallToolResult{}, nil }
	run := func(in mcptest.Injection) (failures string) {
		h := mcptest.Inject(t, in, mcptest.Injection{Names: []string{"second"}, Nil: true})(handler)
		for range 50 {
			_, err := h(t.Context(), middleware.MethodCallTool, &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "pay"}})
			failures += map[bool]string{true: "x", false: "."}[err != nil]
		}
		return failures
	}
	broken := errors.New("broken")
	require.Equal(t, strings.Repeat("x", 50), run(mcptest.Injection{Error: broken}))
	require.Equal(t, strings.Repeat("x", 50), run(mcptest.Injection{Error: broken, Names: []string{"pay"}}))
	require.Equal(t, strings.Repeat(".", 50), run(mcptest.Injection{Error: broken, Names: []string{"other"}}))
	some := run(mcptest.Injection{Error: broken, Probability: 0.3, Seed: 7})
	require.InDelta(t, 15, strings.Count(some, "x"), 10)
	require.Equal(t, some, run(mcptest.Injection{Error: broken, Probability: 0.3, Seed: 7}))
	require.NotEqual(t, some, run(mcptest.Injection{Error: broken, Probability: 0.3, Seed: 8}))
}

func TestInjectTakesTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		s := mcptest.Start(t, newServer(mcptest.Inject(t, mcptest.Injection{Names: []string{"pay"}, Delay: 3 * time.Second})), nil)
		res, err := s.Call("pay", map[string]any{"amount": 5})
		require.NoError(t, err)
		require.Equal(t, "paid", mcptest.Text(res, err))
		require.Equal(t, 3*time.Second, time.Since(began))

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		h := mcptest.Inject(t, mcptest.Injection{Delay: time.Hour})(nil)
		_, err = h(ctx, middleware.MethodCallTool, &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "pay"}})
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
}

// TestAHangLastsAsLongAsTheTest has a session whose handler hangs, and that ends well.
func TestAHangLastsAsLongAsTheTest(t *testing.T) {
	got := newFake().run(func(tb testing.TB) {
		s := mcptest.Start(tb, newServer(mcptest.Inject(tb, mcptest.Injection{Hang: true})), nil)
		ctx, cancel := context.WithTimeout(tb.Context(), 50*time.Millisecond)
		defer cancel()
		res, err := s.CallTool(ctx, &mcp.CallToolParams{Name: "pay", Arguments: map[string]any{"amount": 5}})
		_ = mcptest.Failure(tb, res, err)
	})
	require.Contains(t, got, "mcptest.Failure: the call was not answered: ")
	require.NotContains(t, got, "mcptest.Start")
}

func TestInjectRefusesNonsense(t *testing.T) {
	for want, in := range map[string]mcptest.Injection{
		"Injection 0 sets 0 of Error, Panic, Nil, NaN, Delay and Hang; set one": {},
		"Injection 0 sets 2 of Error, Panic, Nil, NaN, Delay and Hang; set one": {Nil: true, Hang: true},
		"Injection 0: Probability is 2; set it from 0 to 1":                     {Nil: true, Probability: 2},
		"Injection 0: Probability is NaN; set it from 0 to 1":                   {Nil: true, Probability: math.NaN()},
	} {
		f := newFake()
		require.Equal(t, "mcptest.Inject: "+want, f.run(func(t testing.TB) { mcptest.Inject(t, in) }))
		require.True(t, f.fatal)
	}
}

func TestGolden(t *testing.T) {
	t.Chdir(t.TempDir())
	golden := func(text string) string {
		return newFake().run(func(t testing.TB) { mcptest.Golden(t, "deep/text", text) })
	}
	file := filepath.Join("testdata", "deep", "text.golden")
	require.Equal(t, "mcptest.Golden: there is no "+file+"; run the test with -mcptest.update to keep the text:\n\tone", golden("one"))
	mcptest.SetUpdate(t, true)
	require.Empty(t, golden("one\nReference: 0198c7f2-9d3e-7c41-9f0a-5b7d6c1e2a34"))
	mcptest.SetUpdate(t, false)
	kept, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "one\nReference: REFERENCE\n", string(kept))
	require.Empty(t, golden("one\nReference: 0198c7f2-9d3e-7c41-9f0a-000000000000\n"))
	require.Contains(t, golden("two"), `line 1: got "two", want "one";`)
	require.Contains(t, golden("one"), `line 2: got "", want "Reference: REFERENCE";`)
	require.Contains(t, golden("one\nReference: REFERENCE\nmore"), `line 3: got "more", want "";`)
	require.NoError(t, os.WriteFile(file, []byte("one\r\ntwo\r\n"), 0o600))
	require.Empty(t, golden("one\ntwo"))
	require.NotEmpty(t, golden("four"))
}
