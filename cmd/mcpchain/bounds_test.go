//go:build unix

package main

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// Strangers who send much at once, or begin many sessions, find their bounds, and somebody else finds a place.
func TestStrangersOverHTTP(t *testing.T) {
	url, _, _ := overHTTP(t, "-sessions", "20", "-trusted-proxies", "127.0.0.1")
	send := func(address, body string) (status int, answer string) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
		require.NoError(t, err)
		req.Header = http.Header{"Accept": {"application/json, text/event-stream"}, "Content-Type": {"application/json"}, "X-Forwarded-For": {"198.51.100.1, " + address}}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return 0, "" // it was refused before all of it was sent
		}
		defer res.Body.Close()
		raw, _ := io.ReadAll(res.Body)
		return res.StatusCode, string(raw)
	}
	const begin = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	for range 10 {
		status, answer := send("192.0.2.1", begin)
		require.Equal(t, http.StatusOK, status, answer)
	}
	status, answer := send("192.0.2.1", begin)
	require.Equal(t, http.StatusTooManyRequests, status)
	require.Contains(t, answer, "there are as many sessions as may be for each caller (10)")
	status, answer = send("192.0.2.2", begin)
	require.Equal(t, http.StatusOK, status, answer)

	large := strings.Replace(begin, `"t"`, `"`+strings.Repeat("t", 9<<20-1000)+`"`, 1)
	var wait sync.WaitGroup
	statuses := make(chan int, 40)
	for range 40 {
		wait.Go(func() {
			status, _ := send("192.0.2.1", large)
			statuses <- status
		})
	}
	wait.Wait()
	close(statuses)
	for status := range statuses {
		require.NotEqual(t, http.StatusOK, status, "it has its sessions")
		require.NotEqual(t, http.StatusServiceUnavailable, status, "no other caller is held up")
	}
}
