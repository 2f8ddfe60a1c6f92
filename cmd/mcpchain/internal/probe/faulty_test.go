package probe_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/transport"
)

// A faulty stands between a wrapped server and its client. It makes up for what the SDK gets wrong, so
// that a server without a fault passes all checks, and it has one fault, which the check of that name
// finds.
type faulty struct {
	fault string

	mu      sync.Mutex
	asked   map[string]request
	seen    map[string]int // how often each method came
	stuck   chan struct{}  // never closed
	unasked bool
}

type request struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  any             `json:"method"`
	Params  json.RawMessage `json:"params"`
	Result  json.RawMessage `json:"result"`
	Error   json.RawMessage `json:"error"`

	named struct {
		Name, URI, Level, Cursor string
		Arguments                json.RawMessage
		ProtocolVersion          any
	}
	current bool
}

// pidEnv names the file for the ID of what a server leaves behind.
const pidEnv = "MCPCHAIN_PROBE_PID"

func serveFaulty(fault string) {
	f := &faulty{fault: fault, asked: map[string]request{}, seen: map[string]int{}}
	switch fault {
	case "only-messages":
		f.write("starting")
	case "ends-when-told":
		signal.Ignore(syscall.SIGTERM)
	case "ends-unread":
		signal.Ignore(syscall.SIGPIPE)
	case "leaves-nothing":
		orphan := exec.Command("sleep", "20")
		_ = orphan.Start()
		_ = os.WriteFile(os.Getenv(pidEnv), []byte(strconv.Itoa(orphan.Process.Pid)), 0o600)
	}
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	go func() {
		from := io.Reader(os.Stdin)
		if fault == "slow-message" {
			from = wholeLines{os.Stdin}
		}
		for in := bufio.NewReaderSize(from, 1<<20); ; {
			line, err := in.ReadBytes('\n')
			if len(line) > 0 && f.received(line) {
				_, _ = inW.Write(line)
			}
			if err == nil {
				continue
			}
			if fault == "ends-with-input" || fault == "ends-in-a-call" && f.seen["tools/list"] > 10 {
				<-f.stuck
			}
			_ = inW.Close()
			return
		}
	}()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for out := bufio.NewReaderSize(outR, 1<<20); ; {
			line, err := out.ReadBytes('\n')
			if len(line) > 0 {
				f.answered(line)
			}
			if err != nil {
				return
			}
		}
	}()
	_ = newServer(mcpchain.Standard(nil)).Run(context.Background(), transport.Stdio(&transport.StdioOptions{In: inR, Out: outW}))
	_ = outW.Close()
	<-done
}

// wholeLines loses what does not end with a line.
type wholeLines struct{ *os.File }

func (w wholeLines) Read(p []byte) (int, error) {
	for {
		n, err := w.File.Read(p)
		if err != nil || p[n-1] == '\n' && p[0] == '{' {
			return n, err
		}
	}
}

func (f *faulty) write(line string) {
	if _, err := os.Stdout.WriteString(line + "\n"); err != nil && f.fault == "ends-unread" {
		<-f.stuck
	}
}

func (f *faulty) reply(id json.RawMessage, member, value string) bool {
	if id == nil {
		id = json.RawMessage("null")
	}
	f.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%q:%s}`, id, member, value))
	return false
}

func (f *faulty) refuse(id json.RawMessage, code int, message string) bool {
	return f.reply(id, "error", fmt.Sprintf(`{"code":%d,"message":%q}`, code, message))
}

// again reports whether an ID was used before.
func (f *faulty) again(id json.RawMessage) bool {
	_, twice := f.asked[string(id)]
	return id != nil && twice
}

func die() bool {
	os.Exit(3)
	return false
}

// received looks at a line from the client. It reports whether the server gets it.
func (f *faulty) received(line []byte) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	line = bytes.TrimSpace(line)
	var r request
	err := json.Unmarshal(line, &r)
	is := func(fault string, when bool) bool { return f.fault == fault && when }
	first := byte(' ')
	if len(line) > 0 {
		first = line[0]
	}
	switch {
	case is("empty-line", first == ' '), is("deep-nesting", bytes.Contains(line, []byte("[[[[[["))), is("huge-message", len(line) > 5<<20),
		is("broken-utf8", !utf8.Valid(line)), is("unasked-answer", r.Result != nil), is("odd-notification", bytes.Contains(line, []byte("no_such\""))),
		is("cancelled-call", r.Method == "notifications/cancelled"), is("id-twice", f.again(r.ID)):
		return die()
	case is("no-json", !json.Valid(line)), is("no-object", json.Valid(line) && first != '{' && first != '['), is("batch", first == '['):
		return false
	}
	if err != nil || first != '{' {
		return !(err == nil && first == 'n') || f.refuse(nil, -32600, "This is no message.")
	}
	idIs := byte('0')
	if len(r.ID) > 0 {
		idIs = r.ID[0]
	}
	if bytes.HasPrefix(r.Params, []byte("{")) {
		_ = json.Unmarshal(r.Params, &r.named)
		r.current = bytes.Contains(r.Params, []byte(`protocolVersion":"2026`))
	}
	method, _ := r.Method.(string)
	f.seen[method]++
	switch {
	case is("no-method", method == "" && r.Result == nil && r.Error == nil), is("wrong-jsonrpc", r.Version != "2.0"),
		is("odd-params", len(r.Params) > 0 && r.Params[0] != '{' && r.Params[0] != 'n'), is("no-params", method == "tools/call" && r.Params == nil),
		is("odd-meta", bytes.Contains(r.Params, []byte(`"_meta":5`))), is("odd-id", idIs == '{'), is("ids-kept", idIs == '"'),
		is("before-initialize", f.seen["initialize"] == 0 && method == "tools/list" && !r.current), is("unknown-cursor", r.named.Cursor != ""),
		is("nasty-arguments", bytes.Contains(r.Params, []byte("etc/passwd"))), is("fitting-arguments", bytes.Contains(r.Params, []byte(`"exact"`))),
		is("many-at-once", method == "tools/list" && f.seen[method] > 5), is("late-reader", f.seen[method] > 100):
		return false
	case is("leaks-stderr", method == "tools/call"):
		_, _ = fmt.Fprintf(os.Stderr, "called with %s, as %s\n", line, os.Getenv("MCPCHAIN_CHECK_API_KEY"))
	case is("progress-ends", bytes.Contains(line, []byte(`"progressToken":"mcpchain`))):
		go func() {
			for i := range 200 {
				time.Sleep(20 * time.Millisecond)
				f.write(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"mcpchain-%s","progress":%d}}`, r.ID, i))
			}
		}()
		return false
	case is("initialize-twice", method == "initialize" && f.seen[method] > 1):
		return die()
	}
	if f.asked[string(r.ID)] = r; method == "" && r.Result == nil && r.Error == nil && idIs != '{' && idIs != '[' && idIs != 't' {
		return f.refuse(r.ID, -32600, "There is no method.")
	}
	return f.replied(method, r)
}

// replied answers some requests. It reports whether the server gets the others.
func (f *faulty) replied(method string, r request) bool {
	unknown := strings.Contains(r.named.Name, "no_such")
	switch {
	case r.Version != "2.0" || r.ID != nil && (r.ID[0] == '{' || r.ID[0] == '[' || r.ID[0] == 't'):
		return true
	case method == "initialize":
		if version, _ := r.named.ProtocolVersion.(string); version == "" {
			return f.refuse(r.ID, map[bool]int{true: -32603, false: -32602}[f.fault == "odd-initialize"], "There is no version.")
		} else if f.fault == "unknown-version" && version > "2099" {
			return f.reply(r.ID, "result", `{"protocolVersion":"`+version+`","capabilities":{},"serverInfo":{"name":"x","version":"1"}}`)
		}
	case r.ID == nil && method == "tools/list":
		return f.fault == "notification-unanswered" && f.reply(nil, "result", "{}")
	case method == "ping" && r.Params != nil && r.Params[0] == '{':
		return f.reply(r.ID, "result", "{}")
	case method == "tools/list" && !r.current && f.seen["initialize"] == 0:
		return f.refuse(r.ID, -32600, "Initialize first.")
	case method == "tools/list" && f.fault == "many-failures" && f.seen["tools/call"] > 150:
		return f.refuse(r.ID, -32600, "Enough.")
	case method == "logging/setLevel" && f.fault == "unknown-log-level":
		return f.reply(r.ID, "result", "{}")
	case f.fault == "unknown-method" && strings.HasPrefix(method, "mcpchain"), f.fault == "no-tool-name" && method == "tools/call" && r.named.Name == "",
		f.fault == "unknown-prompt" && unknown, f.fault == "unknown-resource" && strings.Contains(r.named.URI, "no/such"), f.fault == "unknown-completion" && method == "completion/complete":
		return f.refuse(r.ID, -32603, "Something about "+r.named.Name)
	case f.fault == "unknown-tool" && unknown, f.fault == "prompt-argument-missing" && method == "prompts/get", f.fault == "odd-resource" && strings.Contains(r.named.URI, "passwd"):
		return f.reply(r.ID, "result", `{"resultType":"complete","content":[],"messages":[]}`)
	case f.fault == "legal-codes" && unknown:
		return f.refuse(r.ID, 0, "There is no such tool.")
	case f.fault == "legal-messages" && unknown:
		f.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{},"error":{"code":-32602,"message":"x"}}`, r.ID))
		return false
	}
	return true
}

// answered looks at a line from the server, and writes it, or another one.
func (f *faulty) answered(line []byte) {
	line = bytes.TrimSpace(line)
	var m struct {
		ID     json.RawMessage
		Result map[string]any
		Error  map[string]any
	}
	_ = json.Unmarshal(line, &m)
	f.mu.Lock()
	r := f.asked[string(m.ID)]
	f.mu.Unlock()
	write := func(result map[string]any) {
		raw, _ := json.Marshal(result)
		f.reply(m.ID, "result", string(raw))
	}
	failed := r.Method == "tools/call" && (m.Error != nil || m.Result["isError"] == true)
	fails := func(texts ...string) {
		var content []any
		for _, text := range texts {
			content = append(content, map[string]any{"type": "text", "text": text})
		}
		write(map[string]any{"resultType": "complete", "isError": true, "content": content})
	}
	refused := failed && r.named.Name == "add_numbers"
	switch {
	case f.fault == "no-flood":
		for f.write(string(line)); ; {
			f.write(`{"jsonrpc":"2.0","id":"s","method":"ping"}`)
		}
	case f.fault == "answers-once" && r.Method == "tools/call":
		f.write(string(line))
		f.write(string(line))
	case f.fault == "answers-only-requests" && !f.unasked:
		f.unasked = true
		f.reply(json.RawMessage("31337"), "result", "{}")
		f.write(string(line))
	case f.fault == "result-type" && m.Result["resultType"] != nil:
		delete(m.Result, "resultType")
		write(m.Result)
	case f.fault == "structured-content" && m.Result["structuredContent"] != nil:
		m.Result["structuredContent"] = map[string]any{"sum": "two"}
		write(m.Result)
	case refused && slices.Contains([]string{"argument-missing", "argument-of-wrong-type", "argument-out-of-enum", "argument-out-of-range", "argument-unknown", "arguments-no-object"}, f.fault):
		write(map[string]any{"resultType": "complete", "content": []any{}, "structuredContent": map[string]any{"sum": 0}})
	case refused && slices.Contains([]string{"wrong-argument-named", "choices-named"}, f.fault):
		fails("The arguments are wrong, see the documentation.")
	case refused && f.fault == "failures-told":
		write(map[string]any{"resultType": "complete", "content": []any{map[string]any{"type": "text", "text": "Error: there is no such number"}}, "structuredContent": map[string]any{"sum": 0}})
	case refused && f.fault == "all-wrong-named":
		fails("The argument a is wrong.")
	case refused && slices.Contains([]string{"huge-argument", "leaks-argument", "invisible-argument"}, f.fault):
		var arguments map[string]any
		_ = json.Unmarshal(r.named.Arguments, &arguments)
		fails(fmt.Sprintf("These are wrong: %v", arguments))
	case failed && f.fault == "unknown-tool-named":
		fails("There is no such tool.")
	case failed && f.fault == "near-tool-named":
		fails("There is no tool " + r.named.Name + ".")
	case failed && f.fault == "one-text":
		fails("It is wrong.", "Very wrong.")
	case failed && f.fault == "says-something":
		fails("An error occurred.")
	case failed && f.fault == "bounded-failures":
		fails(strings.Repeat("It is wrong. ", 2000))
	case failed && f.fault == "leaks-stack":
		fails("TypeError: x is undefined\n    at add (file:///srv/app/index.js:12:7)")
	case failed && f.fault == "leaks-path":
		fails("cannot open /home/ada/.keys/main.pem")
	case failed && f.fault == "leaks-address":
		fails("connection to 10.0.0.7:5432 refused")
	case failed && f.fault == "leaks-environment":
		fails("It is wrong.", strings.Join(os.Environ(), "\n"))
	default:
		f.write(string(line))
	}
}
