package retry

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/call"
)

// others knows of the tools that fail for whom, among all callers. It is empty while nothing fails. All
// methods may be called concurrently.
type others struct {
	mu    sync.Mutex
	tools map[string]*trouble // by name, at most maxTrouble
}

// trouble is what is known of a tool that fails.
type trouble struct {
	since  time.Time // when it began to fail, without a success since; zero: it has worked since
	last   time.Time // when it failed last
	worked time.Time // when it worked last since it is known here; zero: it did not
	owners []string  // that have failed since, at most severalCallers
}

const (
	maxTrouble     = 1024
	severalCallers = 3
	// forgetTrouble is how long after its last failure a tool is known.
	forgetTrouble = 10 * time.Minute
)

// failed notes the failure of a call, whose caller has called it in vain for a time. It returns a sentence
// of what the other callers of the tool experience, or "". A caller who is not trusted learns of others
// only if there are several, and only since which minute.
func (o *others) failed(what *identity, trusted bool, lasts time.Duration) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	t := o.tools[what.target]
	if t == nil || now.Sub(t.last) > forgetTrouble {
		o.makeRoom(now)
		t = &trouble{}
		o.tools[strings.Clone(what.target)] = t
	}
	if t.since.IsZero() {
		t.since, t.owners = now, nil
	}
	t.last = now
	if len(t.owners) < severalCallers && !slices.Contains(t.owners, what.owner) {
		t.owners = append(t.owners, what.owner)
	}
	switch since := t.since.UTC().Format("15:04") + " UTC"; {
	case trusted && !t.worked.IsZero() && now.Sub(t.worked) <= lasts:
		return "Other calls of this tool have succeeded meanwhile"
	case trusted && len(t.owners) > 1:
		return "This tool has failed for all callers since " + since
	case len(t.owners) >= severalCallers:
		return "This tool has failed for several callers since " + since
	default:
		return ""
	}
}

// worked notes the success of a call.
func (o *others) worked(req mcp.Request) {
	if _, tool := req.(*mcp.CallToolRequest); !tool {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if t := o.tools[call.Target(req)]; t != nil {
		t.since, t.worked = time.Time{}, time.Now()
	}
}

// makeRoom makes room for one more tool: it drops those that have not failed for long, or else any other.
func (o *others) makeRoom(now time.Time) {
	if o.tools == nil {
		o.tools = map[string]*trouble{}
	}
	if len(o.tools) < maxTrouble {
		return
	}
	for name, t := range o.tools {
		if now.Sub(t.last) > forgetTrouble {
			delete(o.tools, name)
		}
	}
	for name := range o.tools {
		if len(o.tools) < maxTrouble {
			return
		}
		delete(o.tools, name)
	}
}
