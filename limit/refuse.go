package limit

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/mcpchain/mcpchain/fault"
)

// A refusal says why a call does not run.
type refusal struct {
	rule    *rule
	wait    time.Duration // until its tokens are there
	running bool          // too many run
	crowded bool          // others wait before it
	closed  bool
	cost    int // set if the call can never pass
}

// impossible reports that a call costs more than a limit ever has.
func impossible(r *rule, cost int) (*refusal, bool) {
	if r.calls > 0 && cost > r.burst || r.running > 0 && cost > r.running {
		return &refusal{rule: r, cost: cost}, true
	}
	return nil, false
}

// detailName is the detail of a refusal that is the name of the limit, for programs.
const detailName = "limit"

// refuse returns the refusal as a fault, and counts it.
func (l *limiter) refuse(why *refusal) error {
	l.stats.Refused.Add(1)
	r := why.rule
	whose := [...]string{"for each caller", "for this tool", "for each caller of this tool", "for all callers together"}[r.scope]
	retry := fault.Retry{ShouldRetry: true, Effect: fault.EffectNone}
	var message, instead string
	switch {
	case why.closed:
		message, instead = "no calls are allowed here", "Do without this call."
		retry.ShouldRetry = false
		retry.Reason = "It will be refused again."
	case why.cost > 0:
		message, instead = "this call costs more than is ever allowed at once "+whose, "Do without this call."
		retry.ShouldRetry = false
		retry.Reason = "It will be refused again."
	case why.running, why.crowded:
		instead = "Call again when other calls have finished. Make fewer calls in parallel."
		message = "too many calls are waiting"
		if why.running {
			message = fmt.Sprintf("at most %s may run at once %s", calls(r.running), whose)
		}
		retry.RetryAfterSeconds = 1 // nobody knows when one will have finished
	default:
		instead = "Wait, and make fewer calls. Do not call in parallel."
		message = fmt.Sprintf("at most %s in %s are allowed %s", calls(r.calls), seconds(r.per), whose)
		retry.RetryAfterSeconds = math.Ceil(why.wait.Seconds()*1000) / 1000
	}
	if r.instead != "" {
		instead = r.instead
	}
	return fault.New(fault.KindRateLimited, message).Suggest(instead).With(detailName, r.name).WithRetry(retry)
}

func calls(n int) string {
	if n == 1 {
		return "1 call"
	}
	return strconv.Itoa(n) + " calls"
}

func seconds(d time.Duration) string {
	return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + " s"
}

// SetHeader sets the headers Retry-After and RateLimit for a refusal of this package,
// as [middleware.FaultOf] returns it, for hosts that answer over HTTP themselves. It
// reports whether f is one; else it sets nothing.
func SetHeader(h http.Header, f *fault.Error) bool {
	d := f.Data()
	name, ok := d.Details[detailName].(string)
	if !ok || f.Kind() != fault.KindRateLimited || d.Retry == nil {
		return false
	}
	if d.Retry.ShouldRetry {
		wait := strconv.FormatFloat(math.Ceil(d.Retry.RetryAfterSeconds), 'f', 0, 64)
		h.Set("Retry-After", wait)
		h.Set("Ratelimit", quote(name)+";r=0;t="+wait)
	}
	return true
}

// quote writes a string of a structured field (RFC 9651), which is ASCII.
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
