package explain

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/mcpchain/mcpchain/internal/scrub"
	"github.com/mcpchain/mcpchain/internal/words"
)

const maxCorrected = 1000 // bytes

// corrected returns the arguments with all corrections, nil unless these are certain, the
// arguments are valid then, and they may be repeated.
func (r *report) corrected() json.RawMessage {
	if r.unsure || r.hide {
		return nil
	}
	if _, ok := r.mended.(map[string]any); !ok || !r.shows(r.mended, nil) {
		return nil
	}
	raw, err := encode(r.mended)
	if err != nil || len(raw) > maxCorrected {
		return nil
	}
	d, err := read(raw, maxSent)
	if err != nil || r.validate(r.schema.root, d, true) != nil {
		return nil
	}
	return raw
}

// shows reports whether a value, and all in it, may be repeated.
func (r *report) shows(v any, at []string) bool {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			if r.schema.shownName(name) != name || !r.shows(member, append(slices.Clip(at), name)) {
				return false
			}
		}
		return true
	case []any:
		for i, item := range v {
			if i > maxCorrected || !r.shows(item, append(slices.Clip(at), strconv.Itoa(i))) {
				return false
			}
		}
		return true
	case string:
		return len(v) <= maxCorrected && words.Cut(scrub.Credentials(v), maxCorrected) == v && !r.schema.Hides(at)
	default:
		return !r.schema.Hides(at)
	}
}
