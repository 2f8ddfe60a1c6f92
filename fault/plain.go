package fault

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mcpchain/mcpchain/internal/safe"
	"github.com/mcpchain/mcpchain/internal/scrub"
	"github.com/mcpchain/mcpchain/internal/words"
)

const (
	// exactInt is the number below which a float64 holds every integer. It is not one of them
	// itself: the next integer is rounded to it.
	exactInt = 1 << 53
	// maxDepth bounds how deep a value may be nested: encoding/json reads at most 10000 levels, and
	// a fault may itself be nested in a value.
	maxDepth = 100
)

// cleaner makes values fit for the wire. An error in them is replaced by its public part, and
// values under the name of a secret are hidden. ScrubbedBy scrubs texts later.
var cleaner = scrub.Cleaner{Copy: true, Public: func(err error) any {
	switch e := err.(type) {
	case *Error:
		raw, err := json.Marshal(e)
		if err != nil {
			return nil // never happens: a fault holds only what JSON can hold
		}
		return json.RawMessage(raw)
	case Kind:
		return string(e)
	default:
		return nil
	}
}}

// plain returns v as it would be after it was encoded and decoded: strings, booleans, float64
// (json.Number if a float64 would lose digits), []any, map[string]any. So a fault equals itself on
// the other side, shares nothing with its maker and can always be marshalled.
func plain(v any) any {
	switch v := v.(type) {
	case nil, bool:
		return v
	case string:
		return valid(v)
	}
	return decoded(cleaner.Value(v))
}

// plainMember is plain for a value with a name, which may be that of a secret.
func plainMember(name string, v any) any {
	if !scrub.SecretName(name) {
		return plain(v)
	}
	return decoded(cleaner.Member(name, v))
}

// decoded is plain for a decoded value that keeps numbers as they were written. It reuses the
// value.
func decoded(v any) any {
	if v, ok := numbers(v, 0); ok {
		return v
	}
	return scrub.Unwritable
}

// numbers replaces the numbers in a value. It reports false for a value that is nested too deeply.
func numbers(v any, depth int) (_ any, ok bool) {
	if depth > maxDepth {
		return nil, false
	}
	switch v := v.(type) {
	case json.Number:
		return number(v), true
	case int, int32, int64, uint32, uint64, float64:
		if f := reflect.ValueOf(v).Convert(reflect.TypeFor[float64]()).Float(); math.Abs(f) < exactInt {
			return f, true
		}
		raw, err := json.Marshal(v)
		return json.Number(raw), err == nil
	case []any:
		for i := range v {
			if v[i], ok = numbers(v[i], depth+1); !ok {
				return nil, false
			}
		}
	case map[string]any:
		for k := range v {
			if v[k], ok = numbers(v[k], depth+1); !ok {
				return nil, false
			}
		}
	}
	return v, true
}

// number returns n as a float64, or unchanged if that could lose digits of an integer. A number
// that no float64 holds becomes a text, because many JSON readers refuse the whole document for it.
func number(n json.Number) any {
	f, err := n.Float64()
	switch {
	case errors.Is(err, strconv.ErrRange):
		return string(n)
	case err != nil || math.Abs(f) >= exactInt:
		return n
	default:
		return f
	}
}

// mapValue returns a deep copy of a plain value with every string and every key
// passed through text.
func mapValue(v any, text func(string) string) any {
	switch v := v.(type) {
	case string:
		return text(v)
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = mapValue(v[i], text)
		}
		return list
	case map[string]any:
		return mapMap(v, text, func(_ string, v any) any { return mapValue(v, text) })
	default:
		return v
	}
}

// mapMap returns m with its keys passed through text and its values through value. Keys that become
// equal are numbered in a fixed order: nothing is lost, and the same map gives the same result.
func mapMap(m map[string]any, text func(string) string, value func(name string, v any) any) map[string]any {
	out := make(map[string]any, len(m))
	var renamed []string
	for k, v := range m {
		if text(k) == k {
			out[k] = value(k, v)
		} else {
			renamed = append(renamed, k)
		}
	}
	slices.Sort(renamed)
	for i, k := range renamed {
		name := text(k)
		for n := i + 1; ; n++ {
			if _, taken := out[name]; !taken {
				break
			}
			name = fmt.Sprintf("%s (%d)", text(k), n)
		}
		out[name] = value(k, m[k])
	}
	return out
}

// valid returns s as JSON writes it: each byte that is not UTF-8 is replaced.
func valid(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return string([]rune(s))
}

// compact writes details or parameters on one line, as the text shows them.
func compact(m map[string]any) string {
	text, err := encode(m)
	if err != nil { // plain did not make it: a user gave it to StepsText
		text, _ = encode(mapMap(m, valid, plainMember))
	}
	return text
}

// encode writes v on one line.
func encode(v any) (text string, err error) {
	if _, panicked := safe.Call(func() {
		var b strings.Builder
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		err = enc.Encode(v)
		text = words.JSON(strings.TrimSuffix(b.String(), "\n"))
	}, nil); panicked {
		return "", errors.New("fault: a MarshalJSON method panicked")
	}
	return text, err
}
