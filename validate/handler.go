package validate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/explain"
	"github.com/mcpchain/mcpchain/internal/failure"
	"github.com/mcpchain/mcpchain/internal/safe"
	"github.com/mcpchain/mcpchain/internal/words"
)

// Arguments marks an error as being about the arguments of the call, for a handler that
// checks them itself:
//
//	n, err := strconv.Atoi(in.Count)
//	if err != nil {
//		return nil, nil, validate.Arguments(err)
//	}
//
// Errors of encoding/json, strconv and time in it become violations, and any other error
// the generic validation fault: its text is not shown. Errors that Options.Violations knows
// need no mark. A nil error stays nil. A handler that words the fault itself returns one
// from fault.Invalid, or errors.Join of several, and needs no mark either.
func Arguments(err error) error {
	if err == nil {
		return nil
	}
	return call.ArgumentError{Err: err}
}

// handlerFault makes a fault of an error with which a handler refuses its arguments. It
// returns nil if the error does not say that it is about them. An error of strconv may be about a secret of the
// server, and a caller could find the secret by guesses.
func (v *validator) handlerFault(f *failure.Failure, args []byte, schema func() *explain.Schema) *fault.Error {
	if !f.Explainable() {
		return nil
	}
	return guarded(func() *fault.Error { // the errors are untrusted
		marked := false
		var values []error
		var fields []fault.Violation
		checked := sync.OnceValue(func() *checks { return v.checks(args, schema()) })
		argument := func(path string) string { return checked().argument(path) }
		safe.Find(f.Err(), func(err error) bool {
			if _, ok := err.(call.ArgumentError); ok {
				marked = true
				return false
			}
			before := len(fields)
			if v.Violations != nil {
				fields = append(fields, v.Violations(err, argument)...)
			}
			if marked && len(fields) == before {
				values = append(values, err)
			}
			return false
		})
		if !marked && len(fields) == 0 {
			return nil
		}
		c := checked()
		var violations []fault.Violation
		for _, err := range values {
			if at, rule, expected := c.value(err); rule != "" {
				violations = append(violations, c.violation(at, rule, expected))
			}
		}
		total := len(violations) + len(fields)
		for _, field := range fields[:min(len(fields), maxResolved)] {
			one, known := c.field(field)
			if !known && !marked {
				return nil // of a struct that has nothing to do with the arguments
			}
			violations = append(violations, one)
		}
		switch {
		case len(violations) > 0:
			return faultOf(&explain.Report{Violations: violations, Total: total}, "")
		case f.View().Shown: // the reader gets the error's own words
			return nil
		default:
			return fault.Generic(fault.KindValidation)
		}
	})
}

const (
	maxSearched = 1 << 17 // bytes of arguments in which a value is looked for
	maxPlaced   = 1 << 10 // bytes of a value that is looked for
	maxResolved = 100     // fields whose place is looked for, and as many that others are compared with
	maxMembers  = 1000    // names that one is compared with: a struct has fewer
)

// checks word what a handler's own checks found wrong.
type checks struct {
	args   any
	hide   bool
	schema *explain.Schema
	places map[string][]string // of the scalar values, by their texts
	asked  int                 // how often argument was called
}

func (v *validator) checks(args []byte, schema *explain.Schema) *checks {
	c := &checks{hide: v.HideReceived, schema: schema}
	if d := json.NewDecoder(bytes.NewReader(args)); len(args) <= maxSearched {
		d.UseNumber()
		if d.Decode(&c.args) != nil {
			c.args = nil
		}
	}
	return c
}

// field completes the violation of a field. The field is known if the arguments or the schema have its name.
func (c *checks) field(of fault.Violation) (one fault.Violation, known bool) {
	names := split(of.Field)
	at, known := c.resolve(names)
	if len(at) == 0 {
		at = []string{""} // no value has that name
	}
	one = c.violation(at, of.Rule, of.Expected)
	if one.Received != nil { // what is near a value says something about it
		one.Suggestion = of.Suggestion
	}
	return one, known
}

// argument returns how the caller names the field with a path.
func (c *checks) argument(path string) string {
	if c.asked++; c.asked > maxResolved {
		return path
	}
	at, _ := c.resolve(split(path))
	name, _ := explain.Place(c.args, at)
	return name
}

// split returns the names in a path, "Items[1].SKU".
func split(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return strings.ContainsRune(".[]", r) })
}

// resolve returns the place for names of a Go struct, compared with the members of the
// arguments and with the properties of the schema. It is known if all of them are found.
func (c *checks) resolve(names []string) (at []string, known bool) {
	value := c.args
	known = len(names) > 0
	for _, name := range names {
		if list, ok := value.([]any); ok {
			if i, err := strconv.Atoi(name); err == nil && i >= 0 && i < len(list) {
				at, value = append(at, name), list[i]
				continue
			}
		}
		object, _ := value.(map[string]any)
		actual := name
		_, has := object[name]
		if !has && len(object) <= maxMembers {
			actual, has = sameName(name, maps.Keys(object))
		}
		if !has {
			actual, has = sameName(name, slices.Values(c.schema.Known(at)))
		}
		if !has {
			actual, known = name, false
		}
		at, value = append(at, actual), object[actual]
	}
	return at, known
}

// sameName finds the name that is the given one but for case and what separates words: UserID
// is user_id.
func sameName(name string, of iter.Seq[string]) (found string, ok bool) {
	folded := folder.Replace(strings.ToLower(name))
	for have := range of {
		if (!ok || have < found) && folder.Replace(strings.ToLower(have)) == folded {
			found, ok = have, true
		}
	}
	return found, ok
}

var folder = strings.NewReplacer("_", "", "-", "", " ", "")

// value returns the place and the rule of a marked error of the standard library, and what was expected.
func (c *checks) value(err error) (at []string, rule, expected string) {
	switch e := err.(type) {
	case *strconv.NumError:
		expected = "a number"
		switch {
		case strings.Contains(e.Func, "Int"), e.Func == "Atoi":
			expected = "an integer"
		case e.Func == "ParseUint":
			expected = "an integer, 0 or greater"
		case e.Func == "ParseBool":
			expected = "true or false"
		}
		if errors.Is(e.Err, strconv.ErrRange) {
			return c.find(e.Num), "range", expected + " that is not that large"
		}
		return c.find(e.Num), "type", expected
	case *time.ParseError:
		return c.find(strings.Trim(e.Value, `"`)), "format", words.Time(strings.Trim(e.Layout, `"`))
	case *json.UnmarshalTypeError:
		at, _ = c.resolve(split(e.Field))
		return at, "type", typeWords(e.Type)
	}
	return nil, "", ""
}

// find returns where a value stands in the arguments. It is nil for a value at several places or at none: the caller
// may not have sent it.
func (c *checks) find(text string) []string {
	if c.places == nil {
		c.places = map[string][]string{}
		c.index(c.args, []string{})
	}
	return c.places[text]
}

// index notes where each short scalar value stands, nil for one that stands at several places.
func (c *checks) index(v any, at []string) {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			c.index(member, append(slices.Clip(at), name))
		}
	case []any:
		for i, item := range v {
			c.index(item, append(slices.Clip(at), strconv.Itoa(i)))
		}
	case string, json.Number, bool:
		if text := fmt.Sprint(v); len(text) <= maxPlaced {
			if _, twice := c.places[text]; twice {
				at = nil
			}
			c.places[text] = at
		}
	}
}

// violation words what is wrong with the value at a place. It leaves out a received value that must not be shown.
func (c *checks) violation(at []string, rule, expected string) fault.Violation {
	one := fault.Violation{Rule: rule, Expected: strings.TrimPrefix(expected, "must be ")}
	one.Field, one.Pointer = explain.Place(c.args, at)
	value := explain.ValueAt(c.args, at)
	subject, received := "Argument '"+one.Field+"'", ""
	switch {
	case one.Field == "":
		subject = "An argument" // it is unknown which
	case rule == "required" && value == nil:
		one.Message = words.Missing(subject, "", "")
		return one
	case value != nil:
		received, one.Received = explain.Received(value, c.hide || c.schema.Hides(at))
	}
	one.Message = words.Wrong(subject, expected, "", received)
	return one
}

// typeWords returns the values that a Go type takes, in words for a caller.
func typeWords(t reflect.Type) string {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil {
		return "a value of another type"
	}
	if t == reflect.TypeFor[time.Time]() {
		return words.Time(time.RFC3339)
	}
	switch k := t.Kind(); {
	case k == reflect.Bool:
		return "true or false"
	case k == reflect.String:
		return "a string"
	case reflect.Int <= k && k <= reflect.Int64:
		most := int64(1)<<(t.Bits()-1) - 1
		return "an integer from " + strconv.FormatInt(-most-1, 10) + " to " + strconv.FormatInt(most, 10)
	case reflect.Uint <= k && k <= reflect.Uintptr:
		return "an integer from 0 to " + strconv.FormatUint(^uint64(0)>>(64-t.Bits()), 10)
	case k == reflect.Float32 || k == reflect.Float64:
		return "a number of at most " + strconv.Itoa(t.Bits()) + " bits"
	case k == reflect.Slice || k == reflect.Array:
		return "a list"
	case k == reflect.Map || k == reflect.Struct:
		return "an object"
	default:
		return "a value of another type"
	}
}
