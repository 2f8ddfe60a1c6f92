package deadline

import "context"

// Depth returns how many clocks run for the handler with this context.
func Depth(ctx context.Context) int {
	n := 0
	for c := clockOf(ctx); c != nil; c = c.outer {
		n++
	}
	return n
}

// StandardGrace is the default of Options.Grace.
const StandardGrace = defaultGrace
