//go:build unix

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// TestMain lets this program be mcpchain, and the server behind it.
func TestMain(m *testing.M) {
	switch {
	case os.Getenv("MCPCHAIN_TEST") == "":
		os.Exit(m.Run())
	case len(os.Args) > 1 && os.Args[1] == "test-server":
		testServer()
	default:
		main()
	}
}

type numbers struct {
	A int `json:"a"`
	B int `json:"b"`
}

type rows struct {
	Rows int `json:"rows"`
}

func testServer() {
	if lines, _ := strconv.Atoi(os.Getenv("MCPCHAIN_TEST_BANNER")); lines > 0 { // what servers print that were not written for it
		for i := range lines {
			fmt.Println("loading module", i)
			fmt.Fprintln(os.Stderr, "warning: module", i, "is deprecated")
		}
	}
	_ = newTestServer().Run(context.Background(), &mcp.StdioTransport{})
}

// newTestServer returns an ordinary server on the SDK.
func newTestServer() *mcp.Server {
	opts := &mcp.ServerOptions{CompletionHandler: func(_ context.Context, req *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
		return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: []string{req.Params.Argument.Value + "!"}}}, nil
	}, SubscribeHandler: func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil }}
	if os.Getenv("MCPCHAIN_TEST_OLDER") != "" {
		opts.SupportedProtocolVersions = []string{"2025-11-25", "2025-06-18"}
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, opts)
	reads := &mcp.ToolAnnotations{ReadOnlyHint: true}
	mcp.AddTool(server, &mcp.Tool{Name: "divide", Annotations: reads}, func(_ context.Context, _ *mcp.CallToolRequest, in numbers) (*mcp.CallToolResult, any, error) {
		return nil, map[string]int{"quotient": in.A / in.B}, nil
	})
	mcp.AddTool(server, &mcp.Tool{Name: "work", Annotations: reads}, func(context.Context, *mcp.CallToolRequest, numbers) (*mcp.CallToolResult, any, error) {
		time.Sleep(10 * time.Millisecond)
		return nil, map[string]int{}, nil
	})
	mcp.AddTool(server, &mcp.Tool{Name: "write"}, func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, any, error) {
		f, err := os.OpenFile(os.Getenv("MCPCHAIN_TEST_FILE"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, nil, err
		}
		_, err = f.WriteString("x")
		return nil, map[string]int{}, errors.Join(err, f.Close())
	})
	mcp.AddTool(server, &mcp.Tool{Name: "pid", Annotations: reads}, func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, any, error) {
		return nil, map[string]int{"pid": os.Getpid()}, nil
	})
	mcp.AddTool(server, &mcp.Tool{Name: "wait"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ any) (*mcp.CallToolResult, any, error) {
		fmt.Fprintln(os.Stderr, "a call waits")
		<-ctx.Done()
		return nil, nil, ctx.Err()
	})
	mcp.AddTool(server, &mcp.Tool{Name: "last", Annotations: reads}, func(ctx context.Context, req *mcp.CallToolRequest, _ any) (*mcp.CallToolResult, rows, error) {
		for done := errors.New("not yet"); done != nil; _, done = os.Stat(os.Getenv("MCPCHAIN_TEST_FILE")) {
			if err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: req.Params.GetProgressToken(), Progress: 1, Total: 2}); err != nil {
				return nil, rows{}, err
			}
			select {
			case <-time.After(10 * time.Millisecond):
			case <-ctx.Done():
				return nil, rows{}, ctx.Err()
			}
		}
		return nil, rows{7}, nil
	})
	mcp.AddTool(server, &mcp.Tool{Name: "ask"}, func(ctx context.Context, req *mcp.CallToolRequest, _ any) (*mcp.CallToolResult, any, error) {
		answers := req.Params.InputResponses
		if req.ProtocolVersion() >= "2026-07-28" && len(answers) == 0 {
			return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"name": question}}, nil, nil
		}
		if got, ok := answers["name"].(*mcp.ElicitResult); ok {
			return nil, got.Content, nil
		}
		got, err := req.Session.Elicit(ctx, question)
		if err != nil {
			return nil, nil, err
		}
		return nil, got.Content, nil
	})
	mcp.AddTool(server, &mcp.Tool{Name: "progress"}, func(ctx context.Context, req *mcp.CallToolRequest, _ any) (*mcp.CallToolResult, any, error) {
		return nil, map[string]any{}, req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: req.Params.GetProgressToken(), Progress: 1})
	})
	mcp.AddTool(server, &mcp.Tool{Name: "grow"}, func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, any, error) {
		mcp.AddTool(server, &mcp.Tool{Name: "grown"}, func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, any, error) {
			return nil, map[string]any{}, nil
		})
		return nil, map[string]any{}, nil
	})
	mcp.AddTool(server, &mcp.Tool{Name: "nothing"}, func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, any, error) {
		return nil, nil, nil
	})
	mcp.AddTool(server, &mcp.Tool{Name: "refuse"}, func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, any, error) {
		return nil, nil, errors.New("there is no such row")
	})
	mcp.AddTool(server, &mcp.Tool{Name: "fail"}, func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, any, error) {
		fmt.Fprintln(os.Stderr, "a line with "+os.Getenv("SERVICE_TOKEN"))
		return nil, nil, errors.New("the service refused " + os.Getenv("SERVICE_TOKEN") + " for /srv/data")
	})
	server.AddPrompt(&mcp.Prompt{Name: "summary"}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: "sum up"}}}}, nil
	})
	server.AddResource(&mcp.Resource{Name: "r", URI: "test://r"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "test://r", Text: "text"}}}, nil
	})
	return server
}

var question = &mcp.ElicitParams{Message: "What is your name?", RequestedSchema: map[string]any{
	"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}},
}}

const token = "zq-token-of-the-server"

// program returns mcpchain as a command, or the server alone without arguments.
func program(t testing.TB, args ...string) (*exec.Cmd, *stderr) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "test-server")
	if len(args) > 0 {
		cmd = exec.Command(os.Args[0], append(args, "--", os.Args[0], "test-server")...)
	}
	out := &stderr{}
	cmd.Env, cmd.Stderr = append(os.Environ(), "MCPCHAIN_TEST=1", "SERVICE_TOKEN="+token), out
	return cmd, out
}

type stderr struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *stderr) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *stderr) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

var clientOptions = &mcp.ClientOptions{
	ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "Ada"}}, nil
	},
}

func session(t *testing.T, version string, cmd *exec.Cmd) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "1"}, clientOptions)
	s, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func called(t *testing.T, s *mcp.ClientSession, tool string, args any) *mcp.CallToolResult {
	t.Helper()
	res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	require.NoError(t, err)
	return res
}

func text(t *testing.T, res *mcp.CallToolResult) string {
	t.Helper()
	require.NotEmpty(t, res.Content)
	return res.Content[0].(*mcp.TextContent).Text
}

var versions = []string{"2025-11-25", "2026-07-28"}

// A client of either era sees the same server with it as without.
func TestTheSameServer(t *testing.T) {
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			var seen [2][]string
			for i, args := range [][]string{nil, {"run"}} {
				cmd, _ := program(t, args...)
				seen[i] = seenBy(t, session(t, version, cmd))
			}
			require.Equal(t, seen[0], seen[1])
			require.Contains(t, fmt.Sprint(seen[1]), "Ada")
		})
	}
}

// seenBy returns what a client sees of the server.
func seenBy(t *testing.T, s *mcp.ClientSession) (seen []string) {
	t.Helper()
	note := func(v any, err error) {
		require.NoError(t, err)
		raw, err := json.Marshal(v)
		require.NoError(t, err)
		seen = append(seen, string(raw))
	}
	ctx := t.Context()
	note(s.InitializeResult(), nil)
	note(s.ListTools(ctx, nil))
	note(s.ListPrompts(ctx, nil))
	note(s.ListResources(ctx, nil))
	note(s.ListResourceTemplates(ctx, nil))
	note(s.GetPrompt(ctx, &mcp.GetPromptParams{Name: "summary"}))
	note(s.ReadResource(ctx, &mcp.ReadResourceParams{URI: "test://r"}))
	note(s.Complete(ctx, &mcp.CompleteParams{Ref: &mcp.CompleteReference{Type: "ref/prompt", Name: "summary"}, Argument: mcp.CompleteParamsArgument{Name: "a", Value: "x"}}))
	for _, tool := range []string{"ask", "progress"} {
		note(s.CallTool(ctx, &mcp.CallToolParams{Name: tool, Meta: mcp.Meta{"progressToken": "p"}}))
	}
	note(s.CallTool(ctx, &mcp.CallToolParams{Name: "divide", Arguments: numbers{6, 3}}))
	return seen
}

// What kills the server, kills it: its client goes on.
func TestItSurvivesItsServer(t *testing.T) {
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			cmd, log := program(t, "run")
			s := session(t, version, cmd)
			res := called(t, s, "divide", numbers{1, 0})
			require.True(t, res.IsError)
			require.Contains(t, text(t, res), "Internal error: the server ended (exit status 2) while it ran this call, and is started again")
			require.Contains(t, text(t, called(t, s, "divide", numbers{6, 3})), `"quotient":2`)
			require.Contains(t, log.String(), "integer divide by zero")

			res = called(t, s, "divide", map[string]any{"a": "six", "c": 1})
			require.Contains(t, text(t, res), "Argument 'a' expected an integer, but received 'six'.")
			res = called(t, s, "fail", nil)
			require.Contains(t, text(t, res), "the service refused [redacted] for /srv/data")
			require.Eventually(t, func() bool { return strings.Contains(log.String(), "a line with [redacted]") }, time.Minute, time.Millisecond) // it is another pipe
			require.NotContains(t, log.String(), token)
			_, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "dvide"})
			require.ErrorContains(t, err, "Did you mean 'divide'?")
		})
	}
}

// Lines that end many servers, with the bounds that hold by default.
func TestBadLinesOfAClient(t *testing.T) {
	cmd, _ := program(t, "run")
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := bufio.NewReader(out)
	for _, one := range []struct{ line, want string }{
		{`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`, `"serverInfo"`},
		{`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"divide","arguments":{"a":"` + strings.Repeat("x", 11<<20) + `"}}}`, `"id":2`},
		{`{"jsonrpc"`, `-32700`},
		{`{"jsonrpc":"2.0","id":3,"method":"tools/list","params":7}`, `"id":3`},
		{`{"jsonrpc":"2.0","id":4,"method":"ping"}`, `"result":{}`},
	} {
		_, err := io.WriteString(in, one.line+"\n")
		require.NoError(t, err)
		line, err := lines.ReadString('\n')
		require.NoError(t, err)
		require.Contains(t, line, one.want, "%.80s", one.line)
	}
	require.NoError(t, in.Close())
	require.NoError(t, cmd.Wait())
}

// However it ends, nothing of the server is left.
func TestNothingIsLeft(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGKILL} {
		cmd, _ := program(t, "run")
		s := session(t, "2025-11-25", cmd)
		var is struct{ PID int }
		require.NoError(t, json.Unmarshal([]byte(text(t, called(t, s, "pid", nil))), &is))
		waits := make(chan *mcp.CallToolResult, 1)
		go func() {
			res, _ := s.CallTool(context.WithoutCancel(t.Context()), &mcp.CallToolParams{Name: "wait"})
			waits <- res
		}()
		time.Sleep(300 * time.Millisecond) // until it runs
		require.NoError(t, cmd.Process.Signal(sig))
		res := <-waits
		if sig != syscall.SIGKILL {
			require.NotNil(t, res, "the call that ran was answered")
			require.True(t, res.IsError)
		}
		_ = s.Close()
		if sig != syscall.SIGKILL {
			require.Equal(t, 128+int(sig), cmd.ProcessState.ExitCode())
		}
		require.Eventually(t, func() bool {
			state, err := os.ReadFile("/proc/" + strconv.Itoa(is.PID) + "/stat")
			return err != nil && syscall.Kill(is.PID, 0) != nil || strings.Contains(string(state), ") Z")
		}, 10*time.Second, 10*time.Millisecond, "after %v", sig)
	}
}

// What is certainly meant is sent as it is meant, and all else passes, or is refused by -strict.
func TestMendedArguments(t *testing.T) {
	const key = "io.github.mcpchain/mended"
	spoilt, wrong := map[string]any{"arguments": map[string]any{"a": 6, "b": 3}}, map[string]any{"a": "six", "b": "3"}
	for _, version := range versions {
		for _, flags := range [][]string{{}, {"-strict"}, {"-mend"}, {"-mend", "-strict"}} {
			t.Run(version+strings.Join(flags, ""), func(t *testing.T) {
				cmd, _ := program(t, append([]string{"run"}, flags...)...)
				s := session(t, version, cmd)
				right := called(t, s, "divide", numbers{6, 3})
				require.NotContains(t, right.Meta, key)
				for _, args := range []any{map[string]any{"a": "6", "b": 3}, spoilt} {
					res := called(t, s, "divide", args)
					if len(flags) == 0 || flags[0] != "-mend" {
						require.True(t, res.IsError, "%v", args)
						require.NotContains(t, res.Meta, key)
						continue
					}
					require.Equal(t, right.Content, res.Content, "%v", args)
					require.Equal(t, right.StructuredContent, res.StructuredContent)
					require.Len(t, res.Meta[key], 1)
				}
				res := called(t, s, "divide", wrong)
				require.Contains(t, text(t, res), "Argument 'a' expected an integer, but received 'six'.")
				require.NotContains(t, res.Meta, key)
			})
		}
	}
}

func TestFlagsOfRun(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "mcpchain.json")
	require.NoError(t, os.WriteFile(file, []byte(`{"strict":true,"hide":["pid"],"budget":5000,"keys":true,"refuse_repeated":true,"scrub_results":true,"retry_reads":true,
		"tool_deadlines":{"wait":"200ms"},"rate":1000,"running":8,"serial_writes":true,
		"rules":[{"pattern":"refused .* for (.*)","kind":"permission_denied","message":"the service does not let you see $1"}]}`), 0o600))
	logFile, auditDir := filepath.Join(dir, "log"), filepath.Join(dir, "audit")
	cmd, errs := program(t, "run", "-config", file, "-audit", auditDir, "-log", logFile, "-log-json", "-v")
	s := session(t, "2025-11-25", cmd)
	require.True(t, strings.HasPrefix(text(t, called(t, s, "divide", map[string]any{"a": "six"})), "Validation Error: 2 arguments are wrong."))
	require.Contains(t, text(t, called(t, s, "fail", nil)), "Permission denied: the service does not let you see /srv/data\n")
	require.Contains(t, text(t, called(t, s, "wait", nil)), "Timeout: the tool did not finish within 200 ms")
	_, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "pid"})
	require.ErrorContains(t, err, `unknown tool "pid"`)
	list, err := s.ListTools(t.Context(), nil)
	require.NoError(t, err)
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	require.Contains(t, names, "read_more")
	require.NotContains(t, names, "pid")
	first := called(t, s, "divide", numbers{6, 3})
	require.Contains(t, text(t, first), `"quotient":2`)
	require.NoError(t, s.Close())

	log, err := os.ReadFile(logFile)
	require.NoError(t, err)
	for line := range bytes.Lines(log) {
		require.True(t, json.Valid(line), "%s", line)
	}
	require.Contains(t, string(log), `"level":"DEBUG","msg":"mcp call"`)
	require.NotContains(t, string(log), token)
	require.Equal(t, "a line with [redacted]\na call waits\n", errs.String(), "the server's own, and nothing else")
	records, err := filepath.Glob(filepath.Join(auditDir, "*"))
	require.NoError(t, err)
	require.NotEmpty(t, records)

	out, _, status := executed(t, "config", "-config", file, "-rate", "7", "--", "server")
	require.Zero(t, status)
	require.Contains(t, out, `"rate": 7`)
	require.Contains(t, out, `"strict": true`)
	for _, args := range [][]string{{"run"}, {"run", "-strct", "--", "x"}, {"config", "-rate", "x"}, {"run", "-log", filepath.Join(dir, "no", "x"), "--", "x"}} {
		_, errs, status := executed(t, args...)
		require.Equal(t, exitUsage, status)
		require.NotEmpty(t, errs)
	}
	out, _, status = executed(t, "run", "-h")
	require.Zero(t, status)
	require.Contains(t, out, "-strict")
}

// Only who asks for it has calls refused that fail again and again.
func TestRefuseRepeated(t *testing.T) {
	file := filepath.Join(t.TempDir(), "mcpchain.json")
	require.NoError(t, os.WriteFile(file, []byte(`{"tool_deadlines":{"wait":"10ms"}}`), 0o600))
	for _, args := range [][]string{{"run", "-config", file}, {"run", "-config", file, "-refuse-repeated"}} {
		cmd, _ := program(t, args...)
		s := session(t, "2025-11-25", cmd)
		var last string
		for range 8 {
			last = text(t, called(t, s, "wait", nil))
		}
		require.Equal(t, len(args) > 3, strings.HasPrefix(last, "Repeated failure: this exact call has failed"), last)
		for range 8 { // words of the tool's own, which may be an answer to somebody who polls
			last = text(t, called(t, s, "fail", nil))
		}
		require.True(t, strings.HasPrefix(last, "the service refused"), last)
	}
}

// A log of JSON has nothing else in it, not even what the server writes.
func TestALogOfJSON(t *testing.T) {
	cmd, errs := program(t, "run", "-log-json", "-secret-env", "MCPCHAIN_TEST_WORD")
	cmd.Env = append(cmd.Env, "MCPCHAIN_TEST_WORD=service refused")
	s := session(t, "2025-11-25", cmd)
	require.Contains(t, text(t, called(t, s, "fail", nil)), "the [redacted] [redacted] for /srv/data")
	require.NoError(t, s.Close())
	require.Contains(t, errs.String(), `"line":"a line with [redacted]"`)
	for line := range strings.Lines(errs.String()) {
		require.True(t, json.Valid([]byte(line)), line)
	}
}
