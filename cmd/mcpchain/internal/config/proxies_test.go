package config

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestProxies: an address is a network of one.
func TestProxies(t *testing.T) {
	c, err := Parse([]string{"-http", "127.0.0.1:0", "-trusted-proxies", "127.0.0.1, 10.0.0.0/8,::1,::ffff:192.0.2.1", "--", "x"})
	require.NoError(t, err)
	all, err := c.Proxies()
	require.NoError(t, err)
	require.Equal(t, []netip.Prefix{
		netip.MustParsePrefix("127.0.0.1/32"), netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("::1/128"), netip.MustParsePrefix("192.0.2.1/32"),
	}, all)
	_, err = Parse([]string{"-http", "127.0.0.1:0", "-trusted-proxies", "all", "--", "x"})
	require.EqualError(t, err, `"trusted_proxies": "all" is neither an address nor a network, such as "10.0.0.0/8"`)
	_, err = Parse([]string{"-trusted-proxies", "::1", "--", "x"})
	require.EqualError(t, err, `"trusted_proxies" is for "http": over stdio it would do nothing`)
}
