//go:build unix

package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// Each of many calls is answered once when the server is killed, in both eras, and the next ones reach another.
func TestAServerIsKilledOverHTTP(t *testing.T) {
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			url, _, log := overHTTP(t)
			s := connected(t, url, version, nil)
			of := pid(t, s)
			const calls = 50
			answers := make(chan string, calls)
			for range calls {
				go func() {
					ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 20*time.Second)
					defer cancel()
					res, err := s.CallTool(ctx, &mcp.CallToolParams{Name: "wait"})
					if err != nil {
						answers <- err.Error()
						return
					}
					answers <- res.Content[0].(*mcp.TextContent).Text
				}()
			}
			require.Eventually(t, func() bool { return strings.Count(log.String(), "a call waits") == calls }, 20*time.Second, 5*time.Millisecond)
			require.NoError(t, syscall.Kill(of, syscall.SIGKILL))
			for range calls {
				require.Contains(t, <-answers, "the server ended (signal: killed)", log)
			}
			require.Contains(t, text(t, called(t, s, "divide", numbers{6, 3})), `"quotient":2`)
			require.NotEqual(t, of, pid(t, s))
		})
	}
}

// A session that ends in the middle of calls answers them, and leaves no process.
func TestASessionEndsInTheMiddleOfCalls(t *testing.T) {
	url, _, log := overHTTP(t)
	const initialize = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	res, _ := posted(t, url, nil, initialize)
	in := map[string]string{"Mcp-Session-Id": res.header.Get("Mcp-Session-Id"), "Mcp-Protocol-Version": "2025-11-25"}
	_, body := posted(t, url, in, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"pid"}}`)
	var of int
	_, number, _ := strings.Cut(body, `"structuredContent":`)
	_, err := fmt.Sscanf(number, `{"pid":%d`, &of)
	require.NoError(t, err, body)
	var answered atomic.Int64
	var wait sync.WaitGroup
	for n := range 20 {
		wait.Go(func() {
			_, body := posted(t, url, in, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"wait"}}`, n+10))
			if strings.Contains(body, `"error"`) || strings.Contains(body, `"isError":true`) {
				answered.Add(1)
			}
		})
	}
	require.Eventually(t, func() bool { return strings.Count(log.String(), "a call waits") == 20 }, 20*time.Second, 5*time.Millisecond)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, url, nil)
	require.NoError(t, err)
	req.Header.Set("Mcp-Session-Id", in["Mcp-Session-Id"])
	gone, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	require.NoError(t, gone.Body.Close())
	wait.Wait()
	require.EqualValues(t, 20, answered.Load(), log)
	require.Eventually(t, func() bool { return !alive(of) }, 5*time.Second, 10*time.Millisecond)
	res, _ = posted(t, url, in, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"pid"}}`)
	require.Equal(t, http.StatusNotFound, res.status)
}

// What is no request, or a strange one, harms nobody.
func TestHostileHTTP(t *testing.T) {
	url, _, log := overHTTP(t, "-max-request", "100000")
	s := connected(t, url, "2026-07-28", nil)
	address := strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/mcp")
	head := "POST /mcp HTTP/1.1\r\nHost: " + address + "\r\nContent-Type: application/json\r\nAccept: text/event-stream, application/json\r\n"
	for name, c := range map[string]struct{ send, want string }{
		"giant headers":         {head + "X: " + strings.Repeat("x", 1<<20) + "\r\n\r\n", "431"},
		"many headers":          {head + strings.Repeat("X: x\r\n", 100_000) + "\r\n", "431"},
		"a giant session":       {head + "Mcp-Session-Id: " + strings.Repeat("x", 100_000) + "\r\nContent-Length: 37\r\n\r\n" + `{"jsonrpc":"2.0","id":1,"method":"x"}`, "404"},
		"two lengths":           {head + "Content-Length: 1\r\nContent-Length: 2\r\n\r\n{}", "400"},
		"a length and chunks":   {head + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "400"},
		"a body that is no end": {head + "Transfer-Encoding: chunked\r\n\r\n" + strings.Repeat("10000\r\n"+strings.Repeat("x", 0x10000)+"\r\n", 4), "413"},
		"no HTTP":               {"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\r\n\r\n", "400"},
		"another method":        {"CONNECT /mcp HTTP/1.1\r\nHost: " + address + "\r\n\r\n", "405"},
		"an event of nobody":    {"GET /mcp HTTP/1.1\r\nHost: " + address + "\r\nAccept: text/event-stream\r\nLast-Event-ID: 1_0\r\n\r\n", "404"},
	} {
		conn, err := net.Dial("tcp", address)
		require.NoError(t, err)
		require.NoError(t, conn.SetDeadline(time.Now().Add(10*time.Second)))
		_, _ = io.WriteString(conn, c.send) // it may be answered before its end
		line, err := bufio.NewReader(conn).ReadString('\n')
		require.NoError(t, err, name)
		require.Contains(t, line, " "+c.want+" ", name)
		require.NoError(t, conn.Close())
	}
	for range 300 { // that never say anything, or stop in the middle
		conn, err := net.Dial("tcp", address)
		require.NoError(t, err)
		t.Cleanup(func() { _ = conn.Close() })
		_, err = io.WriteString(conn, head+"Content-Length: 1000\r\n\r\n{")
		require.NoError(t, err)
	}
	require.Contains(t, text(t, called(t, s, "divide", numbers{6, 3})), `"quotient":2`)
	require.NotContains(t, log.String(), "panic")
}

// A client that loses its connection while the program ends gets the answer when it comes back in time.
func TestResumedOverHTTP(t *testing.T) {
	url, cmd, log := overHTTP(t, "-drain", "5s")
	s := connected(t, url, "2025-11-25", nil)
	id := s.ID()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(`{"jsonrpc":"2.0","id":"mine","method":"tools/call","params":{"name":"late"}}`))
	require.NoError(t, err)
	req.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "Mcp-Session-Id": {id}, "Mcp-Protocol-Version": {"2025-11-25"}}
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	line, err := bufio.NewReader(res.Body).ReadString('\n')
	require.NoError(t, err)
	event, ok := strings.CutPrefix(strings.TrimSpace(line), "id: ")
	require.True(t, ok, line)
	require.NoError(t, res.Body.Close())
	back, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	back.Header = http.Header{"Accept": {"text/event-stream"}, "Mcp-Session-Id": {id}, "Last-Event-Id": {event}}
	res, err = http.DefaultClient.Do(back)
	require.NoError(t, err)
	defer res.Body.Close()
	require.Equal(t, http.StatusOK, res.StatusCode)
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	got, _ := io.ReadAll(res.Body)
	require.Contains(t, string(got), `"id":"mine"`, log)
	require.Contains(t, string(got), "late, but here")
}

// A connection on which nothing was ever sent does not hold up the end.
func TestConnectionsThatAreNotUsed(t *testing.T) {
	url, cmd, log := overHTTP(t)
	conn, err := net.Dial("tcp", strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/mcp"))
	require.NoError(t, err)
	defer conn.Close()
	s := connected(t, url, "2026-07-28", nil)
	require.NotZero(t, pid(t, s))
	require.NoError(t, s.Close())
	began := time.Now()
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(t, cmd.Wait(), log)
	require.Less(t, time.Since(began), 4*time.Second)
	require.NotContains(t, log.String(), "did not end")
}
