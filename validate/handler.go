package validate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
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
// the generic validation fault: its text is not shown. Errors of go-playground/validator
// need no mark. A nil error stays nil. A handler that words the fault itself returns one
// from fault.Invalid, or errors.Join of several, and needs no mark either.
func Arguments(err error) error {
	if err == nil {
		return nil
	}
	return call.ArgumentError{Err: err}
}

// handlerFault makes a fault of an error with which a handler refuses its arguments. It
// returns nil when the error does not say that it is about them: an error of strconv may
// be about a secret of the server, and who sends guesses would learn it.
func (v *validator) handlerFault(f *failure.Failure, args []byte, schema func() *explain.Schema) *fault.Error {
	if !f.Explainable() {
		return nil
	}
	return guarded(func() *fault.Error { // the errors are untrusted
		marked := false
		var values []error
		var fields []fieldError
		safe.Find(f.Err(), func(err error) bool {
			if _, ok := err.(call.ArgumentError); ok {
				marked = true
			} else if found := fieldErrors(err); found != nil {
				fields = append(fields, found...)
			} else if marked {
				values = append(values, err)
			}
			return false
		})
		if !marked && len(fields) == 0 {
			return nil
		}
		c := v.checks(args, schema())
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
		if len(violations) == 0 {
			return fault.Generic(fault.KindValidation)
		}
		return faultOf(&explain.Report{Violations: violations, Total: total}, "")
	})
}

const (
	maxSearched = 1 << 17 // bytes of arguments in which a value is looked for
	maxPlaced   = 1 << 10 // bytes of a value that is looked for
	maxFields   = 1000    // field errors that are counted
	maxResolved = 100     // field errors whose place is looked for
	maxMembers  = 1000    // names that one is compared with: a struct has fewer
)

// checks word what a handler's own checks found wrong.
type checks struct {
	args   any
	hide   bool
	schema *explain.Schema
	places map[string][]string // of the scalar values, by their texts
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

// value says what a marked error of the standard library tells, and about which place.
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
		return c.find(strings.Trim(e.Value, `"`)), "format", timeWords(strings.Trim(e.Layout, `"`))
	case *json.UnmarshalTypeError:
		at, _ = c.resolve(steps(e))
		return at, "type", typeWords(e.Type)
	}
	return nil, "", ""
}

func steps(e *json.UnmarshalTypeError) []string {
	return strings.FieldsFunc(e.Field, func(r rune) bool { return r == '.' })
}

// find returns where a value stands in the arguments, nil where it is at several places or at
// none: nobody knows whether the caller sent it.
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

// violation words what is wrong with the value at a place, without a received value that
// must not be shown.
func (c *checks) violation(at []string, rule, expected string) fault.Violation {
	one := fault.Violation{Rule: rule, Expected: strings.TrimPrefix(expected, "must be ")}
	one.Field, one.Pointer = explain.Place(c.args, at)
	value := explain.ValueAt(c.args, at)
	subject, received := "Argument '"+one.Field+"'", ""
	switch {
	case one.Field == "":
		subject = "An argument" // nobody knows which
	case rule == "required" && value == nil:
		one.Message = words.Missing(subject, "", "")
		return one
	case value != nil:
		received, one.Received = explain.Received(value, c.hide || c.schema.Hides(at))
	}
	one.Message = words.Wrong(subject, expected, "", received)
	return one
}

// timeWords shows by an example how a time is written in a layout of package time.
func timeWords(layout string) string {
	switch example := exampleTime.Format(layout); layout {
	case "":
		return "a date or time"
	case time.RFC3339, time.RFC3339Nano:
		return "a date and time with its zone, such as 2026-01-31T13:45:00Z"
	case time.DateOnly:
		return "a date such as " + example
	default:
		return "a string such as '" + example + "'"
	}
}

// exampleTime has no two parts that are the same, so that it shows which is which.
var exampleTime = time.Date(2026, time.January, 31, 13, 45, 6, 0, time.UTC)

// typeWords says in words for a caller what a Go type takes.
func typeWords(t reflect.Type) string {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil {
		return "a value of another type"
	}
	if t == reflect.TypeFor[time.Time]() {
		return timeWords(time.RFC3339)
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
