// Package degrade makes one answer of several parts. A part that is down does not take
// the others with it, and the answer says what it lacks.
//
//	type Weather struct {
//		Celsius  float64 `json:"celsius"`
//		Forecast []Day   `json:"forecast,omitempty"`
//		degrade.Status   // what is missing or not fresh, as part of the output
//	}
//
//	func weather(ctx context.Context, _ *mcp.CallToolRequest, in City) (*mcp.CallToolResult, Weather, error) {
//		var out Weather
//		var err error
//		out.Status, err = degrade.Run(ctx,
//			degrade.Required("current", &out.Celsius, in.current),
//			degrade.Optional("forecast", &out.Forecast, in.forecast).
//				Stale("cache", 6*time.Hour, in.cachedForecast).
//				Impact("Nothing is known about the next days."))
//		return nil, out, err
//	}
//
// The parts run at the same time. A required part that fails ends the others and fails
// the whole with a fault. An optional one that fails, takes too long or is skipped
// leaves a [Warning], and the answer goes on without it. A substitute for a part
// (another source, a stale copy with its age) is marked in the Status, so that it is
// never taken for the real thing.
//
// The text of a failure is public: it is worded, masked and scrubbed as a failure of the
// whole call would be. Its reference is below that of the call, such as
// 0198c7f2-....forecast. The cause goes to the log of the call. Outside of a call the
// same holds, with slog.Default.
//
// A part that changes something is marked with [Component.Write]: it runs once, has no
// fallbacks, and is not stopped because another part failed.
//
// [New] is a middleware that puts the Status into answers whose handlers left it out,
// and appends a note for the model to their text. Run does not need it:
//
//	server.AddReceivingMiddleware(mcpchain.Standard(&mcpchain.Options{Degrade: degrade.New(nil)}))
package degrade

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/internal/call"
)

// defaultLimit is how long each source of an optional part may take when neither the
// part nor [Options] say so. A required part may take as long as the call.
const defaultLimit = 10 * time.Second

// Run runs the parts at the same time and returns when all have ended, when one that
// is required has failed, or when ctx is done. Only Run's own goroutine writes into
// the variables of the parts, and only when it returns no error. A part whose limit
// is over is left behind, and its value is dropped.
//
// The Status says what is missing or comes from somewhere else; the answer is complete
// if Status.Degraded is false. The error is that of the required part that failed
// first. A handler can return it: it holds the cause for errors.Is and errors.As, and
// names the part to the caller. If no required part has failed, there is no error,
// even when ctx is done.
//
// If ctx has a deadline, Run ends optional parts a little before it, and sources that
// have another one behind them. So there is time left to answer.
//
// Run panics when a part is nil or when two have the same name. The parts may be
// used again, but not by two Runs at the same time.
func Run(ctx context.Context, parts ...Part) (Status, error) {
	plans := check(parts)
	r := &run{c: call.FromContext(ctx), inCall: true, limit: defaultLimit}
	if r.c == nil {
		r.c, r.inCall = call.Alone(ctx, "degrade", false), false
		ctx = r.c
	}
	notes := notesOf(ctx)
	if notes != nil {
		r.limit = notes.limit
	}
	ctx, over := context.WithCancel(ctx)
	defer over()
	reads, cancel := context.WithCancel(ctx)
	defer cancel()

	outcomes := make([]outcome, len(plans))
	var wg sync.WaitGroup
	var first sync.Once
	for i, p := range plans {
		wg.Go(func() {
			stop := reads
			if p.write {
				stop = ctx // half a write is worse than a needless one
			}
			outcomes[i] = r.part(ctx, stop, p)
			if outcomes[i].fatal() {
				first.Do(func() { r.failed = &outcomes[i]; cancel() })
			}
		})
	}
	wg.Wait() // for goroutines of this package, which end at their limits; not for a fetch that ignores its context
	for i := range outcomes {
		r.report(&outcomes[i])
	}
	if r.failed != nil {
		return Status{}, r.wholeError(r.failed, outcomes)
	}
	for i := range outcomes {
		if outcomes[i].commit != nil {
			outcomes[i].commit()
		}
	}
	status := statusOf(outcomes)
	notes.add(status)
	return status, nil
}

// run is one Run.
type run struct {
	c      *call.Call
	inCall bool          // the failure leaves through the call; else the caller of Run gets it directly
	limit  time.Duration // of the sources of optional parts that have none
	failed *outcome      // the outcome of the required part that failed first; read when all have ended
}

func check(parts []Part) []*plan {
	plans := make([]*plan, len(parts))
	for i, part := range parts {
		if part == nil {
			panic(fmt.Sprintf("degrade.Run: part %d is nil; remove it", i))
		}
		plans[i] = part.self()
		for _, other := range plans[:i] {
			if other.name == plans[i].name {
				panic(fmt.Sprintf("degrade.Run: two parts have the name %q; give each one of its own", other.name))
			}
		}
	}
	return plans
}
