package fault

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpchain/mcpchain/internal/words"
)

// A correction is the call that was probably meant. If a value in it must not be shown, only the text
// has the correction, with words.AsSent instead of that value: a program would send the placeholder.
type correction struct {
	tool      string
	arguments map[string]any
}

// correction returns the corrected call, whole or withheld.
func (e *Error) correction() correction {
	switch {
	case e == nil:
		return correction{}
	case e.withheld != nil:
		return *e.withheld
	default:
		return correction{e.data.CorrectedTool, e.data.CorrectedArguments}
	}
}

// correct sets the corrected call. Without arguments it removes the call.
func (e *Error) correct(c correction) {
	e.data.CorrectedTool, e.data.CorrectedArguments, e.withheld = "", nil, nil
	switch {
	case len(c.arguments) == 0:
	case withholds(c.arguments):
		e.withheld = &c
	default:
		e.data.CorrectedTool, e.data.CorrectedArguments = c.tool, c.arguments
	}
}

// tries returns the corrected call as the text shows it. It is empty if there is none, or if it is too
// long: half of a call would be useless.
func (e *Error) tries() string {
	c := e.correction()
	if len(c.arguments) == 0 {
		return ""
	}
	arguments := compact(c.arguments)
	if e.withheld != nil {
		arguments = written(c.arguments)
	}
	if len(arguments) > maxMessage {
		return ""
	}
	return strings.TrimSpace(words.Cut(c.tool, maxText) + " " + arguments)
}

// showOnly sets the corrected call to whole, and withholds each value that differs in shown. It leaves
// the call out if a name differs, or if such a value is itself wrong: the caller sent another one.
func (e *Error) showOnly(shown, whole correction) {
	if reflect.DeepEqual(shown, whole) {
		e.correct(whole)
		return
	}
	arguments, ok := e.data.asSent(whole.arguments, shown.arguments, "")
	members, is := arguments.(map[string]any)
	if whole.tool != shown.tool || !ok || !is {
		members = nil
	}
	e.correct(correction{whole.tool, members})
}

// asSent returns a value with words.AsSent instead of each part that differs from shown. It reports
// false if a name differs, or a part that is itself wrong.
func (d *Data) asSent(v, shown any, pointer string) (_ any, ok bool) {
	if reflect.DeepEqual(v, shown) {
		return v, true
	}
	switch v := v.(type) {
	case map[string]any:
		members, same := shown.(map[string]any)
		if !same || len(members) != len(v) {
			return nil, false
		}
		out := make(map[string]any, len(v))
		for name := range v {
			member, named := members[name]
			if out[name], ok = d.asSent(v[name], member, pointer+"/"+pointerStep.Replace(name)); !ok || !named {
				return nil, false
			}
		}
		return out, true
	case []any:
		items, same := shown.([]any)
		if !same || len(items) != len(v) {
			return nil, false
		}
		out := make([]any, len(v))
		for i := range v {
			if out[i], ok = d.asSent(v[i], items[i], pointer+"/"+strconv.Itoa(i)); !ok {
				return nil, false
			}
		}
		return out, true
	}
	wrong := slices.ContainsFunc(d.Violations, func(w Violation) bool { return w.Pointer == pointer })
	return words.AsSent, !wrong
}

var pointerStep = strings.NewReplacer("~", "~0", "/", "~1")

// withholds reports whether a part of a value is withheld.
func withholds(v any) bool {
	switch v := v.(type) {
	case words.Placeholder:
		return true
	case []any:
		return slices.ContainsFunc(v, withholds)
	case map[string]any:
		for _, member := range v {
			if withholds(member) {
				return true
			}
		}
	}
	return false
}

// written writes a value on one line. With a withheld part it is not JSON, so that no program sends it.
func written(v any) string {
	switch v := v.(type) {
	case words.Placeholder:
		return string(v)
	case []any:
		items := make([]string, len(v))
		for i := range v {
			items[i] = written(v[i])
		}
		return "[" + strings.Join(items, ",") + "]"
	case map[string]any:
		members := make([]string, 0, len(v))
		for _, name := range slices.Sorted(maps.Keys(v)) {
			members = append(members, written(name)+":"+written(v[name]))
		}
		return "{" + strings.Join(members, ",") + "}"
	default:
		text, err := encode(v)
		if err != nil {
			return string(words.AsSent) // never: it was decoded from JSON
		}
		return text
	}
}

// mapped returns a correction with every text passed through text.
func (c correction) mapped(text func(string) string) correction {
	if len(c.arguments) == 0 {
		return c
	}
	return correction{text(c.tool), mapMap(c.arguments, text, func(_ string, v any) any { return mapValue(v, text) })}
}

// corrections returns the corrected call of d, whole and without the values under names of secrets. It
// reports false if there is no call, or if the call cannot be written as JSON.
func corrections(d Data) (shown, whole correction, ok bool) {
	if len(d.CorrectedArguments) == 0 {
		return shown, whole, false
	}
	text, err := encode(d.CorrectedArguments)
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	arguments := map[string]any{}
	if err != nil || dec.Decode(&arguments) != nil {
		return shown, whole, false
	}
	tool := valid(d.CorrectedTool)
	shown = correction{tool, mapMap(arguments, valid, plainMember)}
	whole = correction{tool, mapMap(arguments, valid, func(_ string, v any) any { return decoded(v) })}
	return shown, whole, true
}
