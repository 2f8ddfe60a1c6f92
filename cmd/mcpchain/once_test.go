//go:build unix

package main

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/rpc"
)

// A forgetful server carries calls out, counts them, and answers as it is told to.
type forgetful struct {
	mu       sync.Mutex
	sessions int
	dead     map[string]bool                                              // sessions
	calls    map[string]int                                               // that were carried out, by their arguments
	answers  func(w http.ResponseWriter, r *http.Request, m *rpc.Message) // a call; guarded, too
}

func (f *forgetful) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	m, err := rpc.Read(body)
	if err != nil { // GET, DELETE
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	session := r.Header.Get("Mcp-Session-Id")
	w.Header().Set("Content-Type", "application/json")
	switch {
	case m.Method == "initialize":
		f.sessions++
		w.Header().Set("Mcp-Session-Id", fmt.Sprint(f.sessions))
		f.result(w, m, `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"forgetful","version":"1"}}`)
	case f.dead[session] && m.Method != "tools/call":
		w.WriteHeader(http.StatusNotFound)
	case m.Method == "tools/list":
		f.result(w, m, `{"tools":[{"name":"write","inputSchema":{"type":"object"}},{"name":"configured","inputSchema":{"type":"object"}},{"name":"look","annotations":{"readOnlyHint":true},"inputSchema":{"type":"object"}}]}`)
	case m.Method == "tools/call":
		f.calls[m.Text("params", "name")+string(m.Value("params", "arguments"))]++
		f.answers(w, r, m)
	case m.IsRequest():
		f.result(w, m, `{}`)
	default:
		w.WriteHeader(http.StatusAccepted)
	}
}

func (f *forgetful) result(w http.ResponseWriter, m *rpc.Message, result string) {
	_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":`+result+`}`)
}

// loses ends the session of a request, and says so.
func (f *forgetful) loses(w http.ResponseWriter, r *http.Request, status int) {
	f.dead[r.Header.Get("Mcp-Session-Id")] = true
	w.WriteHeader(status)
}

// times returns how often a call was carried out.
func (f *forgetful) times(tool string, n int) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[tool+fmt.Sprintf(`{"n":%d}`, n)]
}

const lostWords = "The session was lost; it is not known whether this call took effect."

// A call that may change something is carried out at most once, whatever the server says of its session. One that
// only reads is sent once more, in the next session.
func TestAWriteIsSentOnce(t *testing.T) {
	for name, one := range map[string]struct {
		answers func(f *forgetful, w http.ResponseWriter, r *http.Request, m *rpc.Message)
		writes  []string // what is said of a write
		unsaid  string
		reads   []string // what is said of a read
		twice   bool     // a read is carried out twice
		args    []string
	}{
		"404 once in a session": {
			answers: func(f *forgetful, w http.ResponseWriter, r *http.Request, m *rpc.Message) {
				if f.calls[m.Text("params", "name")+string(m.Value("params", "arguments"))] == 1 {
					f.loses(w, r, http.StatusNotFound)
					return
				}
				f.result(w, m, `{"content":[{"type":"text","text":"done"}]}`)
			},
			writes: []string{lostWords, "Retry: no, unless you see that it did not take effect."}, unsaid: "Nothing was changed",
			reads: []string{"done"}, twice: true,
		},
		"404 of a session that is there": {
			answers: func(_ *forgetful, w http.ResponseWriter, _ *http.Request, _ *rpc.Message) {
				w.WriteHeader(http.StatusNotFound)
			},
			writes: []string{"404 Not Found, and not with the answer to the request", "Retry: no, unless you see that it did not take effect."}, unsaid: "Nothing was changed",
			reads: []string{"404 Not Found, and not with the answer to the request"},
		},
		"404 with the server's own error": {
			answers: func(_ *forgetful, w http.ResponseWriter, _ *http.Request, m *rpc.Message) {
				w.WriteHeader(http.StatusNotFound)
				_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":`+string(m.ID)+`,"error":{"code":-32001,"message":"words of the server"}}`)
			},
			writes: []string{"words of the server"}, unsaid: "session", reads: []string{"words of the server"},
		},
		"an end of the connection": {
			answers: func(_ *forgetful, w http.ResponseWriter, _ *http.Request, _ *rpc.Message) {
				if conn, _, err := w.(http.Hijacker).Hijack(); err == nil {
					_ = conn.Close()
				}
			},
			writes: []string{"broke before the answer came", "Retry: no, unless you see that it did not take effect."}, unsaid: "Nothing was changed",
			reads: []string{"broke before the answer came"}, args: []string{"-header", "Idempotency-Key: k", "-header", "X-Idempotency-Key: k"},
		},
		"a redirect": {
			answers: func(_ *forgetful, w http.ResponseWriter, r *http.Request, _ *rpc.Message) {
				http.Redirect(w, r, "/again", http.StatusTemporaryRedirect)
			},
			writes: []string{"a redirect to another place of the same server"}, unsaid: "session", reads: []string{"a redirect to another place"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &forgetful{dead: map[string]bool{}, calls: map[string]int{}}
			f.answers = func(w http.ResponseWriter, r *http.Request, m *rpc.Message) { one.answers(f, w, r, m) }
			s, log := reach(t, "2025-11-25", serveWeb(t, f).URL, &mcp.ClientOptions{}, append([]string{"-reads", "configured"}, one.args...)...)
			_, err := s.ListTools(t.Context(), nil)
			require.NoError(t, err)
			for n, tools := range [][]string{{"write", "look"}, {"write", "configured"}} {
				for _, tool := range tools {
					want, most := one.writes, 1
					if tool != "write" {
						want = one.reads
						if one.twice {
							most = 2
						}
					}
					res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: map[string]int{"n": n}})
					said := fmt.Sprint(err)
					if err == nil {
						said = text(t, res)
					}
					for _, words := range want {
						require.Contains(t, said, words, "%s %s", tool, log)
					}
					if tool == "write" {
						require.NotContains(t, said, one.unsaid)
					}
					require.Equal(t, most, f.times(tool, n), "%s %s", tool, log)
				}
			}
			require.Equal(t, f.sessions > 1, strings.Contains(log.String(), "is begun anew"), log)
		})
	}
}
