package validate

import (
	"encoding"
	"encoding/json"
	"errors"
	"math/big"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/safe"
)

// violation returns the violation of a rule at a place.
func violation(at path, value any, rule, expected string) fault.Violation {
	return fault.Violation{Field: at.field(), Pointer: at.pointer(), Rule: rule, Expected: expected, Received: value}
}

// typeCheck is for a value that does not fit into a Go type. It is about the
// arguments when they have a value at this place that does not fit.
func typeCheck(e *json.UnmarshalTypeError) check {
	return func(p *places, _ bool) (fault.Violation, bool) {
		if e.Field == "" || e.Type == nil {
			return fault.Violation{}, false
		}
		var found path
		var received any
		at(p.args, strings.Split(e.Field, "."), nil, func(at path, value any) bool {
			if fitsType(value, e.Type) {
				return true
			}
			found, received = append(path(nil), at...), value
			return false
		})
		if found == nil {
			return fault.Violation{}, false
		}
		return violation(found, received, "type", typeWords(e.Type, received)), true
	}
}

// at visits the values under names, of which those of arrays' indexes may be left
// out, as encoding/json does. It reports false when visit did.
func at(v any, names []string, here path, visit func(path, any) bool) bool {
	if list, ok := v.([]any); ok {
		if len(names) > 0 {
			if i, err := strconv.Atoi(names[0]); err == nil {
				return i < 0 || i >= len(list) || at(list[i], names[1:], append(here, i), visit)
			}
		}
		for i, item := range list {
			if !at(item, names, append(here, i), visit) {
				return false
			}
		}
		if len(names) > 0 {
			return true
		}
	}
	if len(names) == 0 {
		return visit(here, v)
	}
	object, ok := v.(map[string]any)
	if !ok {
		return true
	}
	// A name may have dots in it.
	for n := 1; n <= len(names); n++ {
		name, ok := sameName(strings.Join(names[:n], "."), object)
		if ok && !at(object[name], names[n:], append(here, name), visit) {
			return false
		}
	}
	return true
}

// fitsType reports whether a decoder would put the value into the type, as far as
// the kind of the type tells.
func fitsType(value any, t reflect.Type) bool {
	t = pointed(t)
	if _, isText := value.(string); !isText && value != nil && takesText(t) {
		return false
	}
	switch v := value.(type) {
	case bool:
		return t.Kind() == reflect.Bool || t.Kind() == reflect.Interface
	case string:
		return t.Kind() == reflect.String || t.Kind() == reflect.Interface
	case json.Number:
		switch t.Kind() {
		case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
			_, err := strconv.ParseInt(v.String(), 10, t.Bits())
			return err == nil
		case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
			_, err := strconv.ParseUint(v.String(), 10, t.Bits())
			return err == nil
		case reflect.Float32, reflect.Float64:
			_, err := strconv.ParseFloat(v.String(), t.Bits())
			return err == nil
		default:
			return t.Kind() == reflect.Interface
		}
	case []any:
		return t.Kind() == reflect.Slice || t.Kind() == reflect.Array || t.Kind() == reflect.Interface
	case map[string]any:
		return t.Kind() == reflect.Map || t.Kind() == reflect.Struct || t.Kind() == reflect.Interface
	default:
		return true // null fits everywhere
	}
}

func pointed(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// takesText reports whether a type is decoded from a string by a method of its own.
func takesText(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) && !p.Implements(reflect.TypeFor[json.Unmarshaler]())
}

// typeWords says in words for a caller what a Go type takes.
func typeWords(t reflect.Type, received any) string {
	t = pointed(t)
	_, isNumber := received.(json.Number)
	switch {
	case t == reflect.TypeFor[time.Time]():
		return timeWords(time.RFC3339)
	case takesText(t):
		return "a string"
	}
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a string"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		if isNumber {
			limit := new(big.Int).Lsh(big.NewInt(1), uint(t.Bits()-1))
			return "an integer from -" + limit.String() + " to " + limit.Sub(limit, big.NewInt(1)).String()
		}
		return "an integer"
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		if isNumber {
			limit := new(big.Int).Lsh(big.NewInt(1), uint(t.Bits()))
			return "an integer from 0 to " + limit.Sub(limit, big.NewInt(1)).String()
		}
		return "an integer, 0 or greater"
	case reflect.Float32, reflect.Float64:
		if isNumber {
			return "a smaller number"
		}
		return "a number"
	case reflect.Slice, reflect.Array:
		return "an array"
	case reflect.Map, reflect.Struct:
		return "an object"
	default:
		return "a value of another type"
	}
}

// syntaxCheck is for text that is no JSON. It is about the arguments when a string
// in them fails in the same way: their own syntax was checked before.
func syntaxCheck(e *json.SyntaxError) check {
	return func(p *places, _ bool) (fault.Violation, bool) {
		want := safe.Error(e)
		var received any
		found := p.find(func(scalar any) bool {
			text, ok := scalar.(string)
			if !ok {
				return false
			}
			var syntax *json.SyntaxError
			var v any
			if !errors.As(json.Unmarshal([]byte(text), &v), &syntax) || syntax.Offset != e.Offset || syntax.Error() != want {
				return false
			}
			received = text
			return true
		})
		if found == nil {
			return fault.Violation{}, false
		}
		v := violation(found, received, "json", "valid JSON")
		v.Suggestion = "It stops being JSON at character " + strconv.FormatInt(max(1, e.Offset), 10) + "."
		return v, true
	}
}

// numberCheck is for text that is no number or boolean, which must stand in the
// arguments as it is.
func numberCheck(e *strconv.NumError) check {
	return func(p *places, _ bool) (fault.Violation, bool) {
		found, received := p.text(e.Num)
		if found == nil {
			return fault.Violation{}, false
		}
		expected := "a number"
		switch {
		case strings.Contains(e.Func, "Int"), e.Func == "Atoi":
			expected = "an integer"
		case e.Func == "ParseUint":
			expected = "an integer, 0 or greater"
		case e.Func == "ParseBool":
			expected = "true or false"
		}
		if errors.Is(e.Err, strconv.ErrRange) {
			return violation(found, received, "range", expected+" that is not that large"), true
		}
		return violation(found, received, "type", expected), true
	}
}

// timeCheck is for text that is no time, which must stand in the arguments as it is.
func timeCheck(e *time.ParseError) check {
	return func(p *places, _ bool) (fault.Violation, bool) {
		found, received := p.text(strings.Trim(e.Value, `"`))
		if found == nil {
			return fault.Violation{}, false
		}
		return violation(found, received, "format", timeWords(strings.Trim(e.Layout, `"`))), true
	}
}

// timeWords shows by an example how a time is written in a layout of package time.
func timeWords(layout string) string {
	if layout == "" {
		return "a date or time"
	}
	return "a date or time such as '" + exampleTime.Format(layout) + "'"
}

// exampleTime has no two parts that are the same, so that it shows which is which.
var exampleTime = time.Date(2026, time.July, 28, 15, 4, 5, 0, time.UTC)

// text returns the only place where a string or number is written like this.
func (p *places) text(written string) (at path, received any) {
	at = p.find(func(scalar any) bool {
		switch v := scalar.(type) {
		case string:
			if v == written {
				received = v
				return true
			}
		case json.Number:
			if v.String() == written {
				received = v
				return true
			}
		}
		return false
	})
	return at, received
}
