//go:build unix

package proxy

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/deadline"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/replay"
	"github.com/mcpchain/mcpchain/store"
	"github.com/mcpchain/mcpchain/task"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/rpc"
)

// A slow server is a fake process that answers calls of tools when the test says so.
type slow struct {
	*fakeProcess

	got   received
	mute  bool // it does nothing but run the call
	lists string
}

func newSlow() *slow {
	s := &slow{lists: someTools}
	s.fakeProcess = newProcess(func(m *rpc.Message) (string, error) {
		s.got.mu.Lock()
		defer s.got.mu.Unlock()
		s.got.b.Write(append(m.Line, '\n'))
		switch {
		case m.Method == "initialize":
			return ok(m, begun), nil
		case m.Method == "tools/call" || m.Method == "" || s.mute:
			return "", nil
		case m.Method == "tools/list":
			return ok(m, s.lists), nil
		default:
			return ok(m, `{}`), nil
		}
	})
	return s
}

func (s *slow) silent(mute bool) {
	s.got.mu.Lock()
	defer s.got.mu.Unlock()
	s.mute = mute
}

const someTools = `{"tools":[{"name":"report","outputSchema":{"type":"object"},"inputSchema":{"type":"object"}},{"name":"free","inputSchema":{"type":"object"}}]}`

// oddTools have members that the SDK does not know, and one tool that it cannot read.
const oddTools = `{"odd":1.0,"tools":[` +
	`{"x":[1e2],"name":"report","outputSchema":{"type":"object","x":1e2,"properties":{"rows":{"type":"integer","maximum":1e2}},"required":["rows"]},"inputSchema":{"type":"object"}},` +
	`{"name":"plain","outputSchema":{"required":["n"],"properties":{"n":{"type":"integer","maximum":1e2}},"type":"object"},"inputSchema":{"type":"object"}},` +
	`{"name":"write","annotations":5,"inputSchema":7},` +
	`{"name":"free","inputSchema":{"type":"object"}}]}`

// slowly returns a client of a server behind package task.
func slowly(t *testing.T, s *slow, change ...func(*Options, *mcpchain.Options)) *client {
	t.Helper()
	c := initialized(t, append([]func(*Options, *mcpchain.Options){processes(s.fakeProcess), func(o *Options, chain *mcpchain.Options) {
		o.Tasks = true
		chain.Task = task.New(&task.Options{After: 5 * time.Second, Wait: 5 * time.Second})
	}}, change...)...)
	c.send(`{"jsonrpc":"2.0","id":"list","method":"tools/list"}`)
	c.answer(`"list"`)
	return c
}

// handle returns the ID in an answer that is one of package task, and the text of it.
func handle(t *testing.T, line string) (id, text string) {
	t.Helper()
	var m struct {
		Result struct {
			Content []struct{ Text string }
			Meta    map[string]json.RawMessage `json:"_meta"`
		}
	}
	require.NoError(t, json.Unmarshal([]byte(line), &m), line)
	var is struct{ ID string }
	require.NoError(t, json.Unmarshal(m.Result.Meta["io.github.mcpchain/task"], &is), line)
	require.NotEmpty(t, is.ID)
	if len(m.Result.Content) > 0 {
		text = m.Result.Content[0].Text
	}
	return is.ID, text
}

func fetches(id, of string) string { return callLine(id, "task_result", `{"id":"`+of+`"}`) }

// Of the list of tools the output schemas change that have to allow a handle, and two tools are added.
func TestToolsThatMayLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlow()
		s.lists = oddTools
		c := slowly(t, s)
		defer c.in.Close()
		c.send(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
		got := c.answer("2")
		for _, stays := range []string{
			`"odd":1.0`, `{"x":[1e2],"name":"report","inputSchema":{"type":"object"}}`, // whose schema has a keyword that nobody knows
			`{"name":"plain","outputSchema":{"properties":{"n":{"type":"integer","maximum":1e2},"still_running":`, `,"type":"object","anyOf":[{"required":["n"]},{"required":["still_running"]}]},"inputSchema":{"type":"object"}}`,
			`{"name":"write","annotations":5,"inputSchema":7},{"name":"free","inputSchema":{"type":"object"}},{`,
		} {
			require.Contains(t, got, stays)
		}
		require.Equal(t, 1, strings.Count(got, `"name":"task_result"`))
		require.Equal(t, 1, strings.Count(got, `"name":"task_cancel"`))
	})
}

// The answer that a client fetches is what the server wrote, but for a member of its _meta.
func TestTheAnswerOfACallThatLasts(t *testing.T) {
	for name, one := range map[string]struct{ result, want string }{
		"unknown content": {`{"odd":1.0,"content": [{"type":"hologram<>","x":1e2}],"structuredContent":{"rows":7.0}}`, `{"odd":1.0,"content":[{"type":"hologram<>","x":1e2}],"structuredContent":{"rows":7.0},"_meta":{TASK}}`},
		"a _meta":         {`{"_meta":{"its":1e2},"content":[]}`, `{"_meta":{"its":1e2,TASK},"content":[]}`},
		"a failure":       {`{"content":[{"type":"text","text":"no such table ` + canary + `","x":1e2}],"isError":true,"odd":1.0,"y":"` + canary + `"}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, kept := newSlow(), &seenStore{Store: store.NewMemory(nil)}
				c := slowly(t, s, func(_ *Options, chain *mcpchain.Options) {
					chain.Task = task.New(&task.Options{After: 5 * time.Second, Wait: 5 * time.Second, Store: kept})
				})
				defer c.in.Close()
				began := time.Now()
				id, text := handle(t, c.call("7", "report", `{}`))
				require.Equal(t, 5*time.Second, time.Since(began))
				require.True(t, strings.HasPrefix(text, "Still running: 'report' has not finished after 5 s, and goes on."), text)
				require.NotContains(t, text, "progress")
				c.send(fetches("8", id))
				time.Sleep(time.Second)
				s.out <- `{"jsonrpc":"2.0","id":7,"result":` + one.result + `}`
				got := c.answer("8")
				require.Equal(t, 6*time.Second, time.Since(began))
				task := `"io.github.mcpchain/task":{"id":"` + id + `","status":"completed","tool":"report"}`
				if one.want != "" {
					require.Equal(t, `{"jsonrpc":"2.0","id":8,"result":`+strings.Replace(one.want, "TASK", task, 1)+`}`, got)
				} else {
					require.True(t, strings.HasPrefix(textOf(t, got), "'report' has ended. This is its failure:\nno such table [redacted]"), got)
					require.Contains(t, got, `"x":1e2`)
					require.Contains(t, got, `"odd":1.0`)
					require.Contains(t, got, task)
					require.NotContains(t, kept.got.String(), canary, "what another program reads, too")
					require.Equal(t, 2, strings.Count(s.got.String(), `"tools/list"`), "the failure is explained by what the server lists now")
				}
				c.send(fetches("9", id))
				require.Contains(t, c.answer("9"), task, "more than once")
				require.Equal(t, 1, strings.Count(s.got.String(), `"tools/call"`))
				require.NotContains(t, c.log.String(), "nobody waits")
			})
		})
	}
}

// A seenStore shows what was written to it.
type seenStore struct {
	store.Store

	got received
}

func (s *seenStore) Swap(ctx context.Context, key string, old store.Version, value []byte, ttl time.Duration) (store.Item, bool, error) {
	s.got.mu.Lock()
	s.got.b.Write(value)
	s.got.mu.Unlock()
	return s.Store.Swap(ctx, key, old, value, ttl)
}

// What the server tells of the progress of a call stands in the handle, whether the client wants to be told or not.
// It is not told any more when it has the handle.
func TestTheProgressOfACallThatLasts(t *testing.T) {
	for name, meta := range map[string]string{"not wanted": "", "wanted": `,"_meta":{"progressToken":"mine","x":1e2}`, "a _meta": `,"_meta":{"x":1e2 }`} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, p := newSlow(), (*Proxy)(nil)
				c := slowly(t, s, func(o *Options, chain *mcpchain.Options) {
					o.Chain = mcpchain.Standard(chain, func(next mcp.MethodHandler) mcp.MethodHandler {
						return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
							if c, ok := ctx.Value(callKey{}).(*request); ok && method == call.MethodCallTool {
								p = c.proxy
							}
							return next(ctx, method, req)
						}
					})
				})
				defer c.in.Close()
				c.send(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"report","odd":1.0,"arguments":{}` + meta + `},"more":[ ]}`)
				synctest.Wait()
				got := s.got.String()
				require.Contains(t, got, `"odd":1.0,"arguments":{}`+strings.TrimSuffix(strings.TrimSuffix(meta, "}"), " "))
				require.Contains(t, got, `},"more":[ ]}`)
				_, token, ok := strings.Cut(got, `"progressToken":`)
				require.True(t, ok, got)
				token = token[:strings.IndexAny(token, "},")]
				progress := func(n string) {
					s.out <- `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":` + token + `,"progress":` + n + `,"total":100,"message":"with ` + canary + `"}}`
					synctest.Wait()
				}
				progress("30")
				if name == "wanted" {
					require.Contains(t, <-c.lines, `"progress":30`)
				}
				id, text := handle(t, c.answer("7"))
				require.Contains(t, text, "Its last progress: 30 of 100, with [redacted].")
				progress("60")
				_, text = handle(t, func() string { c.send(fetches("8", id)); return c.answer("8") }())
				require.Contains(t, text, "Its last progress: 60 of 100, with [redacted].")
				require.Empty(t, c.early)
				require.Empty(t, c.lines)
				s.out <- `{"jsonrpc":"2.0","id":7,"result":{"content":[]}}`
				synctest.Wait()
				progress("99")
				require.Empty(t, c.lines)
				require.Empty(t, p.tokens, "nothing is left")
				require.Empty(t, p.behind)
			})
		})
	}
}

// While the server waits for its client, the client gets no handle.
func TestNoHandleWhileTheServerAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlow()
		c := slowly(t, s)
		defer c.in.Close()
		s.out <- `{"jsonrpc":"2.0","id":"before","method":"roots/list"}` // which is never answered
		synctest.Wait()
		time.Sleep(time.Second)
		began := time.Now()
		c.send(callLine("7", "report", `{}`))
		time.Sleep(4 * time.Second)
		s.out <- `{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"name?"}}`
		time.Sleep(10*time.Second + time.Second/2)
		require.Len(t, c.lines, 2, "two requests and no answer")
		c.send(`{"jsonrpc":"2.0","id":"q","result":{"action":"decline"}}`)
		handle(t, c.answer("7"))
		require.Equal(t, 15*time.Second, time.Since(began))
	})
}

// A wish of the client to cancel reaches the server with task_cancel, and not when the client has the handle.
func TestACallThatLastsIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlow()
		c := slowly(t, s)
		defer c.in.Close()
		id, _ := handle(t, c.call("7", "report", `{}`))
		c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`)
		synctest.Wait()
		require.NotContains(t, s.got.String(), "notifications/cancelled")

		again, _ := handle(t, c.call("7", "free", `{}`)) // the ID is the client's own
		require.NotEqual(t, id, again)
		c.send(callLine("8", "task_cancel", `{"id":"`+id+`"}`))
		require.Contains(t, c.answer("8"), "It was told to stop.")
		synctest.Wait()
		require.Contains(t, s.got.String(), `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7,"reason":"the client cancelled the call"}}`)
		c.send(fetches("9", id))
		require.Contains(t, textOf(t, c.answer("9")), "Cancelled: the server was told to stop this call. Whether it did is not known.")

		s.out <- `{"jsonrpc":"2.0","id":7,"result":{"content":[]}}`
		synctest.Wait()
		require.Contains(t, c.log.String(), `level=INFO msg="the server answered too late`)

		time.Sleep(30 * time.Minute) // what does not even answer pings runs the other call
		require.False(t, isClosed(s.ended))
		require.NotContains(t, c.log.String(), "task_result", "none of the calls has failed")
	})
}

// A server that does one thing at a time is left alone while it runs a call behind a handle, whatever else waits for
// it, and is not asked for its list. A call that is over its time limit ends that.
func TestAServerIsSilentWhileACallLasts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, next := newSlow(), newSlow()
		c := slowly(t, s, processes(s.fakeProcess, next.fakeProcess), func(_ *Options, chain *mcpchain.Options) {
			chain.Deadline = deadline.New(&deadline.Options{Limit: 30 * time.Minute})
		})
		defer c.in.Close()
		s.silent(true)
		began := time.Now()
		id, _ := handle(t, c.call("7", "report", `{}`))
		require.Equal(t, 5*time.Second, time.Since(began))
		require.Equal(t, 1, strings.Count(s.got.String(), `"tools/list"`))
		time.Sleep(time.Minute)
		other, _ := handle(t, c.call("8", "free", `{}`))
		time.Sleep(28 * time.Minute)
		require.False(t, isClosed(s.ended))
		time.Sleep(time.Minute + 40*time.Second)
		require.True(t, isClosed(s.ended))
		for id, want := range map[string]string{id: "Timeout: the tool did not finish within 30 min. It was told to stop.", other: "the server answered no ping for 30 s and was ended while it ran this call"} {
			c.send(fetches("9", id))
			require.Contains(t, textOf(t, c.answer("9")), want)
		}
	})
}

// The server ends: the answer of the call says what is known, and the next run gets the next call.
func TestAServerEndsWhileACallLasts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, next := newSlow(), newSlow()
		c := slowly(t, s, processes(s.fakeProcess, next.fakeProcess))
		defer c.in.Close()
		id, _ := handle(t, c.call("7", "report", `{}`))
		s.Kill()
		c.send(fetches("8", id))
		require.Contains(t, textOf(t, c.answer("8")), "'report' has ended. This is its failure:\n")
		handle(t, c.call("9", "report", `{}`))
		require.Contains(t, next.got.String(), `"id":9`)
	})
}

// Without a deadline the limit of package task ends the work.
func TestTheLimitOfACallThatLasts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlow()
		c := slowly(t, s, func(_ *Options, chain *mcpchain.Options) {
			chain.Task = task.New(&task.Options{After: 5 * time.Second, Limit: 8 * time.Second})
		})
		defer c.in.Close()
		id, _ := handle(t, c.call("7", "report", `{}`))
		c.send(fetches("8", id))
		require.Contains(t, textOf(t, c.answer("8")), "Timeout: ")
		synctest.Wait()
		require.Contains(t, s.got.String(), `"reason":"it took too long"`)
	})
}

// A call under a key that lasts is done once: its repetition is answered with the handle, and then with what the
// server wrote.
func TestACallThatLastsUnderAKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlow()
		c := slowly(t, s, func(o *Options, chain *mcpchain.Options) {
			o.Decode = true
			chain.Replay = replay.New(nil)
		})
		defer c.in.Close()
		keyed := func(id string) string {
			c.send(`{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"report","arguments":{},"_meta":{"io.github.mcpchain/idempotency_key":"a-key-of-mine"}}}`)
			return c.answer(id)
		}
		id, _ := handle(t, keyed("7"))
		again, text := handle(t, keyed("8"))
		require.Equal(t, id, again)
		require.Contains(t, text, "was not run again")
		s.out <- `{"jsonrpc":"2.0","id":7,"result":{"odd":1.0,"content":[{"type":"text","text":"7 <rows>","x":1e2}]}}`
		synctest.Wait()
		for id, got := range map[string]string{"9": func() string { c.send(fetches("9", id)); return c.answer("9") }(), "10": keyed("10")} {
			require.True(t, strings.HasPrefix(got, `{"jsonrpc":"2.0","id":`+id+`,"result":{"odd":1.0,"content":[{"type":"text","text":"7 <rows>","x":1e2}],"_meta":{`), got)
		}
		require.Equal(t, 1, strings.Count(s.got.String(), `"tools/call"`))
	})
}

// A client that counts anew has a call behind a handle and another one of the same ID. Its wish to cancel is that for the
// call that it waits for, which the server has under another ID.
func TestTheRightCallIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlow()
		c := slowly(t, s)
		defer c.in.Close()
		first, _ := handle(t, c.call("7", "report", `{}`))
		c.send(callLine("7", "free", `{}`))
		time.Sleep(time.Second)
		c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7,"reason":"enough"}}`)
		synctest.Wait()
		sent := s.got.String()
		require.Contains(t, sent, `"reason":"enough"`)
		require.NotContains(t, sent, `"requestId":7,`)
		c.send(fetches("8", first))
		_, text := handle(t, c.answer("8"))
		require.Contains(t, text, "and goes on")
		s.out <- `{"jsonrpc":"2.0","id":7,"result":{"content":[]}}`
	})
}

// A call is either cancelled or behind a handle: whoever is first.
func TestCancelledOrHanded(t *testing.T) {
	one := &request{}
	require.True(t, one.cancels())
	require.False(t, one.Handed(t.Context()))
	require.False(t, one.isBehind())
	other := &request{handed: true}
	require.False(t, other.cancels())
}

// A null in the list of tools is no tool, and keeps no other one from its client.
func TestANullInTheListOfTools(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlow()
		s.lists = `{"tools":[{"name":"report","inputSchema":{"type":"object"}},null]}`
		c := slowly(t, s)
		defer c.in.Close()
		c.send(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
		list := c.answer("2")
		require.Contains(t, list, `{"name":"report","inputSchema":{"type":"object"}},null,`)
		require.Contains(t, list, `"task_result"`)
	})
}
