package playground_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/validate/playground"
)

// field is an error of the validator, which is not a module of this one. What the real one
// returns is tested in internal/thirdparty.
type field struct {
	tag, param, namespace string
	value                 any
}

func (f field) Tag() string        { return f.tag }
func (f field) Param() string      { return f.param }
func (f field) Namespace() string  { return f.namespace }
func (f field) Field() string      { return f.namespace[strings.LastIndexByte(f.namespace, '.')+1:] }
func (f field) Value() any         { return f.value }
func (f field) Kind() reflect.Kind { return reflect.ValueOf(f.value).Kind() }
func (f field) Error() string      { return "of the validator" }

type fields []field

func (fields) Error() string { return "of the validator" }

type texts []string

func (texts) Error() string { return "a list of something else" }

type color string

func TestViolations(t *testing.T) {
	asked := []string(nil)
	argument := func(path string) string {
		asked = append(asked, path)
		return "theirs"
	}
	for name, c := range map[string]struct {
		err  error
		want []fault.Violation
		asks string
	}{
		"one":            {field{"email", "", "Order.Email", "x"}, []fault.Violation{{Field: "Email", Rule: "email", Expected: "an email address"}}, ""},
		"several":        {fields{{"gt", "1", "Order.Lines[1].Qty", 0}, {"mine", "secret", "Order.A", "x"}}, []fault.Violation{{Field: "Lines[1].Qty", Rule: "gt", Expected: "a number greater than 1"}, {Field: "A", Rule: "mine"}}, ""},
		"another field":  {field{"gtfield", "From", "Order.Lines[1].To", 0}, []fault.Violation{{Field: "Lines[1].To", Rule: "gtfield", Expected: "must be greater than 'theirs'"}}, "Lines[1].From"},
		"one beside it":  {field{"eqfield", "From", "Order.To", 0}, []fault.Violation{{Field: "To", Rule: "eqfield", Expected: "must be the same as 'theirs'"}}, "From"},
		"a single value": {field{"min", "3", "", "x"}, []fault.Violation{{Rule: "min", Expected: "a string of at least 3 characters"}}, ""},
		"a near value":   {field{"oneof", "red green", "Order.Color", color("gren")}, []fault.Violation{{Field: "Color", Rule: "oneof", Expected: "'red' or 'green'", Suggestion: "Did you mean 'green'?"}}, ""},
		"no near value":  {field{"oneof", "1 2", "Order.N", 3}, []fault.Violation{{Field: "N", Rule: "oneof", Expected: "'1' or '2'"}}, ""},
		"a long value":   {field{"oneof", "red green", "Order.Color", "green" + strings.Repeat(" ", 1<<20)}, []fault.Violation{{Field: "Color", Rule: "oneof", Expected: "'red' or 'green'"}}, ""},
		"unknown":        {errors.New("x"), nil, ""},
		"another list":   {texts{"x"}, nil, ""},
		"nothing":        {fields{}, nil, ""},
		"no error":       {nil, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			asked = nil
			require.Equal(t, c.want, playground.Violations(c.err, argument))
			require.Equal(t, c.asks, strings.Join(asked, " "))
		})
	}
	many := make(fields, 5000)
	for i := range many {
		many[i] = field{"email", "", "Order.Email", "x"}
	}
	require.Len(t, playground.Violations(many, argument), 1000)
}
