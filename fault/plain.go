package fault

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	// exactInt is the number below which a float64 holds every integer. The number
	// itself is not among them: its successor is rounded to it.
	exactInt = 1 << 53
	// maxDepth bounds how deep a value may be nested: encoding/json reads no more
	// than 10000 levels, and a fault still has to fit into something.
	maxDepth = 100

	unwritable = "(a value that cannot be written as JSON)"
	// An error belongs to the cause: nobody made its fields for a caller.
	unshown = "(an error, which is not shown)"
)

// plain returns v as it would be after a journey over the wire, so that a fault
// equals itself on the other side, shares nothing with its maker and can always
// be marshalled: strings, booleans, float64 (json.Number where a float64 would
// lose digits), []any, map[string]any.
func plain(v any) any {
	switch v := v.(type) {
	case nil, bool:
		return v
	case string:
		return valid(v)
	case int:
		if -exactInt < v && v < exactInt {
			return float64(v)
		}
	case float64:
		if math.Abs(v) < exactInt {
			return v
		}
	case error:
		if _, public := v.(*Error); !public && reflect.TypeOf(v) != reflect.TypeFor[Kind]() {
			return unshown
		}
	}
	text, err := encode(v)
	if err != nil {
		return unwritable
	}
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var p any
	if err := dec.Decode(&p); err != nil {
		return unwritable
	}
	return decoded(p)
}

// decoded is plain for a value that a decoder made which keeps numbers as they
// were written. It reuses the value.
func decoded(v any) any {
	if v, ok := numbers(v, 0); ok {
		return v
	}
	return unwritable
}

// numbers reports false for a value that is nested too deeply.
func numbers(v any, depth int) (_ any, ok bool) {
	if depth > maxDepth {
		return nil, false
	}
	switch v := v.(type) {
	case json.Number:
		return number(v), true
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

// number returns n as a float64, or as it is when that could lose digits of an
// integer.
func number(n json.Number) any {
	f, err := n.Float64()
	if err != nil || math.Abs(f) >= exactInt {
		return n
	}
	return f
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
		return mapMap(v, text, func(v any) any { return mapValue(v, text) })
	default:
		return v
	}
}

// mapMap returns m with its keys passed through text and its values through
// value. Keys that become the same are numbered, in a fixed order, so that
// nothing is lost and the same map gives the same result.
func mapMap(m map[string]any, text func(string) string, value func(any) any) map[string]any {
	out := make(map[string]any, len(m))
	var renamed []string
	for k, v := range m {
		if text(k) == k {
			out[k] = value(v)
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
		out[name] = value(m[k])
	}
	return out
}

// valid returns s as JSON has it: each byte that is not UTF-8 is replaced.
func valid(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return string([]rune(s))
}

// compact writes details or parameters on one line, as the text shows them.
func compact(m map[string]any) string {
	text, err := encode(m)
	if err != nil { // not made by plain: what a user hands to StepsText
		text, _ = encode(mapMap(m, valid, plain))
	}
	return text
}

// encode guards the MarshalJSON of a stranger.
func encode(v any) (text string, err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("fault: a MarshalJSON method panicked")
		}
	}()
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err = enc.Encode(v)
	return strings.TrimSuffix(b.String(), "\n"), err
}
