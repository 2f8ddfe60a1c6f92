package validate

import (
	"encoding"
	"encoding/json"
	"math/big"
	"reflect"
	"strconv"
	"strings"
	"time"
)

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
		if t == reflect.TypeFor[time.Time]() {
			_, err := time.Parse(time.RFC3339, v)
			return err == nil
		}
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

// isCalled reports whether a value may be the one that a decoder describes so:
// "string", "number 300". The SDK's own decoder describes some in other ways.
func isCalled(value any, described string) bool {
	word, literal, _ := strings.Cut(described, " ")
	kind := kindOf(value)
	switch word {
	case "bool":
		return kind == "boolean"
	case "number":
		number, ok := value.(json.Number)
		return ok && (literal == "" || strings.Contains(literal, " ") || literal == number.String())
	case "string", "array", "object":
		return kind == word
	default:
		return true
	}
}

// kindOf names the type of a decoded value as a schema does.
func kindOf(value any) string {
	switch value.(type) {
	case bool:
		return "boolean"
	case string:
		return "string"
	case json.Number:
		return "number"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	default:
		return "null"
	}
}

// kindsFit reports whether a value is of the kind that a type is decoded from, as far
// as is known, so that only its limits or its form can be wrong.
func kindsFit(value any, t reflect.Type) bool {
	t = pointed(t)
	if reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return true
	}
	switch value.(type) {
	case bool:
		return t.Kind() == reflect.Bool
	case string:
		return t.Kind() == reflect.String || takesText(t)
	case json.Number:
		return reflect.Int <= t.Kind() && t.Kind() <= reflect.Float64
	case []any:
		return t.Kind() == reflect.Slice || t.Kind() == reflect.Array
	case map[string]any:
		return t.Kind() == reflect.Map || t.Kind() == reflect.Struct
	default:
		return true
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
