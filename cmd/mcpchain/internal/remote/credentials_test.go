package remote

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/rpc"
)

// Each request has the credentials of the message that caused it.
func TestCredentialsOfAMessage(t *testing.T) {
	streams, ends := make(chan string, 10), make(chan string, 10)
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		who := r.Header.Get("Authorization")
		switch {
		case r.Method == http.MethodGet:
			streams <- who
			events(w, ":\n\n")
			<-r.Context().Done()
		case r.Method == http.MethodDelete:
			ends <- who
		case who == "stranger":
			w.WriteHeader(http.StatusUnauthorized)
		case strings.Contains(string(body), "initialize\""):
			w.Header().Set("Mcp-Session-Id", "s")
			answerJSON(w, 200, `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25"}}`)
		case strings.Contains(string(body), `"id"`):
			answerJSON(w, 200, `{"jsonrpc":"2.0","id":`+idOf(body)+`,"result":"`+who+`"}`)
		default:
			w.WriteHeader(http.StatusAccepted)
		}
	})
	s := begin(t, url)
	var mu sync.Mutex
	accepted := map[string]int{}
	s.accepted = func(authorization string) {
		mu.Lock()
		defer mu.Unlock()
		accepted[authorization]++
	}
	say := func(line, who string) {
		m, err := rpc.Read([]byte(line))
		require.NoError(t, err)
		m.Authorization = who
		require.NoError(t, s.Write(m))
	}
	say(hi, "ada")
	s.line()
	say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, "ada")
	require.Equal(t, "ada", <-streams)
	const calls = 360
	callers := []string{"ada", "bob"}
	for i := range calls {
		say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"x"}}`, i), callers[i%2])
	}
	for range calls {
		m, err := rpc.Read([]byte(s.line()))
		require.NoError(t, err)
		n, err := strconv.Atoi(string(m.ID))
		require.NoError(t, err)
		require.Equal(t, callers[n%2], m.Text("result"))
	}
	say(ping, "stranger")
	require.ErrorContains(t, s.failure(), "401 Unauthorized")
	say(ping, "") // it has none of its own, and gets nobody else's
	require.Contains(t, s.line(), canary)
	say(ping, "bob")
	require.Contains(t, s.line(), "bob")
	mu.Lock()
	require.Equal(t, map[string]int{"ada": 2 + calls/2, "bob": 1 + calls/2, "": 1}, accepted)
	mu.Unlock()
	s.Stop(time.Minute)
	require.Equal(t, "bob", <-ends, "those that the server has last accepted")
}
