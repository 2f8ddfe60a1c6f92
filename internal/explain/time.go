package explain

import (
	"slices"
	"strings"
	"unicode"
)

// maxRead is how much of a description is looked at.
const maxRead = 1000

// exampleTime is how a date and time is written in a call.
const exampleTime = `"2026-01-31T13:45:00Z"`

// asksForTime reports whether a text that a schema asks for may well be a date and time, of which the schema
// does not have the format: what the SDK makes of a time.Time says "string" and nothing else.
func (r *report) asksForTime(f finding) bool {
	if len(f.at) > 0 {
		name := f.at[len(f.at)-1]
		for i := len(f.at) - 1; i > 0 && index(name) >= 0; i-- { // an item of a list
			name = f.at[i-1]
		}
		parts := wordsOf(name)
		for i, part := range parts {
			if slices.Contains([]string{"date", "dates", "time", "times", "datetime", "timestamp", "when", "since", "until", "deadline"}, part) || part == "at" && i == len(parts)-1 {
				return true
			}
		}
	}
	for _, n := range around(append(slices.Clip(f.forms), r.schema.at(f.at)...)...) {
		text := strings.ToLower(n.Description[:min(len(n.Description), maxRead)])
		if strings.Contains(text, "rfc 3339") || strings.Contains(text, "rfc3339") || strings.Contains(text, "iso 8601") || strings.Contains(text, "iso8601") || strings.Contains(text, "timestamp") {
			return true
		}
	}
	return false
}

// wordsOf splits a name such as createdAt or created_at, in small letters.
func wordsOf(name string) (parts []string) {
	begin, small := 0, false
	name = name[:min(len(name), maxName)]
	end := func(at int) {
		if at > begin {
			parts = append(parts, strings.ToLower(name[begin:at]))
		}
	}
	for i, c := range name {
		switch {
		case !unicode.IsLetter(c) && !unicode.IsDigit(c):
			end(i)
			begin = i + len(string(c))
		case small && unicode.IsUpper(c):
			end(i)
			begin = i
		}
		small = unicode.IsLower(c)
	}
	end(len(name))
	return parts
}
