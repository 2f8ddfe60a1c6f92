//go:build unix

package main

import (
	"bufio"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

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
