package explain

import (
	"regexp"
	"slices"

	"github.com/mcpchain/mcpchain/internal/near"
)

// maxRead is how much of a description is looked at.
const maxRead = 1000

// exampleTime is how a date and time is written in a call.
const exampleTime = `"2026-01-31T13:45:00Z"`

// timely are the words in the name of a date and time, and timelyText those in a description of one.
var (
	timely     = []string{"date", "dates", "time", "times", "datetime", "timestamp", "when", "since", "until", "deadline"}
	timelyText = regexp.MustCompile(`(?i)rfc ?3339|iso ?8601|timestamp`)
)

// asksForTime reports whether a text that a schema asks for may well be a date and time, of which the schema
// does not have the format: what the SDK makes of a time.Time says "string" and nothing else.
func (r *report) asksForTime(f finding) bool {
	if len(f.at) > 0 {
		name := last(f.at)
		for i := len(f.at) - 1; i > 0 && index(name) >= 0; i-- { // an item of a list
			name = f.at[i-1]
		}
		parts := near.Words(name)
		if slices.ContainsFunc(parts, func(part string) bool { return slices.Contains(timely, part) }) || len(parts) > 0 && last(parts) == "at" {
			return true
		}
	}
	return slices.ContainsFunc(around(append(slices.Clip(f.forms), r.schema.at(f.at)...)...), func(n *node) bool {
		return timelyText.MatchString(n.Description[:min(len(n.Description), maxRead)])
	})
}
