package config

import (
	"fmt"
	"net/netip"
)

// Proxies returns the networks of the trusted proxies.
func (c *Config) Proxies() ([]netip.Prefix, error) {
	var all []netip.Prefix
	for _, text := range c.TrustedProxies {
		network, err := netip.ParsePrefix(text)
		if at, bad := netip.ParseAddr(text); bad == nil {
			at = at.Unmap().WithZone("")
			network, err = at.Prefix(at.BitLen())
		}
		if err != nil {
			return nil, fmt.Errorf("\"trusted_proxies\": %q is neither an address nor a network, such as \"10.0.0.0/8\"", text)
		}
		all = append(all, network)
	}
	return all, nil
}
