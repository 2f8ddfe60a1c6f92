//go:build unix

package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"
)

// Two of these programs that share a Redis count together, and answer a call with a key once.
func TestReplicas(t *testing.T) {
	redis := miniredis.RunT(t)
	redis.RequireUserAuth("app", "redis-password-1")
	args := []string{"-keys", "-rate-each", "3", "-redis", "redis://app:redis-password-1@" + redis.Addr()}
	one, _, log := overHTTP(t, args...)
	two, _, _ := overHTTP(t, args...)
	call := func(url, token, key string) string {
		meta := `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}`
		if key != "" {
			meta += `,"io.github.mcpchain/idempotency_key":"` + key + `"`
		}
		_, body := posted(t, url, map[string]string{"Authorization": "Bearer " + token, "Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "pid"},
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"pid","_meta":{`+meta+`}}}`)
		return body
	}
	first := call(one, "ann", "a-key-of-hers")
	require.Contains(t, first, `"pid"`)
	other := call(two, "bob", "a-key-of-hers")
	require.NotEqual(t, pidOf(t, first), pidOf(t, other), "the key of another caller is another key")
	require.Equal(t, pidOf(t, first), pidOf(t, call(two, "ann", "a-key-of-hers")), "the answer of the other program")
	for range 3 {
		first = call(one, "cid", "") + call(two, "cid", "")
	}
	require.Contains(t, first, "Rate limited")

	redis.Close()
	require.Contains(t, call(one, "ann", "another-key"), "Service unavailable")
	require.NotContains(t, log.String(), "redis-password-1")
}

func pidOf(t *testing.T, body string) string {
	t.Helper()
	_, after, found := strings.Cut(body, `"structuredContent":`)
	require.True(t, found, body)
	value, _, _ := strings.Cut(after, "}")
	return value
}

// Spans and measurements go to where the variables of OpenTelemetry say.
func TestTelemetry(t *testing.T) {
	var mu sync.Mutex
	got := map[string]string{}
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		got[r.URL.Path] += string(body)
	}))
	t.Cleanup(collector.Close)
	cmd, log := program(t, "run", "-otel")
	cmd.Env = append(cmd.Env, "OTEL_EXPORTER_OTLP_ENDPOINT="+collector.URL, "OTEL_SERVICE_NAME=a-server-behind")
	s := session(t, "2025-11-25", cmd)
	require.True(t, called(t, s, "divide", map[string]any{"a": "six"}).IsError)
	require.NoError(t, s.Close())
	require.Eventually(t, func() bool {
		mu.Lock()
		defer mu.Unlock()
		return strings.Contains(got["/v1/traces"], "tools/call divide") && strings.Contains(got["/v1/metrics"], "mcp.server.operation.duration") &&
			strings.Contains(got["/v1/traces"], "a-server-behind")
	}, 10*time.Second, 10*time.Millisecond, log)
}
