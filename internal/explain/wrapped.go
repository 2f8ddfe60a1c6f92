package explain

import (
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/fault"
)

// wrappers are the members in which clients send arguments that should have been sent themselves, and
// targets those beside them that name the tool.
var (
	wrappers = []string{"arguments", "args", "input", "parameters", "params", "kwargs", "tool_input", "payload", "body", "data", "request"}
	targets  = []string{"name", "tool", "tool_name", "function"}
)

// maxWraps bounds how many members and texts are taken off, one around the other.
const maxWraps = 4

// A wrapping is what stands around the arguments that were meant.
type wrapping struct {
	inner *document
	names []string // of the members
	text  bool     // one of them is a string that holds JSON
	meant bool     // the schema allows one of the members, so that it may have been meant
	tools []string // that members beside them name
}

// unwrapped returns the wrapper around the arguments. It is nil unless exactly one way to take it off leads to
// arguments that satisfy the schema.
func (r *report) unwrapped(d *document) (only *wrapping) {
	if d.notes != nil {
		return nil
	}
	w := wrapping{inner: d}
	for range maxWraps {
		switch v := w.inner.value.(type) {
		case string:
			if text := strings.TrimSpace(v); !strings.HasPrefix(text, "{") && !strings.HasPrefix(text, `"`) {
				return only
			}
			inner, err := read([]byte(v), maxSent)
			if err != nil || inner.number != nil || inner.notes != nil {
				return only
			}
			w.inner, w.text = inner, true
		case map[string]any:
			name, inner, tool := r.wrapper(v)
			if name == "" {
				return only
			}
			if tool != "" {
				w.tools = append(slices.Clip(w.tools), tool)
			}
			w.meant = w.meant || r.schema.allows(name)
			w.inner, w.names = &document{value: inner}, append(slices.Clip(w.names), name)
		default:
			return only
		}
		if _, ok := w.inner.value.(map[string]any); !ok || !r.valid(w.inner.value) {
			continue
		}
		if only != nil {
			return nil // two readings
		}
		found := w
		only = &found
	}
	return only
}

// wrapper returns the member of an object that may stand around the arguments: the only one, but for
// one that names a tool and that the schema knows nothing of. It returns "" if there is none.
func (r *report) wrapper(object map[string]any) (name string, value any, tool string) {
	if len(object) > 2 {
		return "", nil, ""
	}
	declared := known([]*node{r.schema.root})
	for member, v := range object {
		text, isText := v.(string)
		switch {
		case slices.Contains(declared, member):
			return "", nil, ""
		case slices.Contains(wrappers, strings.ToLower(member)) && name == "":
			name, value = member, v
		case !isText || text == "" || !slices.Contains(targets, member) || r.schema.allows(member):
			return "", nil, ""
		default:
			tool = text
		}
	}
	return name, value, tool
}

// allows reports whether the schema says something of a member of the arguments that it does not declare.
func (s *Schema) allows(name string) bool {
	says := func(n *node) bool { return n.always == nil || *n.always }
	return slices.ContainsFunc(s.at([]string{name}), says) || slices.Contains(required([]*node{s.root}), name)
}

// choose replaces all violations by the one that the arguments were wrapped, and returns them unwrapped. If other
// corrections lead to other arguments, it is unknown which were meant, and it returns nil.
func (r *report) choose(w *wrapping, other *correction) *correction {
	raw, err := encode(w.inner.value)
	switch {
	case err != nil: // cannot happen: it was read
		return nil
	case other != nil && string(other.raw) == string(raw):
		r.Tools = w.tools
		return other
	case other != nil:
		return nil
	case w.meant:
		return other
	}
	v := fault.Violation{Rule: "wrapped", Expected: r.schema.root.words()}
	switch {
	case w.names == nil:
		v.Message, v.Suggestion = "The arguments were sent as a string.", "Send the object itself, not a string."
	case w.text:
		v.Message, v.Suggestion = "The arguments were sent as a string inside of "+quoted(strings.Join(w.names, "."))+".", "Send them as they are, as an object."
	default:
		v.Message, v.Suggestion = "The arguments were sent inside of "+quoted(strings.Join(w.names, "."))+".", "Send them as they are."
	}
	if len(w.names) > 0 {
		v.Field, v.Pointer = r.place(w.names[:1])
	}
	r.Report, r.size = Report{Tools: w.tools}, 0
	r.add(v)
	if len(raw) > maxCorrected {
		raw = nil
	}
	return &correction{w.inner.value, w.inner.value, raw}
}
