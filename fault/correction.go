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

// A correction is the call that was probably meant. If a value in it must not be shown, it is only in
// the text, with words.AsSent in the place of that value: a program would send what stands there.
type correction struct {
	tool      string
	arguments map[string]any
}

// correction returns the corrected call, whole or withheld.
func (d *Data) correction() correction {
	if d.withheld != nil {
		return *d.withheld
	}
	return correction{d.CorrectedTool, d.CorrectedArguments}
}

// correct sets the corrected call, which is none without arguments.
func (d *Data) correct(c correction) {
	d.CorrectedTool, d.CorrectedArguments, d.withheld = "", nil, nil
	switch {
	case len(c.arguments) == 0:
	case withholds(c.arguments):
		d.withheld = &c
	default:
		d.CorrectedTool, d.CorrectedArguments = c.tool, c.arguments
	}
}

// tries returns the corrected call as the text shows it. It is empty if there is none, or if it is too
// long: half of a call would be useless.
func (d *Data) tries() string {
	c := d.correction()
	if len(c.arguments) == 0 {
		return ""
	}
	arguments := compact(c.arguments)
	if d.withheld != nil {
		arguments = written(c.arguments)
	}
	if len(arguments) > maxMessage {
		return ""
	}
	return strings.TrimSpace(words.Cut(c.tool, maxText) + " " + arguments)
}

// showOnly sets the corrected call to whole, without what may not be shown of it. The call is left out
// if that is a name, or a value that is itself wrong: its caller did not send it as it is there.
func (d *Data) showOnly(shown, whole correction) {
	if reflect.DeepEqual(shown, whole) {
		d.correct(whole)
		return
	}
	arguments, ok := d.asSent(whole.arguments, shown.arguments, "")
	members, is := arguments.(map[string]any)
	if whole.tool != shown.tool || !ok || !is {
		members = nil
	}
	d.correct(correction{whole.tool, members})
}

// asSent returns a value with words.AsSent in the place of each part that differs from what is shown.
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

// written writes a value on one line. It is not JSON where a part is withheld, so that nobody sends it.
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

// withoutSecrets withholds the values of the corrected call whose names say that they are secret.
func (d *Data) withoutSecrets() {
	if len(d.CorrectedArguments) == 0 {
		return
	}
	text, err := encode(d.CorrectedArguments)
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	whole := map[string]any{}
	if err != nil || dec.Decode(&whole) != nil {
		return // it holds what is not JSON, such as an error, which is replaced later
	}
	shown := mapMap(whole, valid, plainMember)
	whole = mapMap(whole, valid, func(_ string, v any) any { return decoded(v) })
	d.showOnly(correction{d.CorrectedTool, shown}, correction{d.CorrectedTool, whole})
}
