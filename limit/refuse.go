package limit

import (
	"cmp"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/words"
)

// A refusal says why a call does not run.
type refusal struct {
	rule *rule
	why  why
	wait time.Duration // until its tokens are there
}

type why uint8

const (
	others   why = iota // wait before it
	tooMany             // run
	noTokens            // are left
	never               // may it run
)

// detailName is the detail of a refusal that is the name of the limit, for programs.
const detailName = "limit"

// refuse returns the refusal as a fault, and counts it.
func (l *limiter) refuse(r refusal) error {
	l.Stats.Refused.Add(1)
	whose := [...]string{"for each caller", "for this tool", "for each caller of this tool", "for all callers together"}[r.rule.Scope]
	retry := fault.Retry{ShouldRetry: true, Effect: fault.EffectNone}
	var message, instead string
	switch r.why {
	case never:
		message, instead = "no calls are allowed here", "Do without this call."
		retry.ShouldRetry, retry.Reason = false, "It will be refused again."
	case noTokens:
		message = fmt.Sprintf("at most %s in %s are allowed %s", words.Plural(r.rule.Calls, "call"), seconds(r.rule.Per), whose)
		instead = "Wait, and make fewer calls. Do not call in parallel."
		retry.RetryAfterSeconds = math.Ceil(r.wait.Seconds()*1000) / 1000
	default:
		message = "too many calls are waiting"
		if r.why == tooMany {
			message = fmt.Sprintf("at most %s may run at once %s", words.Plural(r.rule.Running, "call"), whose)
		}
		instead = "Call again when other calls have finished. Make fewer calls in parallel."
		retry.RetryAfterSeconds = 1 // nobody knows when one will have finished
	}
	return fault.New(fault.KindRateLimited, message).Suggest(cmp.Or(r.rule.Instead, instead)).With(detailName, r.rule.Name).WithRetry(retry)
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
