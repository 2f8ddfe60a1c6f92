//go:build unix

package proxy

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/deadline"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/rpc"
)

// A fakeProcess is a run that is watched as a process is.
type fakeProcess struct {
	*fakeRun

	open bool
}

func (*fakeProcess) PID() int     { return 1 }
func (p *fakeProcess) Open() bool { return p.open }

func newProcess(answer func(m *rpc.Message) (string, error)) *fakeProcess {
	return &fakeProcess{fakeRun: newRun(answer)}
}

// processes begins these runs, one after the other, with the times of the program.
func processes(all ...*fakeProcess) func(*Options, *mcpchain.Options) {
	return func(o *Options, m *mcpchain.Options) {
		runs()(o, m)
		o.Hang, o.StartTimeout = 30*time.Second, 5*time.Minute
		o.Start = func() (Server, error) {
			run := all[0]
			all = all[1:]
			return run, nil
		}
	}
}

const initLine = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`

// After ten seconds it is recorded, and at the end of its time it is answered, what a server wrote instead of an answer.
func TestWhatCameInstead(t *testing.T) {
	const hop = "INFO ready\n"
	for name, one := range map[string]struct {
		wrote string // in lines
		open  bool
		want  string
	}{
		"nothing":        {"", false, "it has written nothing to standard output"},
		"frames":         {hop + "Content-Length: 123\r", false, `its lines begin with "Content-Length", as those of language servers do`},
		"UTF-16":         {"\xff\xfe{\x00", false, "it does not write UTF-8"},
		"logs":           {hop + `{"level":"info","msg":"ready"}`, false, "it writes logs to standard output"},
		"HTTP":           {hop + "INFO: Uvicorn running on http://0.0.0.0:8000", false, "it says that it serves HTTP"},
		"a batch":        {hop + `[{"jsonrpc":"2.0","id":1,"result":{}}]`, false, "it wrote a message that is not legal: batches are not supported"},
		"an echo":        {initLine, false, "it writes back what it reads, as a terminal does"},
		"many lines":     {hop + `{"jsonrpc":"2.0",` + "\v" + `"result":{}},`, false, "it wrote an answer of many lines that is not JSON"},
		"an object":      {"{\v  name: 'it'\v}", false, "it writes logs to standard output"},
		"two in a line":  {hop + `ready {"jsonrpc":"2.0","id":1,"result":{}}`, false, "it wrote a line that has a message and something else"},
		"another ID":     {`{"jsonrpc":"2.0","id":0,"result":{}}`, false, "it answered the ID 0, under which nothing was asked"},
		"no ID":          {`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}`, false, "it answered the ID null, under which nothing was asked"},
		"half an answer": {hop, true, "it began an answer of many lines that does not end"},
		"a notification": {`{"jsonrpc":"2.0","method":"notifications/message","params":{}}`, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				run := newProcess(func(*rpc.Message) (string, error) { return "", nil })
				run.open = one.open
				c := connect(t, processes(run))
				defer c.in.Close()
				time.Sleep(time.Hour) // nobody waits
				c.send(initLine)
				synctest.Wait()
				for line := range strings.SplitSeq(strings.TrimSuffix(one.wrote, "\n"), "\n") { // "\v" stands for a line in an object
					if line != "" {
						run.out <- strings.ReplaceAll(line, "\v", "\n")
					}
				}
				time.Sleep(9 * time.Second)
				require.NotContains(t, c.log.String(), "is waited for")
				time.Sleep(2 * time.Second)
				require.Equal(t, 1, strings.Count(c.log.String(), "is waited for"))
				instead := c.eventually("is waited for")
				require.Contains(t, instead, "method=initialize waited=10s")
				require.Equal(t, one.want != "", strings.Contains(instead, " instead="))
				require.Contains(t, strings.ReplaceAll(instead, `\"`, `"`), one.want)
				time.Sleep(5*time.Minute - 13*time.Second)
				require.False(t, isClosed(run.ended))
				time.Sleep(5 * time.Second)
				for line := range c.lines {
					if !strings.Contains(line, "notifications/") {
						line = strings.ReplaceAll(line, `\"`, `"`)
						require.Contains(t, line, "the server did not answer within 5 min of its start and was ended")
						require.Contains(t, line, one.want)
						require.Contains(t, line, "Retry: no.")
						break
					}
				}
				require.Equal(t, 1, <-c.status)
				c.status <- 1
				require.Equal(t, 1, strings.Count(c.log.String(), "is waited for"))
			})
		})
	}
}

// A server that dies of initialize is not started again, whatever it has said before.
func TestAServerDiesOfInitialize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		run := newProcess(nil)
		run.answer = func(*rpc.Message) (string, error) {
			run.Kill()
			return "", nil
		}
		c := connect(t, processes(run))
		defer c.in.Close()
		run.out <- `{"jsonrpc":"2.0","method":"notifications/message","params":{}}`
		c.send(initLine)
		require.Equal(t, 1, <-c.status)
		c.status <- 1
		require.NotContains(t, c.log.String(), "started again")
	})
}

// A start may take longer than calls may: a call is answered in its time, and the start goes on.
func TestAStartIsNotEndedByACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var waiting []*rpc.Message
		starts := true
		run := newProcess(func(m *rpc.Message) (string, error) {
			if starts {
				waiting = append(waiting, m)
				return "", nil
			}
			return ok(m, `{"content":[]}`), nil
		})
		c := connect(t, processes(run), func(o *Options, m *mcpchain.Options) {
			o.Hang, m.Deadline = time.Second, deadline.New(&deadline.Options{Limit: 20 * time.Second})
		})
		defer c.in.Close()
		began := time.Now()
		c.send(callLine("1", "echo", `{}`))
		time.Sleep(19 * time.Second)
		text := textOf(t, c.answer("1"))
		require.Equal(t, 20*time.Second, time.Since(began).Truncate(time.Second), "nothing is asked to explain it")
		require.Contains(t, text, "Timeout: the server, which has not answered anything since its start, did not answer this call in time: it has written nothing to standard output. It was told to stop.")
		require.Contains(t, text, "Retry: no, unless you see that it did not take effect.")
		time.Sleep(4 * time.Minute)
		require.False(t, isClosed(run.ended))
		synctest.Wait()
		starts = false
		for _, m := range waiting {
			run.out <- ok(m, `{"content":[]}`)
		}
		require.Contains(t, c.call("2", "echo", `{}`), `"content"`)
		require.False(t, isClosed(run.ended))
	})
}

// A server hangs from its answer to initialize on, and not before.
func TestAServerHangsAfterItsStart(t *testing.T) {
	for name, limit := range map[string]time.Duration{"five minutes": 5 * time.Minute, "any time": 0} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var asked []string
				var first *rpc.Message
				run := newProcess(func(m *rpc.Message) (string, error) {
					if asked = append(asked, m.Method); m.Method == "initialize" {
						first = m
					}
					return "", nil
				})
				c := connect(t, processes(run, newProcess(func(m *rpc.Message) (string, error) { return ok(m, begun), nil })), func(o *Options, _ *mcpchain.Options) {
					o.StartTimeout = limit
				})
				defer c.in.Close()
				c.send(initLine)
				run.out <- `{"jsonrpc":"2.0","method":"notifications/message","params":{}}`
				time.Sleep(4 * time.Minute)
				if limit == 0 {
					time.Sleep(time.Hour)
				}
				synctest.Wait()
				require.Equal(t, []string{"initialize"}, asked, "no ping")
				run.out <- ok(first, begun)
				require.Contains(t, c.answer("1"), "serverInfo")
				c.send(callLine("2", "a", `{}`))
				c.send(callLine("3", "b", `{}`))
				time.Sleep(29 * time.Second)
				require.False(t, isClosed(run.ended))
				synctest.Wait()
				require.Contains(t, asked, "ping")
				time.Sleep(30 * time.Second)
				require.True(t, isClosed(run.ended))
				require.Contains(t, textOf(t, c.answer("2")), "answered no ping for 30 s")
			})
		})
	}
}

// What nobody waits for ends no run, and what ends one in its start is not repeated.
func TestTheStartOfACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		run := newProcess(func(*rpc.Message) (string, error) { return "", nil })
		c := connect(t, processes(run))
		defer c.in.Close()
		run.out <- `{"jsonrpc":"2.0","method":"notifications/message","params":{}}`
		c.send(callLine("1", "echo", `{}`))
		time.Sleep(time.Minute)
		c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
		time.Sleep(time.Hour)
		require.False(t, isClosed(run.ended))
		c.send(callLine("2", "echo", `{}`))
		require.Contains(t, textOf(t, c.answer("2")), "did not answer within 5 min of its start")
		require.Equal(t, 1, <-c.status)
		c.status <- 1
	})
}

// What a process has written is told at the end of the time of its start, but not to a stranger.
func TestAProcessThatDoesNotStart(t *testing.T) {
	for name, one := range map[string]struct {
		script, want, not string
		stranger          bool
	}{
		"HTTP":         {"echo ready: listening on http://localhost:3000 >&2", "it says that it serves HTTP", "\x00", false},
		"its error":    {"echo ready to load >&2", "it has written nothing to standard output. Its standard error: 'ready to load'", "\x00", false},
		"a stranger":   {"echo ready to load >&2", "it has written nothing to standard output", "ready to load", true},
		"without end":  {`printf '{"jsonrpc":"2.0","id":1,"result":{}}'; echo ready >&2`, "was ended", "\x00", false},
		"standard out": {"echo started >&2; echo Error: no key; exit 1", "and wrote: 'Error: no key'", "started", false},
	} {
		t.Run(name, func(t *testing.T) {
			c := connect(t, func(o *Options, _ *mcpchain.Options) {
				o.Command, o.StartTimeout, o.Strange = []string{"/bin/sh", "-c", one.script + "; exec sleep 60"}, 500*time.Millisecond, one.stranger
			})
			if strings.Contains(one.script, "ready") {
				c.eventually("ready") // its time begins with the request
			}
			c.send(initLine)
			line := c.answer("1")
			require.Contains(t, line, `"error"`)
			require.Contains(t, line, one.want)
			require.NotContains(t, line, one.not)
			c.status <- <-c.status
		})
	}
}

// A server that is started again has the time of a start, too.
func TestASecondStartMayTakeLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		quick := func(m *rpc.Message) (string, error) { return ok(m, begun), nil }
		first := newProcess(quick)
		second := newProcess(nil)
		second.answer = func(m *rpc.Message) (string, error) {
			go func() {
				time.Sleep(3 * time.Minute)
				second.out <- ok(m, begun)
			}()
			second.answer = quick
			return "", nil
		}
		never := newProcess(func(*rpc.Message) (string, error) { return "", nil })
		c := initialized(t, processes(first, second, never, newProcess(quick)))
		defer c.in.Close()
		first.Kill()
		time.Sleep(3*time.Minute + time.Second)
		require.Contains(t, c.call("2", "echo", `{}`), "serverInfo")
		second.Kill()
		time.Sleep(4 * time.Minute)
		require.False(t, isClosed(never.ended))
		time.Sleep(2 * time.Minute)
		require.True(t, isClosed(never.ended))
		require.Contains(t, c.call("3", "echo", `{}`), "serverInfo")
		require.Contains(t, c.log.String(), "initialize: ")
	})
}

// A call that waits while the server writes what is not a message says so when its time is up.
func TestACallThatIsNotAnswered(t *testing.T) {
	for name, one := range map[string]struct{ answers, want string }{
		"logs":           {"INFO working", "it writes logs to standard output"},
		"another ID":     {`{"jsonrpc":"2.0","id":7,"result":{}}`, `it answered the ID "7" as 7`},
		"nothing":        {"", ""},
		"something else": {`{"jsonrpc":"2.0","method":"notifications/message","params":{}}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				run := newProcess(func(m *rpc.Message) (string, error) {
					switch m.Method {
					case "tools/call":
						return one.answers, nil
					case "subscriptions/listen":
						return "", nil
					}
					return ok(m, begun), nil
				})
				c := initialized(t, processes(run), func(_ *Options, m *mcpchain.Options) {
					m.Deadline = deadline.New(&deadline.Options{Limit: 30 * time.Second})
				})
				defer c.in.Close()
				c.send(`{"jsonrpc":"2.0","id":"l","method":"subscriptions/listen","params":{}}`) // which lasts
				time.Sleep(time.Second)
				run.out <- "INFO before the call"
				time.Sleep(15 * time.Second)
				require.NotContains(t, c.log.String(), "has not answered a request yet")
				time.Sleep(time.Second)
				c.send(callLine(`"7"`, "echo", `{}`))
				time.Sleep(12 * time.Second)
				require.Equal(t, one.want != "", strings.Contains(c.log.String(), "has not answered a request yet"))
				if one.want != "" {
					require.Contains(t, strings.ReplaceAll(c.eventually("has not answered a request yet"), `\"`, `"`), one.want)
				}
				time.Sleep(20 * time.Second)
				text := textOf(t, c.answer(`"7"`))
				if one.want == "" {
					require.Contains(t, text, "the tool did not finish within 30 s")
				} else {
					require.Contains(t, text, "Timeout: the server did not answer this call in time: "+one.want+". It was told to stop. Whether it did is not known.")
				}
				require.Equal(t, min(len(one.want), 1), strings.Count(c.log.String(), "has not answered a request yet"))
			})
		})
	}
}

// A text for the number of an ID is taken for it while it waits, and only then.
func TestATextForTheNumberOfAnID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		run := newProcess(func(m *rpc.Message) (string, error) {
			if m.ID == nil || strings.Contains(string(m.ID), "8") {
				return "", nil
			}
			return `{"jsonrpc":"2.0","id":"` + strings.Trim(string(m.ID), `"`) + `","result":` + begun + `}`, nil
		})
		c := connect(t, processes(run))
		defer c.in.Close()
		c.send(initLine)
		require.Equal(t, `{"jsonrpc":"2.0","id":1,"result":`+begun+`}`, c.answer("1"))
		c.send(callLine("17", "echo", `{}`))
		require.Contains(t, c.answer("17"), `"id":17,`)
		require.Equal(t, 1, strings.Count(c.log.String(), "is mended"))
		run.out <- `{"jsonrpc":"2.0","id":"17","result":{}}` // nobody waits
		run.out <- `{"jsonrpc":"2.0","id":"017","result":{}}`
		time.Sleep(time.Second)
		require.Equal(t, 2, strings.Count(c.log.String(), "nobody waits for was dropped"))

		// Of a client that has both, nothing is guessed.
		c.send(callLine("18", "echo", `{}`))
		c.send(callLine(`"18"`, "echo", `{}`))
		time.Sleep(time.Second)
		run.out <- `{"jsonrpc":"2.0","id":"18","result":{"is":1}}`
		require.Contains(t, c.answer(`"18"`), `{"is":1}`)
		run.out <- `{"jsonrpc":"2.0","id":"18","result":{"is":2}}`
		time.Sleep(time.Second)
		require.Equal(t, 3, strings.Count(c.log.String(), "nobody waits for was dropped"))
		run.out <- `{"jsonrpc":"2.0","id":18,"result":{"is":3}}`
		require.Contains(t, c.answer("18"), `{"is":3}`)
	})
}

// What a terminal writes back does not reach the client: its refusal, written back as well, would be the answer. A
// server may ask what both sides may.
func TestRequestsThatAreWrittenBack(t *testing.T) {
	for method, own := range map[string]bool{"tools/list": false, "resources/subscribe": false, "tools/call": false, "ping": true, "tasks/get": true} {
		t.Run(method, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				run := newProcess(func(m *rpc.Message) (string, error) {
					if m.Method == method {
						return string(m.Line), nil
					}
					return ok(m, begun), nil
				})
				c := initialized(t, processes(run))
				defer c.in.Close()
				c.send(`{"jsonrpc":"2.0","id":5,"method":"` + method + `","params":{"name":"t","uri":"u:v"}}`)
				time.Sleep(time.Second)
				run.out <- `{"jsonrpc":"2.0","id":5,"result":{"is":1}}`
				got := c.next(func(line string) bool { return strings.Contains(line, `"id":5`) })
				require.Equal(t, own, strings.Contains(got, `"method"`))
				if own {
					got = c.answer("5")
				}
				require.Contains(t, got, `{"is":1}`)
				require.Equal(t, !own, strings.Contains(c.log.String(), "a request that it writes back"))
			})
		})
	}
}

// All that is mended at once, of a process.
func TestAProcessIsMended(t *testing.T) {
	c := connect(t, func(o *Options, _ *mcpchain.Options) {
		o.Command = []string{"/bin/sh", "-c", `read -r line; printf '\357\273\277{\n  "jsonrpc": "2.0",\n  "id": "1",\n  "result": {"serverInfo": {}}\n}\n'; read -r line`}
	})
	c.send(initLine)
	require.Equal(t, `{"jsonrpc":"2.0","id":1,"result":{"serverInfo":{}}}`, c.answer("1"))
	for _, what := range []string{"a message on many lines", "a text for the number of an ID"} {
		require.Contains(t, c.log.String(), what)
	}
}
