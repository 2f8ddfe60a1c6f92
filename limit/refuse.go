package limit

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/wire"
	"github.com/mcpchain/mcpchain/internal/words"
	"github.com/mcpchain/mcpchain/middleware"
)

// A refusal says why a call does not run.
type refusal struct {
	rule  *rule
	whose string
	why   reason
	wait  time.Duration // until its tokens are there
}

type reason uint8

const (
	others   reason = iota // other calls wait before it
	tooMany                // too many calls run
	noTokens               // no tokens are left
	never                  // it may never run
)

// newRefusal returns the refusal of a call that a bucket holds up.
func newRefusal(a *candidate, b *bucket, why reason, wait time.Duration) refusal {
	whose := whoseCalls(a, b.rule)
	if b.key == 0 && b.rule.Scope != ForAll { // the bucket of all calls for whose own bucket there is no room
		whose = "for all calls together that are not counted apart"
	}
	return refusal{rule: b.rule, whose: whose, why: why, wait: wait}
}

// whoseCalls says whose calls a limit counts, and for what.
func whoseCalls(a *candidate, r *rule) string {
	return [...]string{"for each caller", "for this " + what(a.method), "for each caller, of this " + what(a.method), "for all callers together"}[r.Scope]
}

// what returns the word for what a method calls.
func what(method string) string {
	switch method {
	case middleware.MethodCallTool:
		return "tool"
	case middleware.MethodReadResource:
		return "resource"
	case middleware.MethodGetPrompt:
		return "prompt"
	default:
		return "method"
	}
}

// refuse returns the refusal of the call of ctx as a fault. If the call came over HTTP, its answer
// gets the headers RateLimit and RateLimit-Policy.
func refuse(ctx context.Context, r refusal) error {
	retry := fault.Retry{ShouldRetry: true, Effect: fault.EffectNone}
	var message, instead string
	switch r.why {
	case never:
		message, instead = "no calls are allowed here", "Do without this call."
		retry.ShouldRetry, retry.Reason = false, "It will be refused again."
	case noTokens:
		message, instead = r.rule.rate(r.whose), "Make fewer calls."
		retry.RetryAfterSeconds = math.Ceil(r.wait.Seconds()*1000) / 1000
	default:
		message = "too many calls are waiting"
		if r.why == tooMany {
			message = fmt.Sprintf("at most %s may run at once %s", words.Plural(r.rule.Running, "call"), r.whose)
		}
		instead = "Call again when other calls have finished. Make fewer calls in parallel."
		retry.RetryAfterSeconds = 1 // it is unknown when a call will have finished
	}
	if c := call.FromContext(ctx); c != nil {
		c.Exchange().RateLimit(r.policy(), state(r.rule.Name, retry))
	}
	return fault.New(fault.KindRateLimited, message).WithCode(wire.LimitCode).
		Suggest(cmp.Or(r.rule.Instead, instead)).With(wire.LimitDetail, r.rule.Name).WithRetry(retry)
}

// units are the usual times of rates.
var units = []struct {
	span time.Duration
	name string
}{{time.Second, "a second"}, {time.Minute, "a minute"}, {time.Hour, "an hour"}, {24 * time.Hour, "a day"}}

// rate words a limit: "at most 60 calls in 1 min for each caller". If the burst is larger than the
// number, rate takes a longer time: "at most 1 call, 10 at once" would make no sense.
func (r *rule) rate(whose string) string {
	calls, in := r.Calls, "in "+span(r.Per)
	if r.Burst == r.Calls {
		return fmt.Sprintf("at most %s %s %s", words.Plural(calls, "call"), in, whose)
	}
	for _, unit := range units {
		if n := int(unit.span / r.interval); r.Burst > r.Calls && n >= r.Burst && unit.span%r.interval == 0 {
			calls, in = n, unit.name
			break
		}
	}
	return fmt.Sprintf("at most %s %s, %d at once, %s", words.Plural(calls, "call"), in, r.Burst, whose)
}

// span writes a time exactly.
func span(d time.Duration) string {
	switch {
	case d%time.Hour == 0:
		return strconv.FormatInt(int64(d/time.Hour), 10) + " h"
	case d%time.Minute == 0:
		return strconv.FormatInt(int64(d/time.Minute), 10) + " min"
	default:
		return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + " s"
	}
}

// SetHeader sets the headers Retry-After and RateLimit for a refusal of this package, as
// [middleware.FaultOf] returns it, for hosts that answer over HTTP themselves. Behind
// transport.HTTP every refusal gets RateLimit without it. SetHeader reports whether f is such
// a refusal; if not, it sets nothing.
func SetHeader(h http.Header, f *fault.Error) bool {
	d := f.Data()
	name, ok := d.Details[wire.LimitDetail].(string)
	if !ok || d.Code != wire.LimitCode || d.Retry == nil {
		return false
	}
	if d.Retry.ShouldRetry {
		h.Set("Retry-After", seconds(d.Retry.RetryAfterSeconds))
		h.Set("Ratelimit", state(name, *d.Retry))
	}
	return true
}

// state returns the value of the header RateLimit (draft-ietf-httpapi-ratelimit-headers-11) of
// a limit that is used up.
func state(name string, retry fault.Retry) string {
	if !retry.ShouldRetry {
		return quote(name) + ";r=0"
	}
	return quote(name) + ";r=0;t=" + seconds(retry.RetryAfterSeconds)
}

// policy returns the value of the header RateLimit-Policy of what the refused call exceeded.
func (r *refusal) policy() string {
	switch name := quote(r.rule.Name); {
	case r.why == never:
		return name + ";q=0"
	case r.rule.Calls > 0 && (r.why == noTokens || r.rule.Running == 0):
		return name + ";q=" + strconv.Itoa(r.rule.Calls) + ";w=" + seconds(r.rule.Per.Seconds())
	default:
		return name + ";q=" + strconv.Itoa(r.rule.Running) + `;qu="concurrent-requests"`
	}
}

// seconds writes a time in whole seconds, rounded up.
func seconds(s float64) string { return strconv.FormatFloat(math.Ceil(s), 'f', 0, 64) }

// quote returns text as a string of a structured field (RFC 9651). It leaves out what is
// not printable ASCII.
func quote(text string) string {
	out := []byte{'"'}
	for _, c := range []byte(text) {
		switch {
		case c == '"' || c == '\\':
			out = append(out, '\\', c)
		case c >= ' ' && c < 0x7f:
			out = append(out, c)
		}
	}
	return string(append(out, '"'))
}
