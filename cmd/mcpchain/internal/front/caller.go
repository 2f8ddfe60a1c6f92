package front

import (
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/auth"
)

// callerOf tells callers apart by their credentials, nil if they have none. The credentials are not verified here:
// invented ones match no other caller's.
func callerOf(header http.Header) *auth.TokenInfo {
	if name := nameOf(header.Get("Authorization")); name != "" {
		return &auth.TokenInfo{UserID: "credentials " + name}
	}
	return nil
}

// nameOf returns a name for credentials that does not reveal them, "" if there are none.
func nameOf(authorization string) string {
	if authorization == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(authorization))
	return hex.EncodeToString(sum[:16])
}

// Caller names the caller for the bounds: the principal, if the server has accepted its credentials before, else the
// address. Invented credentials have the bounds of their address.
func (f *Front) Caller(req *http.Request) string {
	if name := nameOf(req.Header.Get("Authorization")); name != "" {
		if _, ok := f.accepted.Get(name); ok {
			return principal(name)
		}
	}
	return f.address(req)
}

func principal(name string) string { return "credentials " + name }

// purse returns the purse of a request's caller.
func (f *Front) purse(req *http.Request) purse { return purse{f.accounts, f.Caller(req)} }

// address returns the part of a client's address that it does not choose itself. Of a request of a trusted proxy it
// is the last one in X-Forwarded-For that is not a trusted proxy's: what stands before it may be invented.
func (f *Front) address(req *http.Request) string {
	at, ok := parsed(req.RemoteAddr)
	if !ok { // such as a socket of Unix
		return "address " + req.RemoteAddr
	}
	hops := strings.Split(strings.Join(req.Header.Values("X-Forwarded-For"), ","), ",")
	if hops[0] != "" && !f.trusts(at) {
		f.unbelieved.Do(func() {
			f.Logger.WarnContext(req.Context(), "the header X-Forwarded-For is not believed: if a proxy of yours sends it, name its address with -trusted-proxies", slog.String("from", at.String()))
		})
	}
	for _, hop := range slices.Backward(hops) {
		if !f.trusts(at) {
			break
		}
		before, ok := parsed(strings.TrimSpace(hop))
		if !ok {
			break
		}
		at = before
	}
	if at.Is6() { // a client has all addresses of its network
		network, _ := at.Prefix(64)
		return "address " + network.String()
	}
	return "address " + at.String()
}

func (f *Front) trusts(at netip.Addr) bool {
	return slices.ContainsFunc(f.Proxies, func(p netip.Prefix) bool { return p.Contains(at) })
}

// parsed reads an address, with a port or without.
func parsed(address string) (netip.Addr, bool) {
	if host, _, err := net.SplitHostPort(address); err == nil {
		address = host
	}
	at, err := netip.ParseAddr(strings.Trim(address, "[]"))
	return at.Unmap().WithZone(""), err == nil
}
