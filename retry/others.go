package retry

import (
	"slices"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/internal/table"
)

// others knows for whom the tools fail, among all callers, by their names. It is empty while nothing
// fails. All methods may be called concurrently; of two at once one may go unnoticed.
type others struct{ tools table.Names[trouble] }

// trouble is what is known of a tool that fails.
type trouble struct {
	since  time.Time // when it began to fail, without a success since; zero: it has worked since
	last   time.Time // when it failed last
	worked time.Time // when it worked last since it is known here; zero: it did not
	owners []string  // that have failed since, at most severalCallers; never written to
}

const (
	severalCallers = 3
	// forgetTrouble is how long after its last failure a tool is known.
	forgetTrouble = 10 * time.Minute
)

// failed notes the failure of a call, whose caller has called it in vain for a time. It returns a sentence
// of what the other callers of the tool experience, or "". A caller who is not trusted learns of others
// only if there are several, and only since which minute.
func (o *others) failed(what *identity, trusted bool, lasts time.Duration) string {
	now := time.Now()
	t, _ := o.tools.Get(what.target)
	if now.Sub(t.last) > forgetTrouble {
		t = trouble{}
	}
	if t.since.IsZero() {
		t.since, t.owners = now, nil
	}
	t.last = now
	if len(t.owners) < severalCallers && !slices.Contains(t.owners, what.owner) {
		t.owners = append(slices.Clip(t.owners), what.owner)
	}
	o.tools.Put(strings.Clone(what.target), t)
	switch since := t.since.UTC(); {
	case trusted && !t.worked.IsZero() && now.Sub(t.worked) <= lasts:
		return "Other calls of this tool have succeeded meanwhile"
	case trusted && len(t.owners) > 1:
		return "This tool has failed for all callers since " + since.Format("15:04:05") + " UTC"
	case len(t.owners) >= severalCallers:
		return "This tool has failed for several callers since " + since.Format("15:04") + " UTC"
	default:
		return ""
	}
}

// worked notes the success of a call of a tool.
func (o *others) worked(tool string) {
	if t, known := o.tools.Get(tool); known && time.Since(t.last) <= forgetTrouble {
		t.since, t.worked = time.Time{}, time.Now()
		o.tools.Put(tool, t)
	}
}
