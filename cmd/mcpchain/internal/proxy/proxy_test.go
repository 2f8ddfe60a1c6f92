//go:build unix

package proxy

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/budget"
	"github.com/mcpchain/mcpchain/mask"
	mcprecover "github.com/mcpchain/mcpchain/recover"
	"github.com/mcpchain/mcpchain/replay"
	"github.com/mcpchain/mcpchain/retry"
	"github.com/mcpchain/mcpchain/validate"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/rpc"
)

const canary = "zq-canary/7f+3a=<&>"

// A session with a proxy, in lines.
type client struct {
	t      *testing.T
	in     io.WriteCloser
	lines  chan string
	log    *logs
	status chan int
	stop   context.CancelFunc
	early  []string // that nobody has asked for
}

type logs struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func hide(text string) string {
	escaped, _ := json.Marshal(canary)
	return strings.NewReplacer(canary, "[redacted]", string(escaped[1:len(escaped)-1]), "[redacted]").Replace(text)
}

func connect(t *testing.T, change ...func(*Options, *mcpchain.Options)) *client {
	t.Helper()
	toProxy, in := io.Pipe()
	out, fromProxy := io.Pipe()
	c := &client{t: t, in: in, lines: make(chan string, 1000), log: &logs{}, status: make(chan int, 1)}
	logger := slog.New(mask.LogHandler(slog.NewTextHandler(c.log, nil), hide))
	opts := Options{
		Command: []string{os.Args[0]}, Env: append(os.Environ(), "PROXY_TEST_SERVER=1", "TEST_API_KEY="+canary),
		In: toProxy, Out: rpc.NewWriter(fromProxy), Logger: logger, Stderr: Lines(c.log), Hide: hide,
		MaxRequest: 1 << 20, MaxAnswer: 1 << 20, Restart: Restart{First: 10 * time.Millisecond, Most: 100 * time.Millisecond, Steady: time.Minute},
	}
	chain := &mcpchain.Options{
		Logger: logger, Mask: &mask.Options{Reader: mask.Operator, Scrub: hide},
		Validate: &validate.Options{AfterFailure: true}, Retry: &retry.Options{RefuseAfter: -1, InitialInterval: time.Millisecond},
	}
	for _, f := range change {
		f(&opts, chain)
	}
	if opts.Chain == nil {
		opts.Chain = mcpchain.Standard(chain)
	}
	ctx, stop := context.WithCancel(context.Background())
	c.stop = stop
	go func() {
		c.status <- New(opts).Run(ctx)
		_ = fromProxy.Close()
	}()
	go func() {
		defer close(c.lines)
		r := bufio.NewReaderSize(out, 1<<20)
		for {
			line, err := r.ReadString('\n')
			if err != nil {
				return
			}
			c.lines <- strings.TrimSuffix(line, "\n")
		}
	}()
	t.Cleanup(func() {
		stop()
		go func() { _, _ = io.Copy(io.Discard, out) }()
		select {
		case status := <-c.status:
			c.status <- status
		case <-time.After(10 * time.Second):
			t.Error("the proxy does not end")
		}
	})
	return c
}

func (c *client) send(line string) {
	c.t.Helper()
	_, err := io.WriteString(c.in, line+"\n")
	require.NoError(c.t, err)
}

// next returns the next line for which want is true.
func (c *client) next(want func(line string) bool) string {
	c.t.Helper()
	for i, line := range c.early {
		if want(line) {
			c.early = append(c.early[:i:i], c.early[i+1:]...)
			return line
		}
	}
	timeout := time.After(15 * time.Second)
	for {
		select {
		case line, ok := <-c.lines:
			require.True(c.t, ok, "the proxy has ended; log:\n%s", c.log)
			if want(line) {
				return line
			}
			c.early = append(c.early, line)
		case <-timeout:
			require.FailNow(c.t, "no such line", "early: %q\nlog:\n%s", c.early, c.log)
		}
	}
}

// answer returns the answer to a request.
func (c *client) answer(id string) string {
	c.t.Helper()
	return c.next(func(line string) bool {
		var m message
		return json.Unmarshal([]byte(line), &m) == nil && string(m.ID) == id && m.Method == ""
	})
}

func (c *client) call(id, tool, args string) string {
	c.t.Helper()
	c.send(callLine(id, tool, args))
	return c.answer(id)
}

func callLine(id, tool, args string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, id, tool, args)
}

// initialized connects, and begins the session.
func initialized(t *testing.T, change ...func(*Options, *mcpchain.Options)) *client {
	t.Helper()
	c := connect(t, change...)
	c.send(`{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"tester","version":"1"}}}`)
	require.Contains(t, c.answer(`"init"`), `"serverInfo"`)
	c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return c
}

// textOf returns the text of a failed call.
func textOf(t *testing.T, line string) string {
	t.Helper()
	var m struct {
		Result struct {
			Content []struct{ Text string }
			IsError bool
		}
	}
	require.NoError(t, json.Unmarshal([]byte(line), &m), line)
	require.True(t, m.Result.IsError, line)
	require.NotEmpty(t, m.Result.Content, line)
	return m.Result.Content[0].Text
}

// What does not fail is the very line of the server, whatever stands in it.
func TestSuccessIsByteEqual(t *testing.T) {
	for name, change := range map[string]func(*Options, *mcpchain.Options){
		"by default": func(*Options, *mcpchain.Options) {},
		"decoded":    func(o *Options, _ *mcpchain.Options) { o.Decode = true },
	} {
		t.Run(name, func(t *testing.T) {
			c := initialized(t, change)
			require.Equal(t, `{"result":{"content": [{"type":"text","text":"hi","strange":1}], "isError": false,"of":"the server"},"jsonrpc":"2.0","id":7,"unknown":"kept"}`,
				c.call("7", "echo", `{"text":"hi"}`))
			require.Equal(t, `{"result":{"content":[{"type":"hologram","isError":false}]},"jsonrpc":"2.0","id":"x","unknown":"kept"}`, c.call(`"x"`, "image", `{}`))
			c.send(`{"jsonrpc":"2.0","id":8,"method":"tools/list"}`)
			require.Equal(t, `{"result":`+strings.ReplaceAll(listed, "\n", "")+`,"jsonrpc":"2.0","id":8,"unknown":"kept"}`, c.answer("8"))
			c.send(`{"jsonrpc":"2.0","id":9,"method":"nobody/knows","params":{"_meta":{"x":[1]}}}`)
			require.JSONEq(t, `{"jsonrpc":"2.0","id":9,"error":{"code":-32601,"message":"Method not found"}}`, c.answer("9"))
		})
	}
}

// What the server has agreed to counts, not what the client has asked for.
func TestTheVersionThatWasAgreed(t *testing.T) {
	c := connect(t)
	c.send(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2026-07-28","capabilities":{},"clientInfo":{"name":"tester","version":"1"}}}`)
	require.Contains(t, c.answer("0"), `"2025-11-25"`)
	line := c.call("1", "die", `{}`)
	textOf(t, line)
	require.NotContains(t, line, "resultType")
}

func TestTheOtherDirection(t *testing.T) {
	c := initialized(t)
	c.send(callLine("1", "elicit", `{}`))
	require.Equal(t, `{"jsonrpc":"2.0","id":"q1","method":"elicitation/create","params":{"message":"name?", "odd" : null}}`,
		c.next(func(line string) bool { return strings.Contains(line, "elicitation") }))
	c.send(`{"jsonrpc":"2.0","id":"q1","result":{"action":"accept"}}`)
	require.Contains(t, c.answer("1"), "the client says")

	for range 20 { // what follows an answer does not pass it
		c.send(callLine("3", "after", `{}`))
		require.Contains(t, <-c.lines, "done")
		require.Contains(t, <-c.lines, "list_changed")
	}
}

// Some clients end their connection at progress of which they know nothing: under a token that they have not given,
// or that of a call that was answered.
func TestProgress(t *testing.T) {
	c := initialized(t)
	id := 0
	for _, one := range []struct{ tool, token, want string }{
		{"progress", `"t"`, "^PA$"}, {"progress_failure", `"t"`, "^P+A$"}, // the call is open until its failure is explained
		{"progress", `"T"`, "^A$"}, {"progress", `7`, "^A$"}, {"progress", `"t"`, "^PA$"},
		{"progress_task", `"t"`, "^PAP$"}, // which goes on
	} {
		for range 20 {
			id++
			c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"_meta":{"progressToken":%s}}}`, id, one.tool, one.token))
			seen, last := "", false
			for !last || !strings.Contains(seen, "A") {
				switch line := <-c.lines; {
				case strings.Contains(line, "notifications/progress"):
					require.Contains(t, line, `"progressToken":"t"`)
					seen += "P"
				case strings.Contains(line, "notifications/message"):
					last = true
				default:
					seen += "A"
					require.Contains(t, line, fmt.Sprintf(`"id":%d,`, id))
				}
			}
			require.Regexp(t, one.want, seen, one.tool+one.token)
		}
	}
	require.Empty(t, c.lines)
}

// Every call that runs when the server is killed is answered once, and the next server knows what the
// one before it knew.
func TestKilledInTheMiddleOfCalls(t *testing.T) {
	c := initialized(t)
	c.send(`{"jsonrpc":"2.0","id":"lvl","method":"logging/setLevel","params":{"level":"error"}}`)
	c.answer(`"lvl"`)
	c.send(`{"jsonrpc":"2.0","id":"sub","method":"resources/subscribe","params":{"uri":"x://1"}}`)
	c.answer(`"sub"`)
	c.send(`{"jsonrpc":"2.0","id":"sub2","method":"resources/subscribe","params":{"uri":"x://2"}}`)
	c.answer(`"sub2"`)
	c.send(`{"jsonrpc":"2.0","id":"un","method":"resources/unsubscribe","params":{"uri":"x://1"}}`)
	c.answer(`"un"`)
	c.send(`{"jsonrpc":"2.0","id":"listen","method":"subscriptions/listen","params":{"notifications":{}}}`)
	for round := range 3 {
		var seen struct {
			Result struct {
				Seen  []string
				Level string
				PID   int
			}
		}
		for try := 0; try < 500 && (try == 0 || !slices.Contains(seen.Result.Seen, "subscriptions/listen")); try++ { // nothing says which comes first
			c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"s%d-%d","method":"custom/seen"}`, round, try))
			require.NoError(t, json.Unmarshal([]byte(c.answer(fmt.Sprintf(`"s%d-%d"`, round, try))), &seen))
		}
		if round > 0 {
			require.Equal(t, []string{"initialize", "notifications/initialized", "logging/setLevel", "resources/subscribe"}, seen.Result.Seen[:4])
			require.Contains(t, seen.Result.Seen, "subscriptions/listen")
			require.Equal(t, `{"level":"error"}`, seen.Result.Level)
		}
		const calls = 20
		for i := range calls {
			c.send(callLine(fmt.Sprint(100*round+i+1), "never", `{}`))
		}
		c.send(callLine(`"elicit"`, "elicit", `{}`))
		c.next(func(line string) bool { return strings.Contains(line, `"elicitation/create"`) })
		require.NoError(t, syscall.Kill(seen.Result.PID, syscall.SIGKILL))
		for i := range calls {
			text := textOf(t, c.answer(fmt.Sprint(100*round+i+1)))
			require.Contains(t, text, "Internal error: the server ended (signal: killed) while it ran this call, and is started again")
			require.Contains(t, text, "Retry: no, unless you see that it did not take effect.")
			require.Contains(t, text, "Reference: ")
		}
		textOf(t, c.answer(`"elicit"`))
		// Nobody waits for what the client would answer now.
		require.JSONEq(t, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"q1","reason":"the server ended"}}`,
			c.next(func(line string) bool { return strings.Contains(line, `"notifications/cancelled"`) }))
		c.send(`{"jsonrpc":"2.0","id":"q1","result":{"action":"accept"}}`)
		require.Contains(t, c.call(`"after"`, "echo", `{"text":"alive"}`), "alive")
	}
	for _, line := range c.early {
		require.NotContains(t, line, `"result"`, "an answer came twice")
		require.NotContains(t, line, `"listen"`, "the subscription goes on")
	}
	require.Contains(t, c.log.String(), "the server ended, and is started again")
}

// A call that ends the server may end the next one too: what reads is made once more, and then refused where that
// is wanted.
func TestACallThatEndsTheServer(t *testing.T) {
	c := initialized(t, func(_ *Options, m *mcpchain.Options) { m.Retry.RefuseAfter = 0 })
	require.Contains(t, textOf(t, c.call("1", "read_die", `{}`)), "Retry: yes (attempt 2 of 2). One more try does no harm.")
	for i := range 5 {
		require.Regexp(t, fmt.Sprintf(`Retry: unknown\. This exact call has failed %d times`, i+2), textOf(t, c.call(fmt.Sprint(i+2), "read_die", `{}`)))
	}
	require.Contains(t, textOf(t, c.call("7", "read_die", `{}`)), "Repeated failure: this exact call has failed 6 times, so it is not made for the next ")
	require.Contains(t, textOf(t, c.call("8", "die", `{}`)), "Retry: no, unless you see that it did not take effect.")
}

// A server that cancels what it asked the client is not waited for any more.
func TestAQuestionThatIsCancelled(t *testing.T) {
	c := initialized(t, func(o *Options, _ *mcpchain.Options) { o.Hang, o.Alone = 400*time.Millisecond, time.Millisecond })
	c.send(callLine("1", "forget", `{}`))
	c.next(func(line string) bool { return strings.Contains(line, `"notifications/cancelled"`) })
	c.send(callLine("2", "hang", `{}`))
	require.Contains(t, textOf(t, c.answer("2")), "answered no ping")
}

func TestHang(t *testing.T) {
	c := initialized(t, func(o *Options, _ *mcpchain.Options) { o.Hang, o.Alone = 800*time.Millisecond, time.Millisecond })
	c.send(callLine("1", "slow", `{"n":2000}`)) // which answers pings meanwhile
	require.Contains(t, c.answer("1"), "done")
	require.NotContains(t, c.log.String(), "ended")

	c.send(callLine(`"alone"`, "elicit_alone", `{}`)) // a person thinks, and a ping would be taken for the answer
	c.next(func(line string) bool { return strings.Contains(line, `"elicitation/create"`) })
	time.Sleep(1200 * time.Millisecond)
	c.send(`{"jsonrpc":"2.0","id":"q4","result":{"action":"accept"}}`)
	require.Contains(t, c.answer(`"alone"`), "accept")

	c.send(callLine("2", "elicit", `{}`))
	c.next(func(line string) bool { return strings.Contains(line, `"elicitation/create"`) })
	time.Sleep(1200 * time.Millisecond)
	c.send(`{"jsonrpc":"2.0","id":"q1","result":{}}`)
	require.Contains(t, c.answer("2"), "the client says")
	require.NotContains(t, c.log.String(), "ended")

	c.send(callLine("3", "hang", `{}`))
	c.send(callLine("4", "echo", `{"text":"behind it"}`))
	for _, id := range []string{"3", "4"} {
		text := textOf(t, c.answer(id))
		require.Contains(t, text, "Timeout: the server answered no ping for 800 ms and was ended while it ran this call")
	}
	require.Contains(t, c.call("5", "echo", `{"text":"alive"}`), "alive")
}

func TestFailuresAreExplained(t *testing.T) {
	c := initialized(t)
	text := textOf(t, c.call("1", "add", `{"a":"five"}`))
	require.Contains(t, text, "MCP error -32602: bad arguments")
	require.Contains(t, text, "Argument 'a' expected an integer, but received 'five'.")
	require.Contains(t, text, "'b'")

	line := c.call("2", "ech", `{}`)
	require.Contains(t, textOf(t, line), "Tool ech not found")
	require.Contains(t, textOf(t, line), "echo")
	require.Contains(t, line, `"similar_matches":["echo"]`)
	require.Contains(t, line, `"of":"the server"`, "what the SDK does not know stays")

	c.send(`{"jsonrpc":"2.0","id":3,"method":"prompts/get","params":{"name":"summry"}}`)
	line = c.answer("3")
	require.Contains(t, line, "Did you mean 'summary'?")
	require.Contains(t, line, `"its":"own"`)
	require.Contains(t, line, `"code":-32602`)

	// A schema that nobody can compile ends no process.
	require.Contains(t, textOf(t, c.call("4", "loop", `{"a":1}`)), "no loop")

	// The words of a failure have a bound, and what is no text of it stays.
	line = c.call("6", "fail", `{"text":"`+strings.Repeat("word ", 20_000)+`"}`)
	require.Less(t, len(line), 16<<10)
	require.True(t, strings.HasPrefix(textOf(t, line), "word word word"))
	require.Contains(t, line, `"of":"the server"`)
	c.send(`{"jsonrpc":"2.0","id":7,"method":"custom/long"}`)
	line = c.answer("7")
	require.Less(t, len(line), 16<<10)
	require.Contains(t, line, `"code":-32001`)

	// The words of a tool stay as they are.
	require.Equal(t, "no such repository: /srv/x", textOf(t, c.call("5", "fail", `{"text":"no such repository: /srv/x"}`)))
}

func TestSecretsOfTheEnvironment(t *testing.T) {
	c := initialized(t)
	require.Contains(t, textOf(t, c.call("1", "secret", `{}`)), "cannot sign in with [redacted] at /srv/x")
	c.send(`{"jsonrpc":"2.0","id":2,"method":"custom/secret"}`)
	line := c.answer("2")
	require.Contains(t, line, `"code":-32001`)
	require.Contains(t, line, "refused [redacted]")
	hologram := c.call("4", "hologram", `{}`) // content that nobody knows
	require.Contains(t, hologram, `"shows":"[redacted]"`)
	all := line + hologram + strings.Join(c.early, "\n") + c.log.String()
	require.NotContains(t, all, canary)
	require.NotContains(t, all, "zq-canary")
	require.Contains(t, c.log.String(), "trouble with [redacted]")
	require.Contains(t, c.call("3", "echo", `{"text":"`+canary+`"}`), "zq-canary", "a success is not touched")
}

func TestLinesThatAreNoMessages(t *testing.T) {
	c := initialized(t)
	for line, want := range map[string]string{
		`{"jsonrpc":"2.0","id":1,`: `{"code":-32700,"message":"Invalid message: the line is no JSON."}`,
		"\x00\xff":                 `{"code":-32700,"message":"Invalid message: the line is no JSON."}`,
		`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`: `{"code":-32600,"message":"Invalid message: batches are not supported."}`,
		`"hello"`:                  `{"code":-32600,"message":"Invalid message: the line is no JSON-RPC message."}`,
		`{"id":1,"method":"ping"}`: `{"code":-32600,"message":"Invalid message: the member \"jsonrpc\" is not \"2.0\"."}`,
		`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`:                                                         `{"code":-32600,"message":"Invalid message: the ID is neither a text nor a whole number."}`,
		`{"jsonrpc":"2.0","id":null,"method":"ping"}`:                                                        `{"code":-32600,"message":"Invalid message: the ID is neither a text nor a whole number."}`,
		`{"jsonrpc":"2.0","id":1,"method":7}`:                                                                `{"code":-32600,"message":"Invalid message: the method is no text."}`,
		`{"jsonrpc":"2.0","id":1}`:                                                                           `{"code":-32600,"message":"Invalid message: the message has no method and is no answer."}`,
		`{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}`:                                              `{"code":-32602,"message":"Invalid message: \"params\" is no object."}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call"}`:                                                     `{"code":-32602,"message":"Invalid message: \"name\" is required."}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":5}}`:                                 `{"code":-32602,"message":"Invalid message: \"name\" is no text."}`,
		`{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"","arguments":[1]}}`:               `{"code":-32602,"message":"Invalid message: \"arguments\" is no object."}`,
		`{"jsonrpc":"2.0","id":1,"method":"ping","params":"x"}`:                                              `{"code":-32602,"message":"Invalid message: \"params\" is no object."}`,
		`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":1}}`:                                      `{"code":-32602,"message":"Invalid message: \"_meta\" is no object."}`,
		`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"progressToken":{}}}}`:                   `{"code":-32602,"message":"Invalid message: \"progressToken\" is neither a text nor a whole number."}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"x":"` + strings.Repeat("x", 1<<20) + `"}}`: `{"code":-32600,"message":"Invalid message: it is longer than 1048576 bytes."}`,
	} {
		c.send(line)
		got := c.next(func(string) bool { return true })
		require.Contains(t, got, want, "%.100s", line)
		if strings.HasPrefix(line, `{"jsonrpc":"2.0","id":1,"method":"ping"`) || len(line) > 1<<20 {
			require.Contains(t, got, `"id":1`)
		}
	}
	for _, silent := range []string{"", "  ", `{"jsonrpc":"2.0","method":"notifications/x","params":[1]}`, `{"jsonrpc":"2.0","id":99,"result":{}}`} {
		c.send(silent)
	}
	c.send(`{"jsonrpc":"2.0","id":2,"method":"ping","params":null}`)
	require.Contains(t, c.answer("2"), `"result":{}`)
	require.Contains(t, c.call("3", "echo", `{"text":"alive"}`), "alive")
	require.Empty(t, c.early)
	require.NotContains(t, c.log.String(), "started again")
}

func TestAnIDThatIsInUse(t *testing.T) {
	c := initialized(t)
	c.send(callLine("1", "slow", `{"n":300}`))
	c.send(callLine("1.0", "echo", `{}`))
	require.Contains(t, c.answer("null"), "the ID is that of a request that is not answered yet")
	require.Contains(t, c.answer("1"), "done")
}

func TestAnswersThatAreNone(t *testing.T) {
	c := initialized(t)
	require.Contains(t, c.call("1", "greeting", `{}`), "hello")
	require.Contains(t, c.log.String(), "a line of the server is no message")
	require.Contains(t, c.call(`"odd"`, "odd_question", `{}`), "-32600") // which the server is told
	require.Contains(t, textOf(t, c.call("2", "illegal", `{}`)), "the server's answer is no legal message")
	require.Contains(t, textOf(t, c.call("3", "nocode", `{}`)), "its error has no code and message")
	require.Contains(t, textOf(t, c.call("4", "null", `{}`)), "Server error: the server answered with null instead of a result.\nRetry: no, unless you see that it did not take effect.")
	text := textOf(t, c.call("5", "big", `{"n":2000000}`))
	require.Contains(t, text, "the answer is larger than 1024 KiB")
	require.Contains(t, text, "Retry: no")
	require.Contains(t, c.call("6", "echo", `{"text":"alive"}`), "alive")
}

func TestCancelled(t *testing.T) {
	c := initialized(t)
	c.send(callLine("1", "slow", `{"n":100}`))
	c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	c.send(`{"jsonrpc":"2.0","id":2,"method":"custom/seen"}`)
	require.Contains(t, c.answer("2"), "notifications/cancelled")
	time.Sleep(300 * time.Millisecond)
	require.Contains(t, c.call("1", "echo", `{"text":"the ID is free"}`), "the ID is free")
	for _, line := range c.early {
		require.NotContains(t, line, "done")
	}
}

func TestTheClientGoes(t *testing.T) {
	c := initialized(t)
	c.send(callLine("1", "slow", `{"n":300}`))
	c.send(callLine("2", "add", `{}`))
	require.NoError(t, c.in.Close())
	require.Contains(t, c.answer("1"), "done")
	require.Contains(t, textOf(t, c.answer("2")), "Argument 'a' is required")
	require.Zero(t, <-c.status)
	c.status <- 0
}

func TestToolsThatAreHidden(t *testing.T) {
	c := initialized(t, func(o *Options, _ *mcpchain.Options) { o.Tools = Tools{Hide: []string{"echo"}} })
	c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	require.NotContains(t, c.answer("1"), "echo")
	require.Contains(t, c.call("2", "echo", `{}`), `unknown tool \"echo\"`)
	require.NotContains(t, c.call("3", "ech", `{}`), "echo")

	c = initialized(t, func(o *Options, _ *mcpchain.Options) { o.Tools = Tools{ReadOnly: true, Reads: []string{"fail"}} })
	c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	list := c.answer("1")
	require.NotContains(t, list, `"add"`)
	require.Contains(t, list, `"strange":true`)
	require.Contains(t, c.call("2", "add", `{}`), `unknown tool \"add\"`)
	require.Contains(t, c.call("3", "echo", `{"text":"hi"}`), `"hi"`)
	require.Equal(t, "no", textOf(t, c.call("4", "fail", `{"text":"no"}`)))
}

// A mistyped name hides nothing, so it is recorded, once.
func TestANameThatNoToolHas(t *testing.T) {
	c := initialized(t, func(o *Options, _ *mcpchain.Options) { o.Tools = Tools{Hide: []string{"ecoh", "fail"}} })
	for _, id := range []string{"1", "2"} {
		c.send(`{"jsonrpc":"2.0","id":` + id + `,"method":"tools/list"}`)
		require.Contains(t, c.answer(id), `"echo"`)
	}
	require.Equal(t, 1, strings.Count(c.log.String(), "a setting names a tool that the server does not list"))
	require.Regexp(t, `tool=ecoh similar=\[echo`, c.log.String())
}

func TestSerialWrites(t *testing.T) {
	c := initialized(t, func(o *Options, _ *mcpchain.Options) { o.Serial = true })
	for i := range 3 {
		c.send(callLine(fmt.Sprint(i), "slow", `{"n":200}`))
	}
	began := time.Now()
	require.Contains(t, c.call("9", "echo", `{"text":"hi"}`), "hi") // which only reads
	for i := range 3 {
		c.answer(fmt.Sprint(i))
	}
	require.GreaterOrEqual(t, time.Since(began), 500*time.Millisecond)
}

// What middlewares change of a success is changed, and nothing else.
func TestChangedSuccesses(t *testing.T) {
	c := initialized(t, func(o *Options, m *mcpchain.Options) {
		o.Decode = true
		m.Budget = budget.New(&budget.Options{Size: 300})
		m.Replay = replay.New(nil)
	})
	c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	list := c.answer("1")
	require.Contains(t, list, `"strange":true`)
	require.Contains(t, list, `"name":"read_more"`)
	require.Contains(t, list, `{"$ref":"#"}`)

	// The output schema of this tool would end the process of a validator.
	require.Less(t, len(c.call(`"l"`, "loop", `{"n":20000}`)), 5000)

	line := c.call("2", "big", `{"n":20000}`)
	require.Less(t, len(line), 3000)
	require.Contains(t, line, `"of":"the server"`)
	cursor := regexp.MustCompile(`read_more \{\\"cursor\\":\\"([^\\]+)`).FindStringSubmatch(line)
	require.NotNil(t, cursor, line)
	require.Contains(t, c.call("3", "read_more", `{"cursor":"`+cursor[1]+`"}`), "xxxx")

	for id := range 2 {
		c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"echo","arguments":{"text":"once"},"_meta":{"io.modelcontextprotocol/idempotencyKey":"k"}}}`, 10+id))
		require.Contains(t, c.answer(fmt.Sprint(10+id)), "once")
	}
	c.send(`{"jsonrpc":"2.0","id":4,"method":"custom/seen"}`)
	require.Equal(t, 3, strings.Count(c.answer("4"), "tools/call"), "loop, big and echo, each once")
}

func TestListsThatHaveChanged(t *testing.T) {
	var l lists
	req := func(cursor string) mcp.Request {
		return &mcp.ListToolsRequest{Params: &mcp.ListToolsParams{Cursor: cursor}}
	}
	l.keep("tools/list", req(""), []byte("1"))
	l.keep("tools/list", req("next"), []byte("2"))
	l.keep("prompts/list", &mcp.ListPromptsRequest{Params: &mcp.ListPromptsParams{}}, []byte("3"))
	require.Equal(t, "2", string(l.get("tools/list", req("next"), false)))
	l.changed("notifications/tools/list_changed")
	require.Nil(t, l.get("tools/list", req(""), false))
	require.Nil(t, l.get("tools/list", req("next"), false))
	require.NotNil(t, l.get("prompts/list", &mcp.ListPromptsRequest{Params: &mcp.ListPromptsParams{}}, false))
	l.keep("tools/list", req(""), make([]byte, maxKept))
	require.Nil(t, l.get("prompts/list", &mcp.ListPromptsRequest{Params: &mcp.ListPromptsParams{}}, false), "there is a bound")
	l.keep("tools/list", req(""), make([]byte, maxKept+1))
	require.Nil(t, l.get("tools/list", req(""), false))
}

// A client that has gone, or is there and does not read, does not keep the program from ending.
func TestTheClientDoesNotRead(t *testing.T) {
	for name, gone := range map[string]bool{"it has gone": true, "it is there": false} {
		t.Run(name, func(t *testing.T) {
			toProxy, in := io.Pipe()
			out, fromProxy := io.Pipe()
			logger := slog.New(slog.DiscardHandler)
			p := New(Options{
				Command: []string{os.Args[0]}, Env: append(os.Environ(), "PROXY_TEST_SERVER=1"), In: toProxy, Out: rpc.NewWriter(fromProxy), Logger: logger,
				Stderr: func(string) {}, Hide: hide, Chain: mcpchain.Standard(&mcpchain.Options{Logger: logger}), MaxRequest: 1 << 20, MaxAnswer: 1 << 20,
				Restart: Restart{First: time.Millisecond, Most: time.Second, Steady: time.Minute},
			})
			ctx, stop := context.WithCancel(context.Background())
			defer stop()
			status := make(chan int)
			go func() { status <- p.Run(ctx) }()
			if gone {
				require.NoError(t, out.Close())
			}
			_, err := io.WriteString(in, callLine("1", "progress", "{}")+"\n"+callLine("2", "elicit", "{}")+"\n")
			if !gone {
				require.NoError(t, err)
				time.Sleep(300 * time.Millisecond)
				stop()
			}
			select {
			case <-status:
			case <-time.After(10 * time.Second):
				require.FailNow(t, "it goes on")
			}
		})
	}
}

// A server that ends at once when it is started again hinders nobody for long.
func TestAServerThatDoesNotLast(t *testing.T) {
	file := filepath.Join(t.TempDir(), "dead")
	c := initialized(t, func(o *Options, _ *mcpchain.Options) {
		o.Command = []string{"/bin/sh", "-c", "test -e " + file + " && exit 4; exec " + os.Args[0]}
		o.Restart = Restart{First: time.Millisecond, Most: 40 * time.Millisecond, Steady: time.Minute}
	})
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	textOf(t, c.call("1", "die", `{}`))
	c.send(callLine("2", "echo", `{"text":"back"}`))
	require.Eventually(t, func() bool { return strings.Count(c.log.String(), "pause=40ms") >= 3 }, 10*time.Second, time.Millisecond)
	require.NoError(t, os.Remove(file))
	require.Contains(t, c.answer("2"), "back")
}

// A success that a middleware refuses leaves nothing of itself in the failure.
func TestASuccessBecomesAFailure(t *testing.T) {
	c := initialized(t, func(o *Options, m *mcpchain.Options) {
		o.Decode = true
		m.Recover = &mcprecover.Options{MaxResult: 10_000}
	})
	line := c.call("1", "loop", `{"n":20000}`)
	require.Contains(t, textOf(t, line), "the result is larger than")
	require.NotContains(t, line, "structuredContent")
	line = c.call("2", "big", `{"n":20000}`)
	require.Contains(t, textOf(t, line), "the result is larger than")
	require.NotContains(t, line, `"of"`)
}

func TestAServerThatCannotBeStartedAgain(t *testing.T) {
	program := filepath.Join(t.TempDir(), "server")
	require.NoError(t, os.Symlink(os.Args[0], program))
	c := initialized(t, func(o *Options, _ *mcpchain.Options) {
		o.Command, o.Restart = []string{program}, Restart{First: 10 * time.Second, Most: 20 * time.Second, Steady: time.Minute}
	})
	textOf(t, c.call("1", "die", `{}`))
	require.Eventually(t, func() bool { return strings.Contains(c.log.String(), "is started again") }, time.Minute, time.Millisecond)
	time.Sleep(50 * time.Millisecond)
	text := textOf(t, c.call("2", "echo", `{"text":"x"}`))
	require.Contains(t, text, "Service unavailable: the server is not available now")
	require.Regexp(t, `Retry: yes, after \d+ s`, text)
	require.Contains(t, text, "Nothing was changed by this call.")
}
