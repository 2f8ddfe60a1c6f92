package explain

import (
	"encoding/json"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpchain/mcpchain/internal/scrub"
	"github.com/mcpchain/mcpchain/internal/words"
)

const maxCorrected = 1000 // bytes

// A correction is the whole arguments as they were meant.
type correction struct {
	value any
	sent  any             // what of it was sent, at the same places
	raw   json.RawMessage // nil if they would be too long to be read
}

// ordinary returns the arguments with all corrections of single values and names, nil unless these are
// certain and the arguments are valid then.
func (r *report) ordinary() *correction {
	if _, ok := r.mended.(map[string]any); !ok || r.unsure {
		return nil
	}
	raw, err := encode(r.mended)
	if err != nil || len(raw) > maxCorrected {
		return nil
	}
	d, err := read(raw, maxSent)
	if err != nil || !r.valid(d.value) {
		return nil
	}
	return &correction{r.mended, r.args, raw}
}

// offer gives a correction to the caller, unless received values are hidden or one of them cannot be
// written on a line as it is.
func (r *report) offer(c *correction) {
	if c == nil || c.raw == nil || r.hide {
		return
	}
	shown, ok := r.shown(c.value, c.sent, nil)
	if !ok {
		return
	}
	if reflect.DeepEqual(shown, c.value) {
		r.Corrected = c.raw
	} else {
		r.Withheld, _ = shown.(map[string]any)
	}
}

// shown returns a value as it may be shown, with words.AsSent in the place of each part that must not
// be. It reports false if a part cannot be written as it is, and if one that must not be shown is not
// what was sent at that place.
func (r *report) shown(v, sent any, at []string) (_ any, ok bool) {
	if text, is := sent.(string); is {
		if _, is = v.(string); !is {
			if d, err := read([]byte(text), maxSent); err == nil && isContainer(d.value) {
				sent = d.value // it was sent as a string that holds it
			}
		}
	}
	withheld := func() (any, bool) { return words.AsSent, reflect.DeepEqual(v, sent) }
	if len(at) > 0 && r.schema.Hides(at) {
		return withheld()
	}
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, m := range v {
			if r.schema.shownName(name) != name {
				return nil, false
			}
			if out[name], ok = r.shown(m, member(sent, name), append(slices.Clip(at), name)); !ok {
				return nil, false
			}
		}
		return out, true
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			if i > maxCorrected {
				return nil, false
			}
			step := strconv.Itoa(i)
			if out[i], ok = r.shown(item, member(sent, step), append(slices.Clip(at), step)); !ok {
				return nil, false
			}
		}
		return out, true
	case string:
		if scrub.Credentials(v) != v {
			return withheld()
		}
		return v, len(v) <= maxCorrected && words.Cut(v, maxCorrected) == v
	case json.Number:
		if scrub.Credentials(string(v)) != string(v) {
			return withheld()
		}
		return v, sendable(v)
	default:
		return v, true
	}
}

// sendable reports whether a number can be certain to be taken as it is: JSON Schema does not say how large an
// integer may be, but a program that reads one into 64 bits does, and may have no -0. With a fraction or an
// exponent it is read into a float64.
func sendable(n json.Number) bool {
	exact, _ := new(big.Rat).SetString(string(n))
	if strings.ContainsAny(string(n), ".eE") {
		f, err := n.Float64()
		shortest, ok := new(big.Rat).SetString(strconv.FormatFloat(f, 'g', -1, 64))
		if err != nil || !ok || shortest.Cmp(exact) != 0 {
			return false
		}
	}
	if !exact.IsInt() {
		return true
	}
	i := exact.Num()
	return (i.IsInt64() || i.IsUint64()) && (i.Sign() != 0 || n[0] != '-')
}
