package explain

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/mcpchain/mcpchain/internal/scrub"
	"github.com/mcpchain/mcpchain/internal/words"
)

const maxCorrected = 1000 // bytes

// A correction is the whole arguments as they were meant.
type correction struct {
	value any
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
	if err != nil || !r.valid(r.schema.root, d.value) {
		return nil
	}
	return &correction{r.mended, raw}
}

// offer gives a correction to the caller, unless received values are hidden or one of them cannot be
// written on a line as it is.
func (r *report) offer(c *correction) {
	if c == nil || c.raw == nil || r.hide {
		return
	}
	if fits, secret := r.repeats(c.value, nil); fits {
		r.Corrected, r.Secret = c.raw, secret
	}
}

// repeats reports whether a value, and all in it, can be written as it is, and whether there is something
// in it that only its sender may read.
func (r *report) repeats(v any, at []string) (fits, secret bool) {
	each := func(member any, step string) bool {
		ok, private := r.repeats(member, append(slices.Clip(at), step))
		secret = secret || private
		return ok
	}
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			if words.Cut(name, maxName) != name || !each(member, name) {
				return false, false
			}
			secret = secret || r.schema.shownName(name) != name
		}
		return true, secret
	case []any:
		for i, item := range v {
			if i > maxCorrected || !each(item, strconv.Itoa(i)) {
				return false, false
			}
		}
		return true, secret
	case string:
		fits = len(v) <= maxCorrected && words.Cut(v, maxCorrected) == v
		return fits, fits && scrub.Credentials(v) != v || r.schema.Hides(at)
	case json.Number:
		return sendable(v), r.schema.Hides(at)
	default:
		return true, r.schema.Hides(at)
	}
}

// sendable reports whether a number can be certain to be taken: JSON Schema does not say how large an
// integer may be, but a program that reads one into 64 bits does, and may have no -0.
func sendable(n json.Number) bool {
	if !isInteger(n) {
		return true
	}
	i := rat(n).Num()
	return (i.IsInt64() || i.IsUint64()) && (i.Sign() != 0 || n[0] != '-')
}
