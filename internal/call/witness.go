package call

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/failure"
	"github.com/mcpchain/mcpchain/internal/safe"
)

// A Ledger counts, by how they ended, the changes that a call or a part of one makes.
// The first change makes it: calls without changes have none.
type Ledger struct {
	outer *Ledger // of the enclosing call or part, which counts these changes, too

	mu         sync.Mutex
	took, open int
}

type ledgerKey struct{}

// LedgerOf returns the Ledger that counts the changes of ctx, nil outside of a call, where no
// middleware reads it.
func LedgerOf(ctx context.Context) *Ledger {
	l, _ := ctx.Value(ledgerKey{}).(*Ledger)
	return l
}

// ledgerIn returns the Ledger in p. If there is none, it makes one below the Ledger of outer.
func ledgerIn(outer context.Context, p *atomic.Pointer[Ledger]) *Ledger {
	if l := p.Load(); l != nil {
		return l
	}
	p.CompareAndSwap(nil, &Ledger{outer: LedgerOf(outer)})
	return p.Load()
}

// count adds to the counts of the Ledger and of those outside of it.
func (l *Ledger) count(took, open int) {
	for ; l != nil; l = l.outer {
		l.mu.Lock()
		l.took, l.open = l.took+took, l.open+open
		l.mu.Unlock()
	}
}

func (l *Ledger) witness() (w failure.Witness) {
	if l != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		w.Took, w.Open = l.took, l.open
	}
	return w
}

func (c *Call) ledger() *Ledger {
	outer := context.Background()
	if c.part {
		outer = c.Context
	}
	return ledgerIn(outer, &c.seen)
}

// Witness returns what was seen until now of the effect of the Call and of the Calls below it.
func (c *Call) Witness() failure.Witness {
	w, s := c.seen.Load().witness(), c.settings()
	w.Whole = s.Witnessed != nil && c.method == MethodCallTool && safe.Ask(s.Witnessed, Target(c.req))
	return w
}

// Saw takes over what was seen of an item. It is for a Call that is made when the item has failed.
func (c *Call) Saw(item *Item) { c.seen.Store(item.seen.Load()) }

// An Item is the context of a part of a call that gets a Call of its own only when it fails. Its
// changes are counted for it and for the call that it is a part of.
type Item struct {
	context.Context

	seen atomic.Pointer[Ledger]
}

// Value returns the Ledger of the Item for ledgerKey. The context outside answers all other keys.
func (i *Item) Value(key any) any {
	if _, ok := key.(ledgerKey); ok {
		return ledgerIn(i.Context, &i.seen)
	}
	return i.Context.Value(key)
}

// A Change is something that a call has begun and that may change something. It begins once;
// [Change.End] may be called concurrently, and after the call was answered.
type Change struct {
	ledger *Ledger
	mu     sync.Mutex
	became fault.Effect // "" is unknown
}

// Begin begins the change.
func (s *Change) Begin(in *Ledger) {
	s.ledger = in
	in.count(0, 1)
}

// End records the effect of the change. The last call counts. "" means that the effect is unknown.
func (s *Change) End(became fault.Effect) {
	s.mu.Lock()
	defer s.mu.Unlock()
	took, open := tally(became)
	tookBefore, openBefore := tally(s.became)
	s.became = became
	s.ledger.count(took-tookBefore, open-openBefore) // in one call, so that no reader sees the step as never begun
}

// Left begins a change for a part of a call that still runs although it was given up. The change ends when
// the part has returned: what the part noted itself then counts alone.
func Left(ctx context.Context) *Change {
	s := &Change{}
	if l := LedgerOf(ctx); l != nil {
		s.Begin(l)
	}
	return s
}

// Returned ends a change that [Left] began.
func (s *Change) Returned() { s.End(fault.EffectNone) }

func tally(became fault.Effect) (took, open int) {
	switch became {
	case fault.EffectCommitted:
		return 1, 0
	case fault.EffectNone:
		return 0, 0
	default:
		return 0, 1
	}
}
