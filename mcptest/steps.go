package mcptest

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/ask"
	"github.com/mcpchain/mcpchain/internal/call"
)

// maxDropped is how many of the calls that were left out of steps are remembered.
const maxDropped = 1000

// drops remembers the calls that the servers of this process have left out of steps.
var drops struct {
	sync.Mutex
	watched bool
	of      []call.Dropped
}

func watchDrops() {
	drops.Lock()
	defer drops.Unlock()
	if drops.watched {
		return
	}
	drops.watched = true
	note := func(d call.Dropped) {
		drops.Lock()
		defer drops.Unlock()
		if !slices.Contains(drops.of, d) {
			drops.of = append(drops.of[max(0, len(drops.of)-maxDropped+1):], d)
		}
	}
	call.OnDropped.Store(&note)
}

// droppedFrom returns which calls the steps of a failure have lost, and why.
func droppedFrom(f *fault.Error) (lost []string) {
	drops.Lock()
	defer drops.Unlock()
	for _, s := range f.Data().RecoverySteps {
		words := s.Tool == "" && !slices.ContainsFunc(s.Options, func(o fault.Option) bool { return o.Tool != "" })
		for _, d := range drops.of {
			if words && d.Action == s.Action && d.Message == f.Message() {
				lost = append(lost, fmt.Sprintf("step %d (%s) has lost its call of %s: %s", s.Number, s.Action, d.Tool, d.Reason))
			}
		}
	}
	return lost
}

// placeholders matches texts that stand for a value that the caller has to fill in.
var placeholders = regexp.MustCompile(`(?i)^(?:<[\pL][\pL\d_ .-]*>|\$?\{\{?\s*[\pL][\pL\d_ .-]*\}?\}|\$[A-Z][A-Z\d_]*|\[(?:your|the|insert)[\pL\d_ .-]*\]|your[_ -][\pL\d_ -]+|\.{3}|…|todo|tbd|xxx+|replace[_ -]?me|change[_ -]?me|placeholder)$`)

// placeholder returns where parameters have a placeholder, and its text, "" if they have
// none.
func placeholder(at string, v any) (where, text string) {
	switch v := v.(type) {
	case string:
		if trimmed := strings.TrimSpace(v); placeholders.MatchString(trimmed) {
			return at, trimmed
		}
	case []any:
		for i, item := range v {
			if where, text = placeholder(fmt.Sprintf("%s[%d]", at, i), item); text != "" {
				return where, text
			}
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if where, text = placeholder(at+"."+name, v[name]); text != "" {
				return where, text
			}
		}
	}
	return "", ""
}

// lenient returns a schema that does not require what the caller has to fill in.
func lenient(schema any, missing []string) any {
	read := ask.JSONSchema(schema)
	if read == nil || len(missing) == 0 {
		return schema
	}
	read.Required = slices.DeleteFunc(read.Required, func(name string) bool { return slices.Contains(missing, name) })
	return read
}
