package retry

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/internal/table"
)

// others knows for whom the tools fail, among all callers, by their names. It is empty while nothing
// fails. All methods may be called concurrently. Names that are long are kept as hashes: a caller of a
// server that passes calls on may invent any.
type others struct {
	mu    sync.Mutex // from Get to Put: a success that went unnoticed would make a sentence false
	tools table.Names[trouble]
}

// longName is up to how many bytes a name is kept as it is.
const longName = 128

// short returns a name, or a hash of one that is long.
func short(name string) string {
	if len(name) > longName {
		return digest(name)
	}
	return name
}

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
	tool, owner := short(what.target), short(what.owner)
	o.mu.Lock()
	defer o.mu.Unlock()
	t, _ := o.tools.Get(tool)
	if now.Sub(t.last) > forgetTrouble {
		t = trouble{}
	}
	if t.since.IsZero() {
		t.since, t.owners = now, nil
	}
	t.last = now
	if len(t.owners) < severalCallers && !slices.Contains(t.owners, owner) {
		t.owners = append(slices.Clip(t.owners), strings.Clone(owner))
	}
	o.tools.Put(strings.Clone(tool), t)
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
	tool = short(tool)
	o.mu.Lock()
	defer o.mu.Unlock()
	if t, known := o.tools.Get(tool); known && time.Since(t.last) <= forgetTrouble {
		t.since, t.worked = time.Time{}, time.Now()
		o.tools.Put(tool, t)
	}
}
