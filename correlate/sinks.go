package correlate

import (
	"log/slog"

	"github.com/mcpchain/mcpchain/internal/sink"
)

// Guard returns a slog.Handler that passes records on to next and returns in time whatever
// next does. If next panics or has not written a record after 200 ms, Handle returns an error.
// While next has not returned from such a record, Handle returns an error at once. The record
// waits, and next gets it in its turn. At most 1,000 records wait. Further ones are dropped, and
// next is told their number when it is back. The values of a record must not change, because it
// may be written later.
//
// Package sinks makes fan-outs, fail-overs and routers of handlers that are guarded so. [New]
// guards its own Logger, for 250 ms. A record that its Logger cannot write goes to
// [slog.Default], and from there to standard error, with the reason in "log_failed". One that is
// late does not.
func Guard(next slog.Handler) slog.Handler {
	if next == nil {
		panic("correlate.Guard: next is nil; give the handler that writes the records")
	}
	return sink.Guard(next)
}
