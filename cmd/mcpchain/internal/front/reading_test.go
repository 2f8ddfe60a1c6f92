package front

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/rpc"
)

// No message of a client answers, ends or follows the call of another one that shares its server.
func TestNoMessageIsAboutOthers(t *testing.T) {
	var mu sync.Mutex
	var lines []string
	ids, tokens := map[string]bool{}, map[string]bool{}
	until := make(chan struct{})
	began := make(chan *rpc.Message, 1)
	w := newWorld(t, func(f *fake, m *rpc.Message) {
		mu.Lock()
		lines = append(lines, string(m.Line))
		if m.ID != nil {
			ids[string(m.ID)] = true
		}
		if token := m.Token(); token != nil {
			tokens[string(token)] = true
		}
		mu.Unlock()
		switch {
		case f.usual(m):
		case m.Method == "tools/list":
			f.answer(m, `{"tools":[]}`)
		case strings.Contains(string(m.Params), `"victim"`):
			go func() {
				began <- m
				<-until
				f.answer(m, `{"of":"victim"}`)
			}()
		default:
			f.answer(m, `{"of":"attacker"}`)
		}
	}, nil)
	send := func(line string) (int, string) {
		res := w.do(t.Context(), http.MethodPost, line, versionHeader, modern, "Mcp-Method", "tools/call", "Mcp-Name", "t")
		return res.StatusCode, all(t, res)
	}
	call := func(id, params string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"t",` + params + strings.Replace(about, `{`, `{"progressToken":"mine",`, 1) + `}}`
	}
	answered := make(chan string, 1)
	go func() {
		_, body := send(call("1", `"arguments":{"of":"victim"},`))
		answered <- body
	}()
	victim := <-began
	id := string(victim.ID)

	for _, line := range []string{
		strings.Replace(call("1", ""), `"method"`, `"id":`+id+`,"method"`, 1),
		strings.Replace(call("1", ""), `"method"`, `"ID":`+id+`,"method"`, 1),
		strings.Replace(call("1", ""), `"method"`, `"\u0069d":`+id+`,"method"`, 1),
		strings.Replace(call("1", ""), `"progressToken":"mine"`, `"progressToken":"mine","progressToken":`+string(victim.Token()), 1),
		strings.Replace(call("1", ""), `"progressToken":"mine"`, `"progressToken":"mine","ProgressToken":`+string(victim.Token()), 1),
		`{"jsonrpc":"2.0","id":2,"method":"notifications/cancelled","params":{"requestId":` + id + `,` + about + `}}`,
		`{"jsonrpc":"2.0","id":` + id + `,"result":{"of":"attacker"},"method":"tools/call"}`,
		"{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{\"name\":\"t\xff\"," + about + "}}",
	} {
		status, body := send(line)
		require.Equal(t, http.StatusBadRequest, status, "%s %s", line, body)
		require.Contains(t, body, `-32600`, line)
	}
	for _, line := range []string{ // which need no answer
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `,` + about + `}}`,
		`{"jsonrpc":"2.0","id":` + id + `,"result":{"of":"attacker"}}`,
	} {
		res := w.do(t.Context(), http.MethodPost, line, versionHeader, modern, "Mcp-Method", "notifications/cancelled")
		_ = all(t, res)
	}
	// One that guesses the IDs of this program gets an ID of its own.
	status, body := send(call(id, ""))
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, body, `"id":`+id)
	require.Contains(t, body, "attacker")
	close(until)
	require.Contains(t, <-answered, `"of":"victim"`)

	mu.Lock()
	defer mu.Unlock()
	for line := range ids {
		var n int64
		require.NoError(t, json.Unmarshal([]byte(line), &n), line)
		require.True(t, n >= 0 && n < 1<<31, line)
	}
	require.NotContains(t, tokens, `"mine"`)
	require.Len(t, tokens, 2)
	for token := range tokens {
		require.GreaterOrEqual(t, len(token), len(`""`)+26)
	}
	for _, line := range lines {
		require.NotContains(t, line, "notifications/cancelled")
		require.NotContains(t, line, "\xff")
	}
}

// CR between the tokens of an answer would end the line of its event, and CR or LF in a body that of its message.
func TestBreaksInMessages(t *testing.T) {
	var got string
	w := newWorld(t, func(f *fake, m *rpc.Message) {
		if f.usual(m) {
			return
		}
		got = string(m.Line)
		f.say("{\"jsonrpc\":\"2.0\",\r\"id\":" + string(m.ID) + ",\"result\":\r\n{\"a\":\"\\r\"}}\r")
	}, nil)
	mine := w.begin("2025-11-25")
	body := "{\"jsonrpc\":\"2.0\",\r\n\"id\":1,\"method\":\"tools/call\",\n\"params\":{\"name\":\"t\",\"arguments\":\r{}}}\r\n"
	res := w.do(t.Context(), http.MethodPost, body, sessionHeader, mine, "Accept", "text/event-stream")
	events := eventsOf(res)
	for {
		_, data := events.next(t)
		if data == "" { // the priming event
			continue
		}
		require.JSONEq(t, `{"jsonrpc":"2.0","id":1,"result":{"a":"\r"}}`, data)
		break
	}
	require.Equal(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{}}}`, got)
}
