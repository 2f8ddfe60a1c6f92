package call

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/wire"
)

// A mending is what was changed of the arguments of a Call before its handler ran.
type mending struct {
	args    json.RawMessage
	changes []wire.Change
	would   []wire.Change // what is not changed because the Call is observed
	on      func(args json.RawMessage)
}

// NoteMended notes that the handler of the Call is about to run with other arguments than were sent, and
// what was changed. The answer and the record say so.
func (c *Call) NoteMended(args json.RawMessage, changes []wire.Change) {
	cold := c.lock()
	m := &cold.mending
	m.args = args
	for _, change := range changes { // a repetition of the call is mended again
		if !slices.Contains(m.changes, change) {
			m.changes = append(slices.Clip(m.changes), change)
		}
	}
	on := m.on
	c.mu.Unlock()
	c.atEnd.Or(mended)
	if on != nil {
		on(args)
	}
}

// OnMended sets the function that is called with the arguments when a mended call is about to run. There is
// one at most: a later one takes the place of an earlier one.
func (c *Call) OnMended(on func(args json.RawMessage)) {
	cold := c.lock()
	defer c.mu.Unlock()
	cold.mending.on = on
}

// NoteMendedPart notes what was changed of the arguments of a part of the Call, which stands at a place in those of the
// Call.
func (c *Call) NoteMendedPart(place string, changes []wire.Change) {
	if changes == nil {
		return
	}
	cold := c.lock()
	m := &cold.mending
	for _, change := range changes[:min(len(changes), max(0, maxChanges-len(m.changes)))] {
		if change.Argument = place + "." + change.Argument; change.Argument == place+"." {
			change.Argument = place
		}
		m.changes = append(slices.Clip(m.changes), change)
	}
	c.mu.Unlock()
	c.atEnd.Or(mended)
}

// maxChanges is how many changes of parts an answer names.
const maxChanges = 100

// Mended returns the arguments with which the handler of the Call ran, if they are not those that were sent.
func (c *Call) Mended() (args json.RawMessage, ok bool) {
	if c.atEnd.Load()&mended == 0 {
		return nil, false
	}
	cold := c.lock()
	defer c.mu.Unlock()
	return cold.mending.args, cold.mending.args != nil
}

// Changes returns what NoteMended noted, nil for nothing. It is not written to again.
func (c *Call) Changes() []wire.Change {
	if c.atEnd.Load()&mended == 0 {
		return nil
	}
	cold := c.lock()
	defer c.mu.Unlock()
	return cold.mending.changes
}

// WouldMend notes what would have been changed if the Call were not observed.
func (c *Call) WouldMend(changes []wire.Change) {
	cold := c.lock()
	defer c.mu.Unlock()
	cold.mending.would = changes
	c.atEnd.Or(wouldMend)
}

// MendNot notes that nothing inside of the middleware may mend the arguments of the Call.
func (c *Call) MendNot() { c.atEnd.Or(mendNot) }

// MendsNot reports whether MendNot was called for the Call, or for one that it is a part of.
func (c *Call) MendsNot() bool {
	for ; c != nil; c = c.Parent() {
		if c.atEnd.Load()&mendNot != 0 {
			return true
		}
	}
	return false
}

// changesText returns changes for a record.
func changesText(changes []wire.Change) []string {
	texts := make([]string, len(changes))
	for i, change := range changes {
		texts[i] = OneLine(cmp.Or(change.Argument, "(all)")) + ": " + change.Kind
	}
	return texts
}

// withChanges puts what was changed of the arguments into the _meta of an answer.
func (c *Call) withChanges(res mcp.Result) mcp.Result {
	if changes := c.Changes(); changes != nil {
		return WithMeta(res, wire.MendedKey, changes)
	}
	return res
}
