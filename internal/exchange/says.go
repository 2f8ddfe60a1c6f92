package exchange

import (
	"strings"
	"time"
)

// Says holds what the header of an answer says.
type Says struct {
	// Challenge is the status that asks the client to sign in (401) or to obtain more scopes
	// (403), and to send its call again; zero for none. Scope are the scopes that the call needs,
	// separated by blanks; "" if they are unknown.
	Challenge int
	Scope     string

	// Later is the status of a call that may be made again later (429, 503), for hosts whose
	// clients understand it; zero for none. After is when; zero if that is unknown.
	Later int
	After time.Duration

	// Policy and Limit are the values of RateLimit-Policy and RateLimit; "" for none.
	Policy, Limit string
}

// Batch notes that the POST holds several calls, so that its status can be that of none of them.
func (x *Exchange) Batch() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.batch = true
}

// Signs reports whether a challenge can reach the client: the POST holds one call and came with a
// bearer token, and the header of its answer has not been written. It is false for a nil Exchange.
func (x *Exchange) Signs() bool {
	if x == nil || !Bearer(x.header.Get("Authorization")) {
		return false
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.opened()
}

// Bearer reports whether the value of a header Authorization holds a bearer token.
func Bearer(authorization string) bool {
	scheme, token, _ := strings.Cut(strings.TrimSpace(authorization), " ")
	return strings.EqualFold(scheme, "bearer") && strings.TrimSpace(token) != ""
}

// opened reports whether the status can still be chosen. The caller holds the lock.
func (x *Exchange) opened() bool { return !x.fixed && !x.ended && !x.batch && x.front != nil }

// Challenge makes the answer a challenge. It reports whether it will be one.
func (x *Exchange) Challenge(status int, scope string) bool {
	return x.say(func(s *Says) { s.Challenge, s.Scope = status, scope })
}

// Later says that the call may be made again. It does nothing on a nil Exchange.
func (x *Exchange) Later(status int, after time.Duration) {
	x.say(func(s *Says) { s.Later, s.After = status, after })
}

// RateLimit sets the values of RateLimit-Policy and RateLimit. It does nothing on a nil Exchange.
func (x *Exchange) RateLimit(policy, limit string) {
	x.say(func(s *Says) { s.Policy, s.Limit = policy, limit })
}

func (x *Exchange) say(change func(*Says)) bool {
	if x == nil {
		return false
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.opened() {
		return false
	}
	if x.says == nil {
		x.says = &Says{}
	}
	change(x.says)
	return true
}

// Fix returns what the header of the answer says, nil for nothing. The header is written now, so later
// changes have no effect.
func (x *Exchange) Fix() *Says {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.fixed = true
	return x.says
}
