//go:build unix

package proxy

import (
	"log/slog"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/deadline"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/rpc"
)

// Parameters of which the SDK cannot read a part hide nothing from a guard.
func TestParametersThatCannotBeReadPassNoGuard(t *testing.T) {
	for name, change := range map[string]func(*Options, *mcpchain.Options){
		"hide":   func(o *Options, _ *mcpchain.Options) { o.Tools.Hide = []string{"danger"} },
		"reads":  func(o *Options, _ *mcpchain.Options) { o.Tools.ReadOnly = true },
		"strict": func(o *Options, _ *mcpchain.Options) { o.Strict = true },
	} {
		t.Run(name, func(t *testing.T) {
			got := &received{}
			c := initialized(t, runs(listening(got)), change, func(o *Options, _ *mcpchain.Options) {
				o.Tools.Hide = append(o.Tools.Hide, "danger")
			})
			for _, rest := range []string{`"_meta":{"x":1e400}`, `"requestState":5`, `"inputResponses":5`, `"inputResponses":{"a":5}`, `"inputResponses":{"a":{"new":1}}`} {
				c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"danger","arguments":{},` + rest + `}}`)
				require.Contains(t, c.answer("1"), `"code":-32602`, rest)
			}
			c.send(`{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"cursor":5}}`)
			require.Contains(t, c.answer("2"), `"code":-32602`)
			require.NotContains(t, got.String(), `"danger"`)
			require.NotContains(t, got.String(), `"cursor"`)

			// What nothing decides by is for the server to judge.
			line := `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"look","arguments":{},"inputResponses":{"a":{"new":1}}}}`
			c.send(line)
			require.Contains(t, c.answer("3"), `"content":[]`)
			require.Contains(t, got.String(), line)
		})
	}
}

// Arguments of prompts that are no texts are checked by nobody, so a program that has to check them refuses them.
func TestArgumentsOfPromptsThatAreNoTexts(t *testing.T) {
	const line = `{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"p","arguments":{"a":1}}}`
	for _, strict := range []bool{false, true} {
		got := &received{}
		c := initialized(t, runs(listening(got)), func(o *Options, _ *mcpchain.Options) { o.Strict = strict })
		c.send(line)
		require.Equal(t, strict, strings.Contains(c.answer("1"), `"code":-32602`))
		require.Equal(t, !strict, strings.Contains(got.String(), line))
	}
}

// A tool that the server now lists as one that writes is not called as one that reads, even at once.
func TestAToolThatNowWrites(t *testing.T) {
	var writes atomic.Bool
	var called atomic.Int64
	var run *fakeRun
	run = newRun(func(m *rpc.Message) (string, error) {
		switch {
		case m.Method == "initialize":
			return ok(m, begun), nil
		case m.Method == "tools/list" && writes.Load():
			return ok(m, strings.ReplaceAll(twoTools, "true", "false")), nil
		case m.Method == "tools/list":
			return ok(m, twoTools), nil
		case m.Method == "custom/change":
			writes.Store(true)
			run.out <- `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`
		case m.Method == "tools/call":
			called.Add(1)
		}
		return ok(m, `{"content":[]}`), nil
	})
	c := initialized(t, runs(run), func(o *Options, _ *mcpchain.Options) { o.Tools.ReadOnly = true })
	require.Eventually(t, func() bool { // what is listed is remembered
		return strings.Contains(c.call("1", "look", `{}`), `"content":[]`) && time.Duration(now()) > 2*time.Second
	}, time.Minute, 100*time.Millisecond)
	before := called.Load()
	c.send(`{"jsonrpc":"2.0","id":2,"method":"custom/change"}`)
	c.answer("2")
	require.Contains(t, c.call("3", "look", `{}`), "unknown tool")
	require.Equal(t, before, called.Load())
}

// The late answer of a call is not that of a later one with its ID.
func TestALateAnswerIsForNobodyElse(t *testing.T) {
	late := make(chan string, 1)
	run := newRun(func(m *rpc.Message) (string, error) {
		switch m.Text("params", "name") {
		case "slow":
			late <- ok(m, `{"content":[{"type":"text","text":"the late one"}]}`)
			return "", nil
		case "quick":
			return <-late, nil
		}
		return ok(m, begun), nil
	})
	answer := run.answer
	run.answer = func(m *rpc.Message) (string, error) {
		text, err := answer(m)
		if m.Text("params", "name") == "quick" {
			run.out <- text // before its own
			text = ok(m, `{"content":[{"type":"text","text":"its own"}]}`)
		}
		return text, err
	}
	c := initialized(t, runs(run), func(_ *Options, m *mcpchain.Options) {
		m.Deadline = deadline.New(&deadline.Options{Limit: -1, Tools: map[string]time.Duration{"slow": 100 * time.Millisecond}})
	})
	require.Contains(t, textOf(t, c.call("1", "slow", `{}`)), "Whether it did is not known.")
	require.Equal(t, `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"its own"}]}}`, c.call("1", "quick", `{}`))
	c.eventually("the server answered too late")
}

// A client that subscribes and never unsubscribes makes the program keep no more than a bound.
func TestSubscriptionsThatAreKeptAreBounded(t *testing.T) {
	s := &session{proxy: &Proxy{Options: Options{Logger: slog.New(slog.DiscardHandler)}}}
	subscribe := func(method, uri string) {
		m, refused := rpc.Parse([]byte(`{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{"uri":"` + uri + `"}}`))
		require.Nil(t, refused)
		s.succeeded(m, nil)
	}
	size := func() (n int) {
		for _, one := range s.subscribed {
			n += len(one.m.Line)
		}
		return n
	}
	for i := range 100 {
		subscribe("resources/subscribe", strings.Repeat("x", 60_000)+strconv.Itoa(i))
	}
	require.LessOrEqual(t, size(), maxSubscribedBytes)
	before := len(s.subscribed)
	require.Greater(t, before, 30)
	subscribe("resources/unsubscribe", s.subscribed[0].uri)
	subscribe("resources/subscribe", "a")
	require.Len(t, s.subscribed, before)
}
