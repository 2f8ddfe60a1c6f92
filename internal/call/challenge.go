package call

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/failure"
	"github.com/mcpchain/mcpchain/internal/safe"
)

// challenge reports whether the answer is a challenge over HTTP (RFC 6750): the client signs in and
// sends the call again. So it is one only if that helps and does no harm. Its body is a protocol
// error, because a client that cannot sign in reads no result from an answer with that status:
// go-sdk's ends its session over one.
func (c *Call) challenge(f *failure.Failure) bool {
	if !c.exchange.Signs() {
		return false
	}
	kind, scopes, ok := f.Credentials()
	if !ok || !f.Repeats(func() failure.Safety { return c.Safety(nil) }) {
		return false
	}
	status := http.StatusUnauthorized
	if kind == fault.KindPermissionDenied {
		status = http.StatusForbidden
		if olderThan20260728(c.req) {
			scopes = c.granted(scopes)
		}
	}
	return c.exchange.Challenge(status, strings.Join(scopes, " "))
}

// maxGranted is how many scopes of a token are repeated.
const maxGranted = 64

// granted returns the scopes together with those that the caller's token has: before 2026-07-28 a
// client asks for what the challenge names, and would lose the others.
func (c *Call) granted(scopes []string) []string {
	if safe.Nil(c.req) {
		return scopes
	}
	extra := c.req.GetExtra()
	if extra == nil || extra.TokenInfo == nil || len(extra.TokenInfo.Scopes) > maxGranted {
		return scopes
	}
	all := slices.Clone(extra.TokenInfo.Scopes)
	all = slices.DeleteFunc(all, func(scope string) bool { return !failure.IsScope(scope) || slices.Contains(scopes, scope) })
	return append(all, scopes...)
}

// later tells the transport of a failure that passes, for a host that answers it with a status.
func (c *Call) later(f *failure.Failure) {
	if c.exchange == nil {
		return
	}
	var status int
	e := f.Fault()
	switch e.Kind() {
	case fault.KindRateLimited:
		status = http.StatusTooManyRequests
	case fault.KindServiceUnavailable:
		status = http.StatusServiceUnavailable
	default:
		return
	}
	retry, said := e.Retry()
	if !said || !retry.ShouldRetry { // a client of HTTP sends the call again by itself
		return
	}
	c.exchange.Later(status, time.Duration(min(retry.RetryAfterSeconds, maxAfter)*float64(time.Second)))
}

// maxAfter is the longest wait in seconds that a header says: 30 days, the same bound as for hints.
const maxAfter = 30 * 24 * 3600
