//go:build unix

package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/rpc"
)

// A guarded server takes some tokens only, answers a call with the one that came with it, and notes all.
type guarded struct {
	mu       sync.Mutex
	takes    map[string]bool
	sessions int
	lost     string              // a session
	seen     map[string][]string // the tokens by the methods
}

func (g *guarded) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	method, who := r.Method, r.Header.Get("Authorization")
	m, err := rpc.Read(body)
	if err == nil {
		method = m.Method
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.seen[method] = append(g.seen[method], who)
	result := `{}`
	switch session := r.Header.Get("Mcp-Session-Id"); {
	case !g.takes[who]:
		w.WriteHeader(http.StatusUnauthorized)
		return
	case session != "" && session == g.lost:
		w.WriteHeader(http.StatusNotFound)
		return
	case err != nil:
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	case !m.IsRequest():
		w.WriteHeader(http.StatusAccepted)
		return
	case method == "initialize":
		g.sessions++
		w.Header().Set("Mcp-Session-Id", fmt.Sprint(g.sessions))
		result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"guarded","version":"1"}}`
	case method == "tools/list":
		result = `{"tools":[{"name":"whoami","annotations":{"readOnlyHint":true},"inputSchema":{"type":"object"}}]}`
	case method == "tools/call":
		result = fmt.Sprintf(`{"content":[{"type":"text","text":%q}],"isError":%v}`, who, strings.Contains(string(m.Params), "fail"))
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":`+result+`}`)
}

// guard returns the program in front of a guarded server, and a session that one token has begun.
func guard(t *testing.T, g *guarded) (url, session string) {
	t.Helper()
	g.seen = map[string][]string{}
	cmd := exec.Command(os.Args[0], "run", "-http", "127.0.0.1:0", "-to", serveWeb(t, g).URL, "-pass-authorization")
	log := &stderr{}
	cmd.Env, cmd.Stderr = append(cmd.Environ(), "MCPCHAIN_TEST=1"), log
	url = started(t, cmd, log)
	res, body := posted(t, url, map[string]string{"Authorization": "ada"}, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	require.Equal(t, http.StatusOK, res.status, body)
	session = res.header.Get("Mcp-Session-Id")
	posted(t, url, map[string]string{"Authorization": "ada", "Mcp-Session-Id": session}, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return url, session
}

// Of many calls of two tokens in one session each goes out with its own.
func TestEachCallHasItsOwnToken(t *testing.T) {
	g := &guarded{takes: map[string]bool{"ada": true, "bob": true}}
	url, session := guard(t, g)
	callers := []string{"ada", "bob"}
	var wait sync.WaitGroup
	for i := range 360 {
		wait.Go(func() {
			who, name := callers[i%2], []string{"whoami", "fail"}[i/2%2]
			_, body := posted(t, url, map[string]string{"Authorization": who, "Mcp-Session-Id": session}, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q}}`, i+1, name))
			if !strings.Contains(body, who) || strings.Contains(body, callers[1-i%2]) {
				t.Errorf("%s got %s", who, body)
			}
		})
	}
	wait.Wait()
	g.mu.Lock()
	defer g.mu.Unlock()
	for method, tokens := range g.seen {
		require.NotContains(t, tokens, "", method)
	}
}

// A session that is begun anew has the token that was renewed within it, not the one that has expired.
func TestASessionIsBegunAnewWithTheRenewedToken(t *testing.T) {
	g := &guarded{takes: map[string]bool{"ada": true}}
	url, session := guard(t, g)
	ask := func(id int, who string) (int, string) {
		res, body := posted(t, url, map[string]string{"Authorization": who, "Mcp-Session-Id": session}, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"whoami"}}`, id))
		return res.status, body
	}
	g.mu.Lock()
	g.takes = map[string]bool{"renewed": true}
	g.mu.Unlock()
	_, body := ask(1, "renewed")
	require.Contains(t, body, `"renewed"`)
	posted(t, url, map[string]string{"Authorization": "renewed", "Mcp-Session-Id": session}, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
	g.mu.Lock()
	g.lost, g.seen = "1", map[string][]string{}
	g.mu.Unlock()
	_, body = ask(3, "renewed") // it reads
	require.Contains(t, body, `"renewed"`)
	g.mu.Lock()
	defer g.mu.Unlock()
	require.Equal(t, []string{"renewed"}, g.seen["initialize"])
	require.Equal(t, []string{"renewed", "renewed"}, g.seen["tools/call"])
}
