package validate

import (
	"encoding/json"
	"reflect"
	"strconv"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/explain"
	"github.com/mcpchain/mcpchain/validate/playground"
)

type fuzzed struct{ namespace, tag, param string }

func (f fuzzed) Tag() string        { return f.tag }
func (f fuzzed) Param() string      { return f.param }
func (f fuzzed) Field() string      { return f.namespace }
func (f fuzzed) Namespace() string  { return f.namespace }
func (f fuzzed) Value() any         { return f.param }
func (f fuzzed) Kind() reflect.Kind { return reflect.String }
func (f fuzzed) Error() string      { return f.tag }

// FuzzChecks makes violations of what handlers say of any arguments: it ends, and
// what it says is short and can be written.
func FuzzChecks(f *testing.F) {
	f.Add([]byte(`{"a":"five","b":[{"c":"x"}]}`), []byte(`{"properties":{"a":{"writeOnly":true}}}`), "b.c", "five", "Input.B[0].C", "min", "3")
	f.Add([]byte(`{"a.b":{"c":1},"a":{"b.c":2}}`), []byte(`{"properties":{"b":{"items":[1]}}}`), "a.b.c", "2", "x.[].[[", "datetime", "")
	f.Add([]byte(`[[[["x"]]]]`), []byte(`true`), "0.0.0.0", "x", "...", "oneof", "'")
	f.Add([]byte(`{"":""}`), []byte(`{`), "", "", "", "", "")
	f.Fuzz(func(t *testing.T, args, schema []byte, field, text, namespace, tag, param string) {
		c := checks{schema: hiding()}
		if compiled, err := explain.Compile(schema); err == nil {
			c.schema = compiled
		}
		if json.Unmarshal(args, &c.args) != nil {
			c.args = nil
		}
		var violations []fault.Violation
		for _, of := range playground.Violations(fuzzed{namespace, tag, param}, c.argument) {
			one, _ := c.field(of)
			violations = append(violations, one)
		}
		require.Len(t, violations, 1)
		for _, err := range []error{
			&json.UnmarshalTypeError{Field: field, Type: reflect.TypeFor[int8]()}, &json.UnmarshalTypeError{Field: field, Type: reflect.TypeFor[time.Time]()},
			&strconv.NumError{Func: tag, Num: text, Err: strconv.ErrRange}, &time.ParseError{Layout: param, Value: text},
		} {
			at, rule, expected := c.value(err)
			require.NotEmpty(t, rule)
			violations = append(violations, c.violation(at, rule, expected))
		}
		e := faultOf(&explain.Report{Violations: violations}, "")
		require.Equal(t, fault.KindValidation, e.Kind())
		require.Less(t, len(e.Error()), 4096)
		require.True(t, utf8.ValidString(e.Error()))
		raw, err := json.Marshal(e)
		require.NoError(t, err)
		require.Less(t, len(raw), 4096)
	})
}
