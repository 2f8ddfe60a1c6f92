package deadline

import (
	"slices"
	"time"

	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/words"
)

// durations are how long the last calls of a tool took that succeeded.
type durations struct {
	last [8]time.Duration
	seen int
}

// enough is how many calls have to be seen before a duration counts as usual.
const enough = 3

// took notes how long a call took that succeeded.
func (w *run) took() {
	if w.slot.method != call.MethodCallTool {
		return
	}
	d, _ := w.usual.Get(w.slot.target)
	d.last[d.seen%len(d.last)] = time.Since(w.began)
	d.seen++
	w.usual.Put(w.slot.target, d)
}

// usually says how long the calls of the tool take, "" if that is not known or not for the reader: those
// of others are among them.
func (w *run) usually() string {
	d, _ := w.usual.Get(w.slot.target)
	if w.slot.method != call.MethodCallTool || d.seen < enough || !w.c.Trusted() {
		return ""
	}
	seen := d.last[:min(d.seen, len(d.last))]
	slices.Sort(seen)
	return "calls of this tool usually take " + words.Since(seen[len(seen)/2])
}
