//go:build unix

package proxy

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/deadline"
	"github.com/mcpchain/mcpchain/validate"
)

// saying has the server of the tests of what the program says.
func saying(env ...string) func(*Options, *mcpchain.Options) {
	return func(o *Options, _ *mcpchain.Options) {
		o.Env = append(os.Environ(), append(env, "PROXY_TEST_SERVER=says", "TEST_API_KEY="+canary)...)
	}
}

const patient = time.Minute

// eventually waits for what the log says.
func (c *client) eventually(want string) string {
	c.t.Helper()
	var found string
	require.Eventually(c.t, func() bool {
		found = regexp.MustCompile("(?m)^.*" + want + ".*$").FindString(c.log.String())
		return found != ""
	}, patient, time.Millisecond, "no %q in\n%s", want, c.log)
	return found
}

// That the program no longer waits does not prove that the server has stopped. Its late answer is recorded under
// the reference that the caller has.
func TestTheServerGoesOn(t *testing.T) {
	c := initialized(t, func(_ *Options, m *mcpchain.Options) {
		m.Deadline = deadline.New(&deadline.Options{Limit: 100 * time.Millisecond})
	})
	for name, outcome := range map[string]string{"slow": "outcome=ok success=true", "slow_failure": "outcome=tool_error success=false", "slow_error": "outcome=protocol_error success=false"} {
		line := c.call(fmt.Sprintf("%q", name), name, `{"n":700}`)
		text := textOf(t, line)
		require.Contains(t, text, "Timeout: the tool did not finish within 100 ms. It was told to stop. Whether it did is not known.\n")
		require.Contains(t, text, "It may still take effect.")
		require.NotContains(t, line, "and did")
		reference := regexp.MustCompile(`Reference: (\S+)`).FindStringSubmatch(text)[1]
		late := c.eventually("the server answered too late.*" + reference)
		require.Contains(t, late, "level=WARN")
		require.Contains(t, late, "tool="+name)
		require.Contains(t, late, outcome)
		require.Regexp(t, `duration_ms=(7\d\d|[89]\d\d|\d{4,})\.`, late)
	}
	c.send(`{"jsonrpc":"2.0","id":2,"method":"custom/seen"}`)
	require.Contains(t, c.answer("2"), "notifications/cancelled")
	require.NotContains(t, c.log.String(), "the handler stopped")
	require.Equal(t, 3, strings.Count(c.log.String(), "answered too late"))
}

// The same for a call that its client cancelled: it is no failure of the server, so it is no warning.
func TestACancelledCallIsAnsweredLate(t *testing.T) {
	c := initialized(t, func(_ *Options, m *mcpchain.Options) { m.Deadline = deadline.New(&deadline.Options{Limit: patient}) })
	c.send(callLine("1", "slow", `{"n":500}`))
	c.send(`{"jsonrpc":"2.0","id":2,"method":"custom/seen"}`)
	require.Contains(t, c.answer("2"), "tools/call")
	c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	late := c.eventually("the server answered too late.*outcome=ok")
	require.Contains(t, late, "level=INFO")
	reference := regexp.MustCompile(`reference=(\S+)`).FindStringSubmatch(late)[1]
	require.Contains(t, c.eventually("mcp call.*"+reference), "outcome=cancelled kind=cancelled")
	require.NotContains(t, c.log.String(), "and did")
	require.NotContains(t, c.log.String(), "has stopped:")
}

// A call that is not sent at all is told so: nothing was changed by it.
func TestACallThatWaitsIsNotSent(t *testing.T) {
	c := initialized(t, func(o *Options, m *mcpchain.Options) {
		o.Serial, m.Deadline = true, deadline.New(&deadline.Options{Limit: 2 * time.Second, Tools: map[string]time.Duration{"fail": 300 * time.Millisecond}})
	})
	c.send(callLine("1", "never", `{}`))
	c.send(callLine("2", "fail", `{"text":"it ran"}`))
	text := textOf(t, c.answer("2"))
	require.Contains(t, text, "this call was not sent: it waited for other calls that may write")
	require.Contains(t, text, "Nothing was changed by this call.")
	require.Contains(t, textOf(t, c.answer("1")), "Whether it did is not known.")
}

// Whoever has sent no message has said nothing, whatever it printed.
func TestAServerThatPrintsItsUsage(t *testing.T) {
	for status, want := range map[string]int{"0": 1, "1": 1, "7": 7} {
		for name, ended := range map[string]bool{"at once": false, "when it has ended": true} {
			t.Run(status+" "+name, func(t *testing.T) {
				c := connect(t, func(o *Options, _ *mcpchain.Options) {
					o.Env = append(os.Environ(), "PROXY_TEST_SERVER=usage", "PROXY_TEST_STATUS="+status, "TEST_API_KEY="+canary)
				})
				require.Eventually(t, func() bool {
					return !ended || strings.Contains(c.log.String(), "the server ended before it answered anything")
				}, time.Minute, time.Millisecond)
				_, _ = io.WriteString(c.in, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`+"\n")
				line := c.answer("1")
				require.Contains(t, line, "before it answered anything, and wrote: ")
				require.Contains(t, line, "Usage: server")
				require.Contains(t, line, "Retry: no. The command, the environment or the configuration of the server may have to be corrected.")
				require.NotContains(t, line, "zq-canary")
				require.Equal(t, want, <-c.status)
				c.status <- want
				require.NotContains(t, c.log.String(), "started again")
			})
		}
	}
	t.Run("a stranger", func(t *testing.T) {
		c := connect(t, func(o *Options, _ *mcpchain.Options) {
			o.Env, o.Strange = append(os.Environ(), "PROXY_TEST_SERVER=usage", "PROXY_TEST_STATUS=1"), true
		})
		_, _ = io.WriteString(c.in, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`+"\n")
		line := c.answer("1")
		require.Contains(t, line, "before it answered anything")
		require.NotContains(t, line, "Usage")
		c.status <- <-c.status
	})
}

// A command that cannot be started is answered, too, and a server that ends with the line that names the cause.
func TestAServerThatDoesNotStart(t *testing.T) {
	missing := func(o *Options, _ *mcpchain.Options) { o.Command = []string{"/there/is/no/such/program"} }
	node := func(o *Options, _ *mcpchain.Options) {
		o.Command = []string{"/bin/sh", "-c", "printf 'Error [CODE]: no module\n    at resolve (node:internal)\n\nNode.js v20.20.2\n' >&2; exit 3"}
	}
	secret := func(o *Options, _ *mcpchain.Options) { o.Command = []string{"/there/is/no/" + canary} }
	stranger := func(o *Options, _ *mcpchain.Options) { o.Strange = true }
	for name, one := range map[string]struct {
		change []func(*Options, *mcpchain.Options)
		status int
		answer string
		log    string
	}{
		"it is not there":             {[]func(*Options, *mcpchain.Options){missing}, 127, "cannot be started: there is no program \"program\" in its directory.", "/there/is/no/such/program"},
		"it is not there, a stranger": {[]func(*Options, *mcpchain.Options){missing, stranger}, 127, "cannot be started.\nRetry: no.", "/there/is/no/such/program"},
		"it is a secret":              {[]func(*Options, *mcpchain.Options){secret}, 127, "cannot be started.\nRetry: no.", "[redacted]"},
		"it ends":                     {[]func(*Options, *mcpchain.Options){node}, 3, `and wrote: 'Error [CODE]: no module'.`, `cause="Error [CODE]: no module" wrote="Error [CODE]: no module / at resolve (node:internal) / Node.js v20.20.2"`},
		"it says nothing":             {[]func(*Options, *mcpchain.Options){func(o *Options, _ *mcpchain.Options) { o.Command = []string{"/bin/sh", "-c", "exit 0"} }}, 1, "(exit status 0) before it answered anything, and wrote nothing.", `how="exit status 0"`},
		"it ends, a stranger":         {[]func(*Options, *mcpchain.Options){node, stranger}, 3, "before it answered anything.\nRetry: no.", `cause="Error [CODE]: no module"`},
	} {
		t.Run(name, func(t *testing.T) {
			c := connect(t, one.change...)
			c.send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`)
			line := c.answer("1")
			var m struct{ Error struct{ Message string } }
			require.NoError(t, json.Unmarshal([]byte(line), &m))
			require.Contains(t, m.Error.Message, one.answer)
			require.NotContains(t, line, "/there")
			require.NotContains(t, line, "Node.js")
			require.NotContains(t, line+c.log.String(), "zq-canary")
			require.Equal(t, one.status, <-c.status)
			c.status <- one.status
			require.Contains(t, c.log.String(), one.log)
		})
	}
}

// A server that does one thing at a time is left alone while it runs one call.
func TestOneCallMayTakeLong(t *testing.T) {
	quick := func(o *Options, _ *mcpchain.Options) { o.Hang = 300 * time.Millisecond }
	c := initialized(t, saying(), quick)
	require.Contains(t, c.call("1", "sync", `{"n":1500}`), "done")
	require.NotContains(t, c.log.String(), "is ended")

	c.send(callLine("2", "sync", `{"n":60000}`)) // with others behind it, it is not
	c.send(callLine("3", "sync", `{"n":0}`))
	for _, id := range []string{"2", "3"} {
		text := textOf(t, c.answer(id))
		require.Contains(t, text, "Timeout: the server answered no ping for 300 ms and was ended while it ran this call")
		require.Contains(t, text, "Retry: yes")
	}

	// The same calls are not advised once more.
	c.send(callLine("4", "sync", `{ "n" : 60000}`))
	c.send(callLine("5", "sync", `{"n":1}`))
	text := textOf(t, c.answer("4"))
	require.Contains(t, text, "Retry: no. The server was ended before, while it ran the same call.")
	require.Contains(t, textOf(t, c.answer("5")), "Retry: yes", "which is another one")
}

// The longer one of the two counts for one call.
func TestOneCallHangs(t *testing.T) {
	c := initialized(t, saying(), func(o *Options, _ *mcpchain.Options) { o.Hang, o.Alone = 200*time.Millisecond, 800*time.Millisecond })
	began := time.Now()
	require.Contains(t, textOf(t, c.call("1", "sync", `{"n":60000}`)), "the server answered no ping for 800 ms and was ended")
	require.GreaterOrEqual(t, time.Since(began), 800*time.Millisecond)
}

// A call that ran into its time limit has had its time: a server that is silent since is ended.
func TestOneCallHangsLongerThanItsLimit(t *testing.T) {
	c := initialized(t, saying(), func(o *Options, m *mcpchain.Options) {
		o.Hang, m.Deadline = 300*time.Millisecond, deadline.New(&deadline.Options{Limit: 600 * time.Millisecond})
	})
	require.Contains(t, textOf(t, c.call("1", "sync", `{"n":60000}`)), "Whether it did is not known.")
	c.eventually("the server answers no ping and is ended")
	require.Contains(t, c.call("2", "sync", `{"n":0}`), "done")
	text := textOf(t, c.call("3", "sync", `{"n":60000}`))
	require.Contains(t, text, "Timeout: the server did not answer this call in time. It was told to stop. Whether it did is not known.\nRetry: no. ")
	require.Contains(t, text, "The server was ended before, while it ran the same call.")
}

// What a tool that failed has said stays, in its order and byte for byte; ours stands below its first words.
func TestAFailureKeepsItsBlocks(t *testing.T) {
	c := initialized(t, saying())
	content := func(line string) (blocks []json.RawMessage, meta, structured json.RawMessage) {
		var m struct {
			Result struct {
				Content    []json.RawMessage
				Meta       json.RawMessage `json:"_meta"`
				Structured json.RawMessage `json:"structuredContent"`
			}
		}
		require.NoError(t, json.Unmarshal([]byte(line), &m), line)
		return m.Result.Content, m.Result.Meta, m.Result.Structured
	}
	textIn := func(block json.RawMessage) string {
		var is struct{ Text string }
		require.NoError(t, json.Unmarshal(block, &is))
		return is.Text
	}
	const why = "Suggestion: The arguments do not fit the tool's input schema, which may be why. "
	line := c.call("1", "kill", `{"pid":1,"zzz":"v"}`)
	blocks, meta, structured := content(line)
	require.Len(t, blocks, 3)
	require.Equal(t, "Ignored: zzz. Supported: pid.\n"+why+"Argument 'zzz' is unknown.", textIn(blocks[0]))
	require.Contains(t, string(blocks[0]), `"mine":1`)
	require.Equal(t, `{"type":"text","text":"Error: <kill> ESRCH" , "mine":"<&>"}`, string(blocks[1]))
	require.Equal(t, imageBlock, string(blocks[2]))
	require.Equal(t, `{"code": 7}`, string(structured))
	require.Contains(t, string(meta), `"its":12345678901234567890`)
	require.Contains(t, string(meta), `"io.github.mcpchain/error"`)

	blocks, _, _ = content(c.call("2", "picture", `{}`)) // without a text
	require.Len(t, blocks, 3)
	require.Equal(t, why+"Argument 'pid' is required: expected an integer.", textIn(blocks[0]))
	require.Equal(t, []string{imageBlock, imageBlock}, []string{string(blocks[1]), string(blocks[2])})

	blocks, _, _ = content(c.call("3", "unknown_kind", `{}`))
	require.Len(t, blocks, 2)
	require.Equal(t, `{"type":"hologram","shows":"<x>"}`, string(blocks[0]))
	require.True(t, strings.HasPrefix(textIn(blocks[1]), "no such process\n"+why))

	line = c.call("4", "secret", `{}`)
	require.Contains(t, textOf(t, line), "cannot sign in with [redacted]\n"+why)
	require.NotContains(t, line, "zq-canary")

	// Structured content goes to the _meta if the output schema forbids it, whatever the arguments are.
	for name, stays := range map[string]bool{"typed": false, "typed_well": true, "untyped": true} {
		for _, args := range []string{`{}`, `{"pid":1}`} {
			blocks, meta, structured = content(c.call(`"t"`, name, args))
			require.Len(t, blocks, 1)
			require.True(t, strings.HasPrefix(textIn(blocks[0]), "rejected"))
			require.Equal(t, stays, structured != nil, "%s %s", name, args)
			require.Equal(t, !stays, strings.Contains(string(meta), `"io.github.mcpchain/structured_content":{"code":7}`), "%s %s %s", name, args, meta)
		}
	}
}

// The same for failures that are errors of JSON-RPC.
func TestErrorsAreExplained(t *testing.T) {
	c := initialized(t, saying())
	for _, code := range []int{-32603, -32600, -32602} {
		var m struct {
			Error struct {
				Code    int
				Message string
				Data    json.RawMessage
			}
		}
		require.NoError(t, json.Unmarshal([]byte(c.call("1", "get-user", fmt.Sprintf(`{"userid":"7","n":%d}`, code))), &m))
		require.Equal(t, code, m.Error.Code)
		require.True(t, strings.HasPrefix(m.Error.Message, "Cannot read properties of undefined\nSuggestion: The arguments do not fit the tool's input schema, which may be why. Argument 'user_id' is required"), m.Error.Message)
		require.Contains(t, m.Error.Message, "\nTry: get-user {")
		switch code {
		case -32602:
			require.Contains(t, string(m.Error.Data), `"its":"own"`)
			require.Contains(t, string(m.Error.Data), `"type":"theirs"`)
			require.Contains(t, string(m.Error.Data), `"violations"`)
		case -32600:
			require.Equal(t, `"a text"`, string(m.Error.Data))
		}
		require.NoError(t, json.Unmarshal([]byte(c.call("2", "get-usr", fmt.Sprintf(`{"n":%d}`, code))), &m))
		require.Equal(t, code, m.Error.Code)
		require.Equal(t, "Unknown tool: get-usr. Did you mean 'get-user'?", m.Error.Message)
	}
	// What fits stays as it is, and so does what says something of its own.
	require.Equal(t, `{"jsonrpc":"2.0","id":3,"error":{"code":-32603,"message":"Cannot read properties of undefined"}}`, c.call("3", "get-user", `{"user_id":"7","n":-32603}`))
	require.Equal(t, `{"jsonrpc":"2.0","id":4,"error":{"code":-32001,"message":"Cannot read properties of undefined"}}`, c.call("4", "get-user", `{"n":-32001}`))
}

// A guard that cannot learn what is called lets no call pass.
func TestAGuardIsClosed(t *testing.T) {
	strict := func(o *Options, m *mcpchain.Options) {
		o.Strict, m.Validate = true, &validate.Options{RawTools: true, NoDefaults: true, StrictPrompts: true}
	}
	sent := func(c *client) int {
		c.send(`{"jsonrpc":"2.0","id":"seen","method":"custom/seen"}`)
		return strings.Count(c.answer(`"seen"`), "tools/call")
	}
	t.Run("it waits", func(t *testing.T) {
		c := initialized(t, saying("PROXY_TEST_LIST=2500ms"), strict)
		require.Contains(t, textOf(t, c.call("1", "kill", `{"pid":"five"}`)), "Validation Error: Argument 'pid' expected an integer")
		require.Zero(t, sent(c))
		require.Contains(t, textOf(t, c.call("2", "kill", `{"pid":5}`)), "Ignored")
		require.Equal(t, 1, sent(c))
	})
	t.Run("it refuses", func(t *testing.T) {
		c := initialized(t, saying("PROXY_TEST_LIST=1h"), strict, func(o *Options, _ *mcpchain.Options) { o.Learn = 300 * time.Millisecond })
		text := textOf(t, c.call("1", "kill", `{"pid":"five"}`))
		require.Contains(t, text, "Service unavailable: this call was not sent: it could not be found out what the tool takes and does")
		require.Contains(t, text, "Nothing was changed by this call.")
		c.send(`{"jsonrpc":"2.0","id":2,"method":"prompts/get","params":{"name":"summary"}}`)
		require.NotContains(t, c.answer("2"), "could not be found out", "whose list came")
		require.Zero(t, sent(c))
	})
	t.Run("only what reads", func(t *testing.T) {
		c := initialized(t, saying("PROXY_TEST_LIST=1h"), func(o *Options, _ *mcpchain.Options) {
			o.Tools, o.Learn = Tools{ReadOnly: true, Reads: []string{"untyped"}}, 300*time.Millisecond
		})
		require.Contains(t, textOf(t, c.call("1", "kill", `{"pid":1}`)), "it could not be found out what the tool takes and does")
		require.Zero(t, sent(c))
		require.Contains(t, textOf(t, c.call("2", "untyped", `{"pid":1}`)), "rejected", "by the configuration")
	})
	t.Run("what is not listed, and what cannot be read", func(t *testing.T) {
		c := initialized(t, saying(), strict)
		require.Contains(t, c.call("1", "kil", `{}`), `unknown tool \"kil\". Did you mean 'kill'?`)
		require.Contains(t, textOf(t, c.call("2", "odd", `{}`)), "could not be found out")
		require.Zero(t, sent(c))
	})
}

// What never comes is not kept for ever.
func TestLateCallsAreBounded(t *testing.T) {
	u := &upstream{late: map[string]*lateCall{}}
	for i := range 2 * maxLate {
		u.remember(fmt.Sprint(i), &lateCall{left: epoch.Add(time.Duration(i))})
	}
	require.Len(t, u.late, maxLate)
	require.NotNil(t, u.late[fmt.Sprint(2*maxLate-1)])
	require.Nil(t, u.late[fmt.Sprint(maxLate-1)], "the oldest go first")
}

// A server that ends because the program does is not started again, and nothing is wrong with how it was started.
func TestEndOfTheProgram(t *testing.T) {
	c := initialized(t)
	c.send(callLine("1", "never", `{}`))
	require.Contains(t, c.call("2", "echo", `{"text":"alive"}`), "alive")
	c.stop()
	require.Regexp(t, `the server ended \([^)]+\) while it ran this call\.`, textOf(t, c.answer("1")))

	c = connect(t, func(o *Options, _ *mcpchain.Options) { o.Command = []string{"sleep", "60"} })
	c.send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
	c.stop()
	require.NotContains(t, c.answer("1"), "to be corrected")
}

// Whoever waits for an answer that does not come finds out why in the log.
func TestAnswersThatDoNotCome(t *testing.T) {
	const stray = "an answer of the server that nobody waits for was dropped"
	c := initialized(t, saying(), func(o *Options, _ *mcpchain.Options) { o.Hang = 300 * time.Millisecond })
	require.Contains(t, c.call("1", "sync", `{"n":400}`), "done", "pings are answered late")
	require.NotContains(t, c.log.String(), stray)
	require.Contains(t, c.call("2", "other_id", `{}`), "done")
	require.Contains(t, c.log.String(), stray+`" id="\"no-such\""`)
}
