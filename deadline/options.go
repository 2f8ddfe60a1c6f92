package deadline

import (
	"cmp"
	"fmt"
	"maps"
	"time"

	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/owner"
)

// The defaults of [Options].
const (
	defaultLimit    = 50 * time.Second
	defaultGrace    = 100 * time.Millisecond
	defaultMaxStuck = 10
)

// burst is how many times as many handlers may run at the same time as may be stuck. It
// holds before any handler is stuck.
const burst = 20

// maxPause is for how long altogether the clock of one call may be stopped.
const maxPause = 10 * time.Minute

// maxMargin caps how long before the caller's own deadline a call is answered.
const maxMargin = time.Second

// minLimit is the shortest limit: a handler's goroutine may take longer than any shorter
// one to start.
const minLimit = time.Millisecond

func newLimiter(o Options) *limiter {
	o.Limit = cmp.Or(o.Limit, defaultLimit)
	o.Grace = max(0, cmp.Or(o.Grace, defaultGrace))
	stuck := max(-1, min(cmp.Or(o.MaxStuck, defaultMaxStuck), 1_000_000)) // so that what is counted from it does not overflow
	o.check()
	o.Tools = maps.Clone(o.Tools)
	return &limiter{
		Options: o, looking: make(chan struct{}, maxLookups),
		owners:   owner.Finder{Func: o.Owner, Option: "deadline.Options.Owner", Logger: o.Logger},
		handlers: counter{bounds: [...]int{stuck, stuck * 5 / 2, stuck * 10}, by: map[slot]count{}},
		settings: &call.Settings{Logger: o.Logger},
	}
}

func (o *Options) check() {
	limited := o.Limit >= 0
	long := func(field string, limit time.Duration) {
		if limit > 0 && limit < minLimit {
			panic(fmt.Sprintf("deadline.New: Options.%s is %v, which no handler can keep; give at least %v", field, limit, minLimit))
		}
		limited = limited || limit > 0
	}
	long("Limit", o.Limit)
	for name, limit := range o.Tools {
		if name == "" {
			panic("deadline.New: Options.Tools has an empty name; give that of a tool")
		}
		long(fmt.Sprintf("Tools[%q]", name), limit)
	}
	if !limited {
		panic("deadline.New: Options.Limit is negative, and Tools has no limit, so nothing is limited; give one, or leave the middleware out")
	}
}
