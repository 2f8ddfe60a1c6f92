package front

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/mcpchain/mcpchain/internal/table"
	"github.com/mcpchain/mcpchain/transport"
)

// A thing is what callers hold of the program. It has a bound for each caller, and one for all.
type thing int

const (
	sessions      thing = iota // whose servers run
	calls                      // that run
	subscriptions              // of clients: each, and each KiB of its URIs
	asked                      // what a shared server keeps of those, also for clients that have gone
	bodies                     // bytes of requests that are not answered
	waiting                    // bytes of what clients have not read
	kept                       // bytes of what clients may read again
	things
)

func (t thing) String() string {
	return [things]string{
		"sessions", "calls", "subscriptions and URIs", "subscriptions and URIs of the server", "bytes of requests",
		"bytes of answers that wait to be read", "bytes of answers that are kept",
	}[t]
}

// leastEach is how much a caller may have at least of a thing that is counted by few, if one is left to others. The
// only user of a machine needs more than a half of little.
const leastEach = 10

// fewForAll is how much of a thing is so little that it is for one user alone.
const fewForAll = 3

// accounts are what all callers hold.
type accounts [things]table.Quota

// newAccounts returns the accounts of a Front. A caller may have a half of what all may. So a caller that is alone
// has enough, and none can take what others need.
func newAccounts(o *Options) *accounts {
	a := &accounts{}
	of := func(t thing, all int64) {
		if a[t].All = all; all > fewForAll {
			a[t].Each = min(all-1, max(leastEach, all/2))
		}
	}
	of(sessions, int64(o.Sessions))
	of(calls, 20_000)
	of(subscriptions, 10_000)
	of(asked, 20_000)
	of(bodies, max(64<<20, 4*int64(o.Proxy.MaxRequest)))
	of(waiting, max(128<<20, 8*int64(o.Proxy.MaxAnswer)))
	of(kept, max(64<<20, 4*int64(o.Proxy.MaxAnswer)))
	return a
}

// Bounds returns those of the handler outside, which reads the bodies.
func (f *Front) Bounds() transport.Bounds {
	return transport.Bounds{
		BodyBytes: int64(f.Proxy.MaxRequest), CallerBytes: f.accounts[bodies].Each, AllBytes: f.accounts[bodies].All, Caller: f.Caller,
	}
}

// A boundError says which bound refuses something.
type boundError struct {
	thing    thing
	exceeded *table.ExceededError
}

func (e *boundError) Error() string {
	return fmt.Sprintf("there are as many %s as may be for %s (%d)", e.thing, e.exceeded.Whose(), e.exceeded.Most)
}

// noPlace returns the status and the first words for what finds no place: whether its caller has too much, or all have.
func noPlace(err error) (status int, label string) {
	if bound, ok := errors.AsType[*boundError](err); ok && bound.exceeded.Each {
		return http.StatusTooManyRequests, "Rate limited: "
	}
	return http.StatusServiceUnavailable, "Service unavailable: "
}

// A purse is what one caller holds. The zero value, for the program itself, counts nothing.
type purse struct {
	accounts *accounts
	caller   string // "" for an unknown one: only the bounds of all hold
}

// take counts n more of a thing, or returns a *[boundError] and counts nothing.
func (p purse) take(t thing, n int) error {
	if p.accounts == nil {
		return nil
	}
	if exceeded := p.accounts[t].Take(p.caller, int64(n)); exceeded != nil {
		return &boundError{t, exceeded}
	}
	return nil
}

// put counts n more of what is there already.
func (p purse) put(t thing, n int) {
	if p.accounts != nil {
		p.accounts[t].Put(p.caller, int64(n))
	}
}

func (p purse) give(t thing, n int) { p.put(t, -n) }
