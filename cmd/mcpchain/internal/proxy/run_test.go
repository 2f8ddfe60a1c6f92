//go:build unix

package proxy

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/fault"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/rpc"
)

// A fakeRun is a run of a server that is no process: answer says what Next returns for a line.
type fakeRun struct {
	answer func(m *rpc.Message) (string, error)
	out    chan any
	ended  chan struct{}
	once   sync.Once
}

func newRun(answer func(m *rpc.Message) (string, error)) *fakeRun {
	return &fakeRun{answer: answer, out: make(chan any, 100), ended: make(chan struct{})}
}

func (r *fakeRun) Write(m *rpc.Message) error {
	if text, err := r.answer(m); errors.Is(err, rpc.ErrUnsent) {
		return err
	} else if err != nil {
		r.out <- err
	} else if text != "" {
		r.out <- text
	}
	return nil
}

func (r *fakeRun) Next() (*rpc.Message, error) {
	var next any
	select {
	case next = <-r.out:
	case <-r.ended:
		select {
		case next = <-r.out: // what came before the end
		default:
			return nil, io.EOF
		}
	}
	if err, ok := next.(error); ok {
		return nil, err
	}
	return rpc.Read([]byte(next.(string)))
}

func (r *fakeRun) EndInput()              {}
func (r *fakeRun) Close()                 {}
func (r *fakeRun) Ended() <-chan struct{} { return r.ended }
func (r *fakeRun) How() string            { return "it was gone" }
func (r *fakeRun) Lost() error            { return &brokenError{fault.EffectUnknown, false} }
func (r *fakeRun) Status() int            { return 0 }
func (r *fakeRun) Stop(time.Duration)     { r.Kill() }
func (r *fakeRun) Kill()                  { r.once.Do(func() { close(r.ended) }) }

type brokenError struct {
	effect  fault.Effect
	refused bool
}

func (e *brokenError) Error() string        { return "the wire broke" }
func (e *brokenError) Effect() fault.Effect { return e.effect }
func (e *brokenError) Refused() bool        { return e.refused }
func (e *brokenError) PublicKind() string   { return string(fault.KindConnectionFailed) }

// runs returns a change of options that begins these runs, one after the other.
func runs(all ...*fakeRun) func(*Options, *mcpchain.Options) {
	return func(o *Options, _ *mcpchain.Options) {
		o.Hang = time.Second // which is for processes
		o.Restart = Restart{First: 100 * time.Millisecond, Most: 30 * time.Second, Steady: time.Minute}
		o.Start = func() (Server, error) {
			if len(all) == 0 {
				return nil, errors.New("there is no other run")
			}
			run := all[0]
			all = all[1:]
			return run, nil
		}
	}
}

func ok(m *rpc.Message, result string) string {
	if m.ID == nil {
		return ""
	}
	return string(rpc.Answered(m.ID, json.RawMessage(result)).Line)
}

// A session that is gone is begun anew, and what it did nothing of is sent again. As long as that
// fails, calls are told why.
func TestARunIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var order []string
		var first *fakeRun
		first = newRun(func(m *rpc.Message) (string, error) {
			switch {
			case strings.Contains(string(m.Params), `"again"`):
				first.out <- &rpc.FailedError{ID: m.ID, Err: rpc.ErrUnsent}
				first.Kill()
				return "", nil
			case strings.Contains(string(m.Params), `"never"`):
				return "", nil
			}
			return ok(m, `{"protocolVersion":"2025-11-25","serverInfo":{}}`), nil
		})
		good := func() *fakeRun {
			return newRun(func(m *rpc.Message) (string, error) {
				if m.Method != "tools/list" { // of the middlewares
					order = append(order, m.Method)
				}
				return ok(m, `{"content":[]}`), nil
			})
		}
		c := initialized(t, runs(first, good()))
		defer c.in.Close()
		c.send(callLine("1", "never", `{}`))
		c.send(callLine("2", "again", `{}`))
		require.Contains(t, textOf(t, c.answer("1")), "Connection failed: the wire broke.\nRetry: no, unless you see that it did not take effect.")
		require.Equal(t, `{"jsonrpc":"2.0","id":2,"result":{"content":[]}}`, c.answer("2"))
		require.Equal(t, []string{"initialize", "notifications/initialized", "tools/call"}, order)
	})
	synctest.Test(t, func(t *testing.T) {
		var all []*fakeRun
		for range 9 {
			all = append(all, newRun(func(m *rpc.Message) (string, error) {
				return "", &rpc.FailedError{ID: m.ID, Err: &brokenError{fault.EffectUnknown, false}}
			}))
		}
		var first *fakeRun
		first = newRun(func(m *rpc.Message) (string, error) {
			if m.Method == "tools/call" {
				first.Kill()
				return "", rpc.ErrUnsent
			}
			return ok(m, `{"protocolVersion":"2025-11-25","serverInfo":{}}`), nil
		})
		last := newRun(func(m *rpc.Message) (string, error) { return ok(m, `{"content":[]}`), nil })
		c := initialized(t, runs(append(append([]*fakeRun{first}, all...), last)...))
		defer c.in.Close()
		text := textOf(t, c.call("1", "x", `{}`))
		require.Contains(t, text, "the wire broke")
		require.Contains(t, text, "Nothing was changed by this call.")
		require.Contains(t, textOf(t, c.call("2", "x", `{}`)), "the wire broke", "at once")
		time.Sleep(5 * time.Minute)
		require.Contains(t, c.call("3", "x", `{}`), `{"content":[]}`)
	})
}

// A subscription that broke is made again, after pauses. One that was never made, or that is refused,
// is answered.
func TestASubscriptionBreaks(t *testing.T) {
	const listen = `{"jsonrpc":"2.0","id":"l","method":"subscriptions/listen","params":{"notifications":{}}}`
	for name, one := range map[string]struct {
		fails []*brokenError
		tries int
		takes time.Duration
	}{
		"never made": {[]*brokenError{{fault.EffectNone, false}}, 1, 0},
		"refused":    {[]*brokenError{{fault.EffectUnknown, true}}, 1, 0},
		"broke":      {[]*brokenError{{fault.EffectUnknown, false}, {fault.EffectNone, false}, {fault.EffectNone, false}, {fault.EffectNone, true}}, 4, 700 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tries := 0
				c := connect(t, runs(newRun(func(m *rpc.Message) (string, error) {
					tries++
					return "", &rpc.FailedError{ID: m.ID, Err: one.fails[tries-1]}
				})))
				defer c.in.Close()
				began := time.Now()
				c.send(listen)
				require.Contains(t, c.answer(`"l"`), "the wire broke")
				require.Equal(t, one.tries, tries)
				require.GreaterOrEqual(t, time.Since(began), one.takes)
				require.Less(t, time.Since(began), one.takes+100*time.Millisecond)
			})
		})
	}
}

// What was not started here is not ended here, however silent it is.
func TestARunIsNotEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		run := newRun(func(m *rpc.Message) (string, error) {
			if m.Method == "tools/call" {
				return "", nil
			}
			return ok(m, `{"protocolVersion":"2025-11-25","serverInfo":{}}`), nil
		})
		c := initialized(t, runs(run))
		defer c.in.Close()
		c.send(callLine("1", "slow", `{}`))
		time.Sleep(time.Hour)
		select {
		case <-run.ended:
			require.Fail(t, "it was ended")
		default:
		}
		run.out <- `{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`
		require.Contains(t, c.answer("1"), `"content"`)
	})
}

// TestTheOrderOfTheServer: the client gets what the server wrote in its order, however long the middlewares take
// for an answer.
func TestTheOrderOfTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var slow *rpc.Message
		var run *fakeRun
		run = newRun(func(m *rpc.Message) (string, error) {
			switch {
			case m.Method == "initialize":
				return ok(m, begun), nil
			case m.Method != "tools/call":
				return ok(m, `{"tools":[]}`), nil
			case slow == nil:
				slow = m
				return "", nil
			}
			run.out <- ok(slow, `{"content":[]}`)
			run.out <- `{"jsonrpc":"2.0","method":"notifications/message","params":{}}`
			return ok(m, `{"content":[]}`), nil
		})
		c := initialized(t, runs(run), func(o *Options, chain *mcpchain.Options) {
			standard := mcpchain.Standard(chain)
			o.Chain = func(next mcp.MethodHandler) mcp.MethodHandler {
				next = standard(next)
				return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
					res, err := next(ctx, method, req)
					if r, ok := req.(*mcp.CallToolRequest); ok && r.Params.Name == "slow" {
						time.Sleep(time.Second)
					}
					return res, err
				}
			}
		})
		defer c.in.Close()
		c.send(callLine("1", "slow", `{}`))
		c.send(callLine("2", "quick", `{}`))
		for _, want := range []string{`"id":1`, "notifications/message", `"id":2`} {
			require.Contains(t, <-c.lines, want)
		}
	})
}
