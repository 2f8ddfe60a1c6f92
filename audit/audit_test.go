package audit_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/audit"
	"github.com/mcpchain/mcpchain/correlate"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/middleware"
)

var key = []byte("0123456789abcdef")

var errDisk = errors.New("the disk is full")

// kept is a log in memory, whose sink can be made to fail.
type kept struct {
	*audit.Log

	mu     sync.Mutex
	lines  bytes.Buffer
	fail   error
	failOn string
}

func newKept() *kept {
	k := &kept{}
	k.Log = audit.NewLog(func(entries []audit.Entry) error {
		k.mu.Lock()
		defer k.mu.Unlock()
		for _, e := range entries {
			if k.fail != nil && (k.failOn == "" || k.failOn == e.Record.Event) {
				return k.fail
			}
			k.lines.Write(append(e.Line, '\n'))
		}
		return nil
	}, &audit.LogOptions{Key: key})
	return k
}

func (k *kept) set(fail error, on string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.fail, k.failOn = fail, on
}

// records returns what was kept, which has to be a whole log.
func (k *kept) records(t testing.TB) (all []audit.Record) {
	t.Helper()
	k.mu.Lock()
	defer k.mu.Unlock()
	for r, err := range (audit.Verifier{Key: key}).Records(bytes.NewReader(k.lines.Bytes())) {
		require.NoError(t, err)
		all = append(all, r)
	}
	return all
}

func (k *kept) text() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.lines.String()
}

// told returns what the records say, without what differs from call to call.
func told(records []audit.Record) string {
	var b strings.Builder
	for _, r := range records {
		fmt.Fprintf(&b, "%s %s %s", r.Event, r.Method, r.Target)
		if r.Outcome != "" {
			fmt.Fprintf(&b, ": %s %s", r.Outcome, r.Effect)
		}
		if r.Kind != "" {
			fmt.Fprintf(&b, " (%s)", r.Kind)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func annotated(name string, readOnly bool) *mcp.Tool {
	return &mcp.Tool{Name: name, InputSchema: map[string]any{"type": "object"}, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: readOnly}}
}

// twoTools starts a server with a tool that reads and one that writes.
func twoTools(t testing.TB, calls *int, options audit.Options, outside ...mcp.Middleware) *harness.Session {
	t.Helper()
	handler := func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		*calls++
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "fine"}}}, nil
	}
	return harness.Start(t, harness.Place{Shape: harness.ServerRaw, Era: harness.Current}, harness.Setup{
		Middleware: append(outside, audit.New(&options)),
		More: func(s *mcp.Server) {
			s.AddTool(annotated("read", true), handler)
			s.AddTool(annotated("write", false), handler)
		},
	})
}

// TestPolicies: what becomes of calls that cannot be recorded.
func TestPolicies(t *testing.T) {
	for _, c := range []struct {
		goOn         bool
		write        string
		ran, missing int
	}{
		{false, "this call was not made, because the server cannot record it now", 1, 6},
		{true, "fine", 2, 9},
	} {
		k, calls, log := newKept(), 0, harness.NewLog(slog.LevelInfo)
		s := twoTools(t, &calls, audit.Options{Log: k.Log, GoOn: c.goOn, Logger: log.Logger()})
		k.set(errDisk, "")
		for range 3 {
			calls = 0
			read, write := s.CallTool(t.Context(), "read", nil), s.CallTool(t.Context(), "write", nil)
			require.Contains(t, read.Text(), "fine")
			require.Contains(t, write.Text(), c.write)
			require.Equal(t, c.ran, calls)
			if !c.goOn {
				require.Contains(t, write.Text(), "Retry: yes, after 10 s. Nothing was changed by this call.")
			}
		}
		require.NotContains(t, s.Sent(), errDisk.Error())
		require.Len(t, log.Records(), 1, "the log is told once")
		require.Equal(t, errDisk.Error(), log.Records()[0]["error"])
		k.set(nil, "")
		require.Equal(t, "fine", s.CallTool(t.Context(), "write", nil).Text())
		require.Len(t, log.Records(), 2, "and when it is over")
		records := k.records(t)
		require.Equal(t, "lost", records[0].Event)
		require.EqualValues(t, c.missing, records[0].Lost)
		require.Len(t, records, 3)
	}
}

// TestAnEndThatCannotBeKept: what is done cannot be refused any more, and its begin stands
// alone.
func TestAnEndThatCannotBeKept(t *testing.T) {
	k, calls := newKept(), 0
	s := twoTools(t, &calls, audit.Options{Log: k.Log, Logger: quiet()})
	k.set(errDisk, "end")
	require.Equal(t, "fine", s.CallTool(t.Context(), "write", nil).Text())
	k.set(nil, "")
	s.CallTool(t.Context(), "read", nil)
	require.Equal(t, "begin tools/call write\nlost  \ncall tools/call read: ok none\n", told(k.records(t)))
}

func TestAPanicAndAnExitPass(t *testing.T) {
	k := newKept()
	for _, end := range []func(){func() { panic("p") }, runtime.Goexit} {
		h := audit.New(&audit.Options{Log: k.Log})(func(context.Context, string, mcp.Request) (mcp.Result, error) { end(); return nil, nil })
		done := make(chan any)
		go func() {
			defer func() { done <- recover() }()
			_, _ = h(context.Background(), middleware.MethodGetPrompt, &mcp.GetPromptRequest{Params: &mcp.GetPromptParams{Name: "p"}})
		}()
		<-done
	}
	require.Equal(t, strings.Repeat("call prompts/get p: panic none\n", 2), told(k.records(t)))
}

// TestOwner: who calls, and that the ID of a session, with which one could act for its
// owner, is not written down.
func TestOwner(t *testing.T) {
	k, calls := newKept(), 0
	s := twoTools(t, &calls, audit.Options{Log: k.Log, Owner: func(_ context.Context, req mcp.Request) string {
		if req.GetParams().GetMeta()["who"] == nil {
			return ""
		}
		return "ada\nbob  https://ada:hunter2@example.com " + strings.Repeat("x", 1000)
	}})
	s.CallTool(t.Context(), "read", nil)
	_, err := s.Client.CallTool(t.Context(), &mcp.CallToolParams{Name: "read", Meta: mcp.Meta{"who": 1}})
	require.NoError(t, err)
	records := k.records(t)
	require.Empty(t, records[0].Owner)
	require.Contains(t, records[1].Owner, "ada bob")
	require.NotContains(t, records[1].Owner, "hunter2")
	require.LessOrEqual(t, len(records[1].Owner), 320)

	k = newKept()
	h := audit.New(&audit.Options{Log: k.Log})(func(context.Context, string, mcp.Request) (mcp.Result, error) { return &mcp.GetPromptResult{}, nil })
	for _, extra := range []*mcp.RequestExtra{{TokenInfo: &auth.TokenInfo{UserID: "ada"}}, {Header: http.Header{}}, {TokenInfo: &auth.TokenInfo{UserID: "ada\u200b"}}} {
		_, err := h(t.Context(), middleware.MethodGetPrompt, &mcp.GetPromptRequest{Params: &mcp.GetPromptParams{Name: "p"}, Extra: extra})
		require.NoError(t, err)
	}
	require.Equal(t, "user:ada", k.records(t)[0].Owner)
	require.Empty(t, k.records(t)[1].Owner)
	require.Regexp(t, `^user:ada \([0-9a-f]{16}\)$`, k.records(t)[2].Owner, "somebody else, who looks like her")
}

// TestSessionsAreHashed over streamable HTTP with a client of an era that has sessions.
func TestSessionsAreHashed(t *testing.T) {
	k := newKept()
	server := mcp.NewServer(&mcp.Implementation{Name: "s"}, nil)
	server.AddTool(annotated("read", true), func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{}, nil
	})
	server.AddReceivingMiddleware(audit.New(&audit.Options{Log: k.Log}))
	session := overHTTP(t, server)
	require.NotEmpty(t, session.ID())
	for range 2 {
		_, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "read"})
		require.NoError(t, err)
	}
	records := k.records(t)
	require.Regexp(t, "^session:[0-9a-f]{16}$", records[0].Owner)
	require.Equal(t, records[0].Owner, records[1].Owner)
	require.NotContains(t, k.text(), session.ID())
}

// TestWhatIsNotRecorded: nothing but calls that do or read something.
func TestWhatIsNotRecorded(t *testing.T) {
	k, calls := newKept(), 0
	s := twoTools(t, &calls, audit.Options{Log: k.Log})
	for _, err := range s.Client.Tools(t.Context(), nil) {
		require.NoError(t, err)
	}
	_, _ = s.Client.ListPrompts(t.Context(), nil)
	require.NoError(t, s.Client.Ping(t.Context(), nil))
	_, _ = s.Client.Complete(t.Context(), &mcp.CompleteParams{Ref: &mcp.CompleteReference{Type: "ref/prompt", Name: "p"}})
	require.Empty(t, k.records(t))
	s.CallTool(t.Context(), "absent", nil)
	require.Equal(t, "begin tools/call absent\nend tools/call absent: protocol_error none (not_found)\n", told(k.records(t)))
}

func TestReferenceIsThatOfTheLog(t *testing.T) {
	k, calls, log := newKept(), 0, harness.NewLog(slog.LevelDebug)
	s := twoTools(t, &calls, audit.Options{Log: k.Log}, correlate.New(&correlate.Options{Logger: log.Logger()}))
	s.CallTool(t.Context(), "read", nil)
	s.CallTool(t.Context(), "write", nil)
	byTool := map[any]any{}
	for _, r := range log.Records() {
		byTool[r["tool"]] = r["reference"]
	}
	for _, r := range k.records(t) {
		require.Equal(t, byTool[r.Target], r.Reference)
	}
}

func TestOptions(t *testing.T) {
	log := newKept().Log
	for want, o := range map[string]*audit.Options{
		"audit.New: Options.Log is nil; give what audit.Open or audit.NewLog returns":    nil,
		"audit.New: Options.Arguments is neither Redacted nor Omitted; give one of them": {Log: log, Arguments: 3},
	} {
		require.PanicsWithValue(t, want, func() { audit.New(o) })
	}
}

// TestManyCallers: nothing is lost, doubled or crossed.
func TestManyCallers(t *testing.T) {
	dir := t.TempDir()
	log, err := audit.Open(dir, &audit.FileOptions{MaxBytes: 10_000})
	require.NoError(t, err)
	var calls int
	var mu sync.Mutex
	count := func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method == middleware.MethodCallTool {
				mu.Lock()
				defer mu.Unlock()
			}
			return next(ctx, method, req)
		}
	}
	s := harness.Start(t, harness.Place{Shape: harness.ServerRaw, Era: harness.Current}, harness.Setup{
		Middleware: []mcp.Middleware{audit.New(&audit.Options{Log: log}), count},
		More: func(s *mcp.Server) {
			s.AddTool(annotated("write", false), func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				calls++
				return &mcp.CallToolResult{}, nil
			})
		},
	})
	var callers sync.WaitGroup
	for i := range 8 {
		callers.Go(func() {
			for j := range 20 {
				if got := s.CallTool(t.Context(), "write", map[string]int{"n": 100*i + j}); got.Err != nil {
					t.Error(got.Err)
				}
			}
		})
	}
	callers.Wait()
	require.NoError(t, log.Close())
	names, err := audit.Files(dir)
	require.NoError(t, err)
	begun, ended := map[string]bool{}, map[string]bool{}
	for _, r := range recordsOf(t, names) {
		switch r.Event {
		case "begin":
			require.False(t, begun[string(r.Arguments)])
			begun[string(r.Arguments)] = true
		case "end":
			require.False(t, ended[r.Reference])
			ended[r.Reference] = true
		}
	}
	require.Len(t, begun, 160)
	require.Len(t, ended, 160)
	require.Equal(t, 160, calls)
}

func marshal(t testing.TB, v any) json.RawMessage {
	t.Helper()
	raw, err := json.Marshal(v)
	require.NoError(t, err)
	return raw
}
