package transport

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAddress: what of an address stands for a caller.
func TestAddress(t *testing.T) {
	for remote, want := range map[string]string{
		"192.0.2.1:1":                "192.0.2.1",
		"192.0.2.1":                  "192.0.2.1", // as handlers that read a proxy's header leave it
		"[::ffff:192.0.2.1]:1":       "192.0.2.1",
		"[2001:db8:1:2:3:4:5:6]:1":   "2001:db8:1:2::/64",
		"2001:db8:1:2::1":            "2001:db8:1:2::/64",
		"[2001:db8:1:2::1%eth0]:443": "2001:db8:1:2::/64",
		"127.0.0.1:1":                "",
		"[::1]:1":                    "",
		"10.1.2.3:1":                 "",
		"192.168.1.1:1":              "",
		"[fd00::1]:1":                "",
		"[fe80::1%eth0]:1":           "",
		"0.0.0.0:1":                  "",
		"@":                          "", // a socket of Unix
		"":                           "",
	} {
		require.Equal(t, want, address(remote), remote)
	}
}

// TestTurnstile forgets callers without streams.
func TestTurnstile(t *testing.T) {
	s := &turnstile{most: 1}
	leave, ok := s.enter("a")
	require.True(t, ok)
	_, ok = s.enter("a")
	require.False(t, ok)
	_, ok = s.enter("b")
	require.True(t, ok)
	require.Len(t, s.open, 2)
	leave()
	require.Len(t, s.open, 1)
	for range 10 {
		_, ok = s.enter("")
		require.True(t, ok, "nobody")
	}
}
