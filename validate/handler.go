package validate

import (
	"bytes"
	"context"
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
	"github.com/mcpchain/mcpchain/internal/safe"
	"github.com/mcpchain/mcpchain/internal/scrub"
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
func (v *validator) handlerFault(ctx context.Context, f *call.Failure, args []byte, schemaOf func() (*explain.Schema, error)) *fault.Error {
	if !f.Explainable() {
		return nil
	}
	return guarded(func() *fault.Error { // the errors are untrusted
		marked := false
		var all []fieldError
		var values []fault.Violation
		safe.Find(f.Err(), func(err error) bool {
			if _, ok := err.(call.ArgumentError); ok {
				marked = true
			} else if fields := fieldErrors(err); fields != nil && (marked || !v.KeepHandlerErrors) {
				all = append(all, fields...)
			} else if marked {
				values = appendValue(values, err)
			}
			return false
		})
		if !marked && len(all) == 0 {
			return nil
		}
		c := &checks{values: values, fields: all}
		c.schema, _ = schemaOf()
		c.names = jsonNames(reflect.TypeOf(call.TypedInput(ctx)))
		if len(args) <= maxSearched {
			d := json.NewDecoder(bytes.NewReader(args))
			d.UseNumber()
			if d.Decode(&c.args) != nil {
				c.args = nil
			}
		}
		violations := c.values
		for _, field := range c.fields[:min(len(c.fields), maxResolved)] {
			if one, ok := c.field(field, marked); ok {
				violations = append(violations, one)
			} else {
				return nil // of a struct that has nothing to do with the arguments
			}
		}
		for i := range violations {
			c.place(&violations[i])
			violations[i] = v.shown(violations[i], c.schema)
		}
		if len(violations) == 0 {
			return fault.Generic(fault.KindValidation)
		}
		return v.violationsFault(violations, len(c.values)+len(c.fields), false, nil)
	})
}

const (
	maxSearched = 1 << 17 // bytes of arguments in which a value is looked for
	maxPlaced   = 1 << 10 // bytes of a value that is looked for
	maxFields   = 1000    // field errors that are counted
	maxResolved = 100     // field errors whose place is looked for
	maxMembers  = 1000    // names that one is compared with: a struct has fewer
)

// checks are what a handler's own checks found wrong.
type checks struct {
	values []fault.Violation // known by the value, not by the place
	fields []fieldError
	args   any
	schema *explain.Schema     // nil where there is no server to ask
	places map[string][]string // of the scalar values, by their texts
	names  map[string]string   // the names of the input type's fields, as JSON has them
}

// appendValue appends what a marked error of the standard library tells.
func appendValue(values []fault.Violation, err error) []fault.Violation {
	one := fault.Violation{Rule: "type"}
	switch e := err.(type) {
	case *strconv.NumError:
		one.Received, one.Expected = e.Num, "a number"
		switch {
		case strings.Contains(e.Func, "Int"), e.Func == "Atoi":
			one.Expected = "an integer"
		case e.Func == "ParseUint":
			one.Expected = "an integer, 0 or greater"
		case e.Func == "ParseBool":
			one.Expected = "true or false"
		}
		if errors.Is(e.Err, strconv.ErrRange) {
			one.Rule, one.Expected = "range", one.Expected+" that is not that large"
		}
	case *time.ParseError:
		one.Rule, one.Received, one.Expected = "format", strings.Trim(e.Value, `"`), timeWords(strings.Trim(e.Layout, `"`))
	case *json.UnmarshalTypeError:
		one.Field, one.Expected = e.Field, typeWords(e.Type)
	default:
		return values
	}
	return append(values, one)
}

// place finds where the value of a violation stands in the arguments.
func (c *checks) place(one *fault.Violation) {
	if one.Pointer != "" {
		return
	}
	if one.Field != "" {
		at, value, _, _ := c.resolve(strings.Split(one.Field, "."))
		one.Received = scalar(value)
		one.Field, one.Pointer = explain.Place(c.args, at)
		return
	}
	if c.places == nil {
		c.places = map[string][]string{}
		c.index(c.args, []string{})
	}
	text, _ := one.Received.(string)
	found := c.places[text]
	if found == nil {
		one.Received = nil // nobody knows whether the caller sent it
		return
	}
	one.Received = explain.ValueAt(c.args, found)
	one.Field, one.Pointer = explain.Place(c.args, found)
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

// shown words a violation, without a received value that must not be shown.
func (v *validator) shown(one fault.Violation, schema *explain.Schema) fault.Violation {
	subject := "Argument '" + one.Field + "'"
	if one.Field == "" {
		subject = "An argument"
	}
	switch {
	case one.Message != "":
	case one.Expected == "":
		one.Message = subject + " is not valid"
	default:
		one.Message = subject + " expected " + one.Expected
	}
	secret := v.HideReceived || schema != nil && schema.Hides(one.Pointer) || scrub.SecretName(one.Field)
	switch received := one.Received; {
	case received == nil:
		one.Message += "."
	case secret:
		one.Received = nil
		one.Message += "; the received value is not shown."
	default:
		var text string
		text, one.Received = explain.Received(received, false)
		one.Message += ", but received " + text + "."
	}
	return one
}

// scalar returns v unless it is a list or an object, which are not shown.
func scalar(v any) any {
	switch v.(type) {
	case []any, map[string]any:
		return nil
	default:
		return v
	}
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
	case time.TimeOnly, time.Kitchen:
		return "a time such as " + example
	default:
		return "a text such as '" + example + "'"
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
