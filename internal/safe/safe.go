// Package safe calls the methods of values that the library did not make: an
// Error or String method of an unknown type may panic, and a typed nil usually does.
package safe

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// Error returns err.Error(), or a text that names the type if err holds a nil or the method panics.
// It never panics itself.
func Error(err error) (text string) {
	if err == nil {
		return "<nil>"
	}
	defer func() {
		if recover() != nil {
			text = placeholder(err, "Error")
		}
	}()
	if text = err.Error(); text == "" && reflect.ValueOf(err).Kind() == reflect.Pointer && Nil(err) {
		return placeholder(err, "Error") // a nil whose method works, but returns nothing
	}
	return text
}

// Value returns a text for any value, for the log. Strings, errors and fmt.Stringers give their own
// text; fmt prints everything else. Value never panics. It names only the type in two cases: one of
// the value's methods panics, because fmt would print the text of that panic; or the value is very
// large or refers to itself, because fmt would print it until the stack overflows.
func Value(v any) (text string) {
	switch v := v.(type) {
	case nil:
		return "<nil>"
	case string:
		return v
	case error:
		return Error(v)
	case int:
		return strconv.Itoa(v)
	}
	defer func() {
		if recover() != nil {
			text = placeholder(v, "String")
		}
	}()
	if s, ok := v.(fmt.Stringer); ok {
		return s.String()
	}
	if size := maxSize; !small(reflect.ValueOf(v), maxDepth, &size) {
		return fmt.Sprintf("<%T: too large to print>", v)
	}
	text = fmt.Sprintf("%+v", v)
	if strings.Contains(text, "(PANIC=") { // how fmt reports a method that panicked
		return placeholder(v, "String")
	}
	return text
}

const (
	maxSize  = 10_000 // values in a value that is printed
	maxDepth = 20     // levels of values in values
)

// small reports whether v is bounded. It visits the values that fmt prints: of a nested pointer fmt
// prints only the address.
func small(v reflect.Value, depth int, size *int) bool {
	if *size--; *size < 0 || depth < 0 {
		return false
	}
	switch v.Kind() {
	case reflect.Pointer:
		return v.IsNil() || depth < maxDepth || small(v.Elem(), depth-1, size)
	case reflect.Interface:
		return v.IsNil() || small(v.Elem(), depth-1, size)
	case reflect.Struct:
		for _, field := range v.Fields() {
			if !small(field, depth-1, size) {
				return false
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if !small(v.Index(i), depth-1, size) {
				return false
			}
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			if !small(it.Key(), depth-1, size) || !small(it.Value(), depth-1, size) {
				return false
			}
		}
	default:
	}
	return true
}

// Nil reports whether v is nil or holds a nil pointer, map, slice, function,
// channel or interface. It uses reflection: call it on failure paths only.
func Nil(v any) bool {
	if v == nil {
		return true
	}
	switch rv := reflect.ValueOf(v); rv.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Slice, reflect.Func, reflect.Chan, reflect.Interface:
		return rv.IsNil()
	default:
		return false
	}
}

// Same reports whether a and b are the same value, most often an error. Unlike ==, it does not panic on types
// that cannot be compared, such as a slice of field errors: those are the same if they share their memory.
// Functions are the same only if both are nil, because two closures cannot be distinguished.
func Same(a, b any) bool { return same(reflect.ValueOf(a), reflect.ValueOf(b)) }

func same(a, b reflect.Value) bool {
	switch {
	case !a.IsValid() || !b.IsValid():
		return a.IsValid() == b.IsValid()
	case a.Type() != b.Type():
		return false
	case a.Comparable() && b.Comparable():
		return a.Equal(b)
	}
	switch a.Kind() {
	case reflect.Slice:
		return a.Len() == b.Len() && a.Pointer() == b.Pointer()
	case reflect.Map:
		return a.Pointer() == b.Pointer()
	case reflect.Func:
		return a.IsNil() && b.IsNil()
	case reflect.Interface:
		return same(a.Elem(), b.Elem())
	case reflect.Struct:
		for i := range a.NumField() {
			if !same(a.Field(i), b.Field(i)) {
				return false
			}
		}
	case reflect.Array:
		for i := range a.Len() {
			if !same(a.Index(i), b.Index(i)) {
				return false
			}
		}
	default:
	}
	return true
}

// placeholder stands for a value whose method panicked or returned nothing.
func placeholder(v any, method string) string {
	if Nil(v) {
		return fmt.Sprintf("<nil %T>", v)
	}
	return fmt.Sprintf("<%T: its %s method panicked>", v, method)
}
