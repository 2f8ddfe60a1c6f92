package proxy

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestMain lets this program be the server of its tests. A server is written by hand, because it does
// what no SDK lets one do.
func TestMain(m *testing.M) {
	if os.Getenv("PROXY_TEST_SERVER") == "" {
		os.Exit(m.Run())
	}
	serve()
}

type message struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   json.RawMessage `json:"error,omitempty"`
}

type fakeServer struct {
	in      *bufio.Reader
	mu      sync.Mutex
	seen    []string // the methods, in the order in which they came
	waiting map[string]json.RawMessage
	level   string
	changed bool // it lists something else now
}

func (s *fakeServer) raw(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = os.Stdout.WriteString(line + "\n")
}

// asked returns the version that a client asks for.
func (s *fakeServer) asked(params json.RawMessage) string {
	var p struct {
		Version string `json:"protocolVersion"`
	}
	_ = json.Unmarshal(params, &p)
	return p.Version
}

func (s *fakeServer) result(id json.RawMessage, result string) {
	s.raw(`{"result":` + result + `,"jsonrpc":"2.0","id":` + string(id) + `,"unknown":"kept"}`)
}

func (s *fakeServer) text(id json.RawMessage, text string, isError bool) {
	quoted, _ := json.Marshal(text)
	s.result(id, fmt.Sprintf(`{"content": [{"type":"text","text":%s,"strange":1}], "isError": %v,"of":"the server"}`, quoted, isError))
}

const listed = `{"tools":[
{"name":"echo","strange":true,"annotations":{"readOnlyHint":true},"inputSchema":{"type":"object","properties":{"text":{"type":"string"}}}},
{"name":"add","inputSchema":{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"required":["a","b"]}},
{"name":"loop","inputSchema":{"$ref":"#"},"outputSchema":{"$ref":"#"}},
{"name":"fail","inputSchema":{"type":"object"}},
{"name":"die","inputSchema":{"type":"object"}},
{"name":"read_die","annotations":{"readOnlyHint":true},"inputSchema":{"type":"object"}}]}`

func serve() {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	s := &fakeServer{in: in, waiting: map[string]json.RawMessage{}}
	fmt.Fprintln(os.Stderr, "started")
	if os.Getenv("PROXY_TEST_SERVER") == "usage" {
		s.raw("Usage: server <command>\n  start   Start the server " + os.Getenv("TEST_API_KEY"))
		status, _ := strconv.Atoi(os.Getenv("PROXY_TEST_STATUS"))
		os.Exit(status)
	}
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			os.Exit(0)
		}
		var m message
		if json.Unmarshal([]byte(line), &m) != nil {
			os.Exit(9) // as bad as they get
		}
		s.mu.Lock()
		s.seen = append(s.seen, m.Method)
		s.mu.Unlock()
		s.handle(m)
	}
}

func (s *fakeServer) handle(m message) {
	if os.Getenv("PROXY_TEST_SERVER") == "says" && s.says(m) {
		return
	}
	if os.Getenv("PROXY_TEST_SERVER") == "restarts" && s.restarts(m) {
		return
	}
	switch m.Method {
	case "":
		s.mu.Lock()
		id := s.waiting[string(m.ID)]
		s.mu.Unlock()
		if id != nil {
			s.text(id, "the client says "+string(m.Result)+string(m.Error), false)
		}
	case "initialize":
		s.result(m.ID, `{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"logging":{}},"serverInfo":{"name":"fake","version":"1"}}`)
	case "ping":
		s.result(m.ID, `{}`)
	case "tools/list":
		s.result(m.ID, strings.ReplaceAll(listed, "\n", ""))
	case "prompts/list":
		s.result(m.ID, `{"prompts":[{"name":"summary"}]}`)
	case "prompts/get":
		s.raw(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"error":{"code":-32602,"message":"Prompt not found","data":{"its":"own"}}}`)
	case "logging/setLevel":
		s.level = string(m.Params)
		s.result(m.ID, `{}`)
	case "resources/subscribe", "resources/unsubscribe":
		s.result(m.ID, `{}`)
	case "subscriptions/listen":
		s.raw(`{"jsonrpc":"2.0","method":"notifications/acknowledged"}`)
	case "custom/seen":
		s.mu.Lock()
		seen, _ := json.Marshal(map[string]any{"seen": s.seen, "level": s.level, "pid": os.Getpid()})
		s.mu.Unlock()
		s.result(m.ID, string(seen))
	case "custom/secret":
		s.raw(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"error":{"code":-32001,"message":"refused ` + os.Getenv("TEST_API_KEY") + `","data":{"` + os.Getenv("TEST_API_KEY") + `":["` + os.Getenv("TEST_API_KEY") + `"]}}}`)
	case "custom/long":
		long := strings.Repeat("word ", 20_000)
		s.raw(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"error":{"code":-32001,"message":"` + long + `","data":["` + long + `"]}}`)
	case "tools/call":
		s.call(m)
	default:
		if m.ID != nil {
			s.raw(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"error":{"code":-32601,"message":"Method not found"}}`)
		}
	}
}

func (s *fakeServer) call(m message) {
	var p struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}
	_ = json.Unmarshal(m.Params, &p)
	var args struct {
		Text string `json:"text"`
		N    int    `json:"n"`
	}
	_ = json.Unmarshal(p.Arguments, &args)
	switch p.Name {
	case "echo":
		s.text(m.ID, args.Text, false)
	case "image":
		s.result(m.ID, `{"content":[{"type":"hologram","isError":false}]}`)
	case "add":
		s.text(m.ID, "MCP error -32602: bad arguments", true)
	case "loop":
		if args.N > 0 {
			s.result(m.ID, fmt.Sprintf(`{"content":[],"structuredContent":{"items":[%s1]}}`, strings.Repeat("1,", args.N)))
			return
		}
		s.text(m.ID, "no loop", true)
	case "fail":
		s.text(m.ID, args.Text, true)
	case "secret":
		fmt.Fprintln(os.Stderr, "trouble with "+os.Getenv("TEST_API_KEY"))
		s.text(m.ID, "cannot sign in with "+os.Getenv("TEST_API_KEY")+" at /srv/x", true)
	case "die", "read_die":
		os.Exit(1)
	case "hang":
		s.mu.Lock() // nothing is written any more
		select {}
	case "never": // alone is not answered
	case "slow":
		go func() {
			time.Sleep(time.Duration(args.N) * time.Millisecond)
			s.text(m.ID, "done", false)
		}()
	case "slow_failure":
		go func() {
			time.Sleep(time.Duration(args.N) * time.Millisecond)
			s.text(m.ID, "no", true)
		}()
	case "slow_error":
		go func() {
			time.Sleep(time.Duration(args.N) * time.Millisecond)
			s.raw(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"error":{"code":-32001,"message":"no"}}`)
		}()
	case "big":
		s.text(m.ID, strings.Repeat("x", args.N), false)
	case "illegal":
		s.raw(`{"id":` + string(m.ID) + `,"result":{}}`)
	case "null":
		s.raw(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":null}`)
	case "nocode":
		s.raw(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"error":"no"}`)
	case "greeting":
		s.raw("Server running on stdio")
		s.text(m.ID, "hello", false)
	case "elicit":
		s.mu.Lock()
		s.waiting[`"q1"`] = m.ID
		s.mu.Unlock()
		s.raw(`{"jsonrpc":"2.0","id":"q1","method":"elicitation/create","params":{"message":"name?", "odd" : null}}`)
	case "hologram":
		s.result(m.ID, `{"content":[{"type":"hologram","shows":"`+os.Getenv("TEST_API_KEY")+`"}],"isError":true}`)
	case "odd_question":
		s.mu.Lock()
		s.waiting[`"q3"`] = m.ID
		s.mu.Unlock()
		s.raw(`{"id":"q3","method":"roots/list"}`)
	case "elicit_alone": // takes the next line for the answer
		s.raw(`{"jsonrpc":"2.0","id":"q4","method":"elicitation/create","params":{"message":"name?"}}`)
		line, _ := s.in.ReadString('\n')
		s.text(m.ID, "next was "+line, false)
	case "forget":
		s.raw(`{"jsonrpc":"2.0","id":"q2","method":"elicitation/create","params":{"message":"name?"}}`)
		s.raw(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"q2"}}`)
		s.text(m.ID, "done", false)
	case "progress", "progress_failure", "progress_task":
		progress := func(token string) {
			s.raw(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":` + token + `,"progress":1}}`)
		}
		progress(`"t"`)
		progress(`"nobody's"`)
		if p.Name == "progress_task" {
			s.result(m.ID, `{"task":{"taskId":"1","status":"working"}}`)
		} else {
			s.text(m.ID, "done", p.Name == "progress_failure")
		}
		progress(`"t"`)
		s.raw(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"the last"}}`)
	case "after":
		s.text(m.ID, "done", false)
		s.raw(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
	default:
		s.text(m.ID, "Tool "+p.Name+" not found", true)
	}
}
