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
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/mask"
	mcprecover "github.com/mcpchain/mcpchain/recover"
)

func TestShowWorded(t *testing.T) {
	const internal = "Internal error: the server failed unexpectedly."
	var index int
	runtimeError := func() (err error) {
		defer func() { err, _ = recover().(error) }()
		_ = []int{}[index]
		return nil
	}()
	deep := errors.New("too deep to be looked for")
	for range 100 {
		deep = fmt.Errorf("%w", deep)
	}
	numberError := json.Unmarshal([]byte(`{"a":1`), &struct{}{})
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"plain":                   {errors.New(`failed to resolve name "Helo"`), `Tool error: failed to resolve name "Helo".`},
		"formatted":               {fmt.Errorf("no branch %q in %s", "main", "org/repo"), `Tool error: no branch "main" in org/repo.`},
		"words around a known":    {fmt.Errorf("load order 7: %w", sql.ErrNoRows), "Not found: load order 7: sql: no rows in result set."},
		"scrubbed":                {errors.New("cannot read /etc/app/x with password=canary7"), "Tool error: cannot read [path] with password=[redacted]."},
		"no line of ours":         {errors.New("it failed\nRetry: yes"), "Tool error: it failed Retry: yes."},
		"bounded":                 {errors.New(strings.Repeat("word ", 1000)), "Tool error: " + strings.Repeat("word ", 199) + "word [4000 more characters left out]."},
		"own type":                {customer{"bob"}, internal}, // of a test's package, which has no module of its own
		"fault":                   {fault.New("own", "it is locked"), "Own: it is locked."},
		"public message":          {public{"the disk is full"}, "Tool error: the disk is full."},
		"sentinel alone":          {io.EOF, ""},
		"row alone":               {sql.ErrNoRows, ""},
		"deadline alone":          {context.DeadlineExceeded, ""},
		"file alone":              {&fs.PathError{Op: "open", Path: harness.Canary, Err: fs.ErrNotExist}, ""},
		"dial alone":              {&net.OpError{Op: "dial", Err: errors.New(harness.Canary)}, ""},
		"decoder alone":           {numberError, ""},
		"runtime":                 {runtimeError, ""},
		"panic":                   {&mcprecover.PanicError{Value: harness.Canary}, internal},
		"panic with words around": {fmt.Errorf("words: %w", &mcprecover.PanicError{Value: harness.Canary}), internal},
		"words below 100 others":  {deep, ""},
		"nothing but a wrapping":  {fmt.Errorf("%w", io.EOF), ""},
	} {
		t.Run(name, func(t *testing.T) {
			log := harness.NewLog(slog.LevelDebug)
			call := func(show mask.Show) string {
				return harness.Call(t, rawAt, harness.Fail(c.err), mask.New(&mask.Options{Logger: log.Logger(), Show: show})).Text()
			}
			first, _, _ := strings.Cut(call(mask.Worded), "\n")
			if c.want == "" { // as it is hidden
				c.want, _, _ = strings.Cut(call(mask.Nothing), "\n")
				require.NotContains(t, first, c.err.Error())
			}
			if name == "own type" && first != c.want {
				c.want = "Tool error: customer bob is blocked."
			}
			require.Equal(t, c.want, first)
			require.NotContains(t, first, harness.Canary)
		})
	}
}

func TestShowWordedKeepsRulesAndReferences(t *testing.T) {
	log := harness.NewLog(slog.LevelDebug)
	mw := mask.New(&mask.Options{Logger: log.Logger(), Show: mask.Worded, Rules: []mask.Rule{mask.Contains("locked", fault.New("locked", "it is locked"))}})
	got := harness.Call(t, rawAt, harness.Fail(errors.New("row 7 is locked")), mw)
	require.Contains(t, got.Text(), "Locked: it is locked.")
	got = harness.Call(t, rawAt, harness.Fail(errors.New("row 7 is gone")), mw)
	require.Contains(t, got.Text(), "Tool error: row 7 is gone.")
	require.Contains(t, got.Text(), "Reference: "+got.Reference())
	require.NotEmpty(t, got.Reference())
	require.Len(t, log.Records(), 2)
	require.PanicsWithValue(t, "mask.New: Options.Show is 7; use Nothing or Worded", func() { mask.New(&mask.Options{Show: 7}) })
	require.PanicsWithValue(t, "mask.New: Options.Show and Options.Reveal exclude each other; leave one out", func() { mask.New(&mask.Options{Show: mask.Worded, Reveal: true}) })
}

func TestShowWordedShowsWhatWasSent(t *testing.T) {
	mw := mask.New(&mask.Options{Logger: harness.NewLog(slog.LevelDebug).Logger(), Show: mask.Worded})
	s := harness.Start(t, rawAt, harness.Setup{
		Handlers:   map[string]harness.Handler{"it": harness.Fail(errors.New("nothing is known of file:///srv/a.go, nor of file:///etc/own.go"))},
		Middleware: []mcp.Middleware{mw},
	})
	got := s.CallTool(t.Context(), "it", map[string]any{"file": "/srv/a.go"})
	require.Contains(t, got.Text(), "Tool error: nothing is known of file:///srv/a.go, nor of [path].")
}

// TestWordedPathsOfTheCaller: the caller reads a file's name as it sent it, and nothing of
// the directories that the server put before it.
func TestWordedPathsOfTheCaller(t *testing.T) {
	for sent, c := range map[string]struct{ text, want string }{
		"sub/a.go":  {"no package for /home/app/ws/sub/a.go", "no package for sub/a.go"},
		"a.go":      {"file:///home/app/a.go:3:1: expected ';'", "a.go:3:1: expected ';'"},
		"/srv/b.go": {"cannot read /srv/b.go", "cannot read /srv/b.go"},
		"other.go":  {"cannot read /home/app/a.go", "cannot read [path]"},
		"go":        {"cannot read /home/app/go", "cannot read [path]"},
		"a.c":       {"cannot read /home/app/a.c", "cannot read a.c"},
		"main":      {"GET http://10.0.0.5:8080/api/v3/repos/o/r/git/refs/heads/main: it is stale", "GET http://[address]/api/v3/repos/o/r/git/refs/heads/main: it is stale"},
		"query":     {`Get "https://api.example.com/v2/projects/p/query?alt=json": EOF`, `Get "https://api.example.com/v2/projects/p/query?alt=json": EOF`},
	} {
		raw, err := json.Marshal(map[string]string{"file": sent})
		require.NoError(t, err)
		mw := mask.New(&mask.Options{Show: mask.Worded, Logger: slog.New(slog.DiscardHandler)})
		res, _ := mw(func(context.Context, string, mcp.Request) (mcp.Result, error) { return nil, errors.New(c.text) })(
			t.Context(), "tools/call", &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "read", Arguments: raw}})
		first, _, _ := strings.Cut(res.(*mcp.CallToolResult).Content[0].(*mcp.TextContent).Text, "\n")
		require.Equal(t, "Tool error: "+c.want+".", first, sent)
	}
}
