//go:build unix

package main

import (
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

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
