package validate_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/mask"
	"github.com/mcpchain/mcpchain/validate"
	"github.com/mcpchain/mcpchain/validate/playground"
)

// knowing are options that know the errors of go-playground/validator.
func knowing() *validate.Options { return &validate.Options{Violations: playground.Violations} }

// checked are arguments in which the handlers below find something wrong.
const checked = `{"count":"five","when":"tomorrow","filter":"{\"a\":","items":[{"qty":1},{"qty":"two"}],"small":300,"password":"` + harness.Canary + `","user_id":"7x","email":"nobody","due":"2026-07-28T15:04:05Z","day":"today","empty":"","same":"twice","again":"twice"}`

const checkedSchema = `{"type":"object","properties":{"count":{},"when":{"type":"string"},"filter":{"type":"string"},
	"items":{"type":"array","items":{"type":"object"}},"small":{},"password":{},"user_id":{"type":"string"},
	"email":{"type":"string"},"due":{"type":"string"},"day":{"type":"string"},"empty":{"type":"string"},"name":{"type":"string"},"same":{"type":"string"},"again":{"type":"string"}}}`

// decode is what a raw handler does.
func decode[T any](args string) error {
	var v T
	return json.Unmarshal([]byte(args), &v)
}

func atoi(text string) error { _, err := strconv.Atoi(text); return err }

// aField is a field error of go-playground/validator.
type aField struct {
	tag, param, namespace string
	value                 any
}

func (f aField) Tag() string        { return f.tag }
func (f aField) Param() string      { return f.param }
func (f aField) Namespace() string  { return f.namespace }
func (f aField) Field() string      { return f.namespace[strings.LastIndexByte(f.namespace, '.')+1:] }
func (f aField) Value() any         { return f.value }
func (f aField) Kind() reflect.Kind { return reflect.ValueOf(f.value).Kind() }
func (f aField) Error() string      { return harness.Canary }

// fieldErrors are its ValidationErrors.
type fieldErrors []interface {
	error
	Tag() string
}

func (fieldErrors) Error() string { return harness.Canary }

type endless struct{}

func (e *endless) Error() string { return harness.Canary }
func (e *endless) Unwrap() error { return e }

type evil struct{}

func (evil) Error() string      { panic(harness.Canary) }
func (evil) Tag() string        { panic(harness.Canary) }
func (evil) Param() string      { panic(harness.Canary) }
func (evil) Namespace() string  { panic(harness.Canary) }
func (evil) Field() string      { panic(harness.Canary) }
func (evil) Value() any         { panic(harness.Canary) }
func (evil) Kind() reflect.Kind { panic(harness.Canary) }

// handlerCases are errors with which handlers refuse what they got. An empty text
// means that the error does not say that it is about the arguments.
func handlerCases() map[string]struct {
	err  error
	want string
} {
	parse := func(layout, text string) error { _, err := time.Parse(layout, text); return err }
	marked := validate.Arguments
	return map[string]struct {
		err  error
		want string
	}{
		"integer":          {marked(atoi("five")), "Argument 'count' expected an integer, but received 'five'."},
		"wrapped":          {fmt.Errorf("%s: %w", harness.Canary, marked(fmt.Errorf("count: %w", atoi("five")))), "Argument 'count' expected an integer, but received 'five'."},
		"too large":        {marked(last(strconv.ParseInt("300", 10, 8))), "Argument 'small' expected an integer that is not that large, but received 300."},
		"ambiguous":        {marked(atoi("twice")), "An argument expected an integer."},
		"not sent":         {marked(atoi(harness.Canary + "x")), "An argument expected an integer."},
		"date":             {marked(parse(time.DateOnly, "tomorrow")), "Argument 'when' expected a date such as 2026-01-31, but received 'tomorrow'."},
		"time":             {marked(parse(time.RFC3339, "tomorrow")), "Argument 'when' expected a date and time with its zone, such as 2026-01-31T13:45:00Z, but received 'tomorrow'."},
		"type":             {marked(decode[struct{ Count int }](checked)), "Argument 'count' expected an integer from -9223372036854775808 to 9223372036854775807, but received 'five'."},
		"type of a secret": {marked(decode[struct{ Password int }](checked)), "Argument 'password' expected an integer from -9223372036854775808 to 9223372036854775807, but received a string that is not shown."},
		"several": {
			marked(errors.Join(atoi("five"), parse(time.DateOnly, "tomorrow"))),
			"2 arguments are wrong.\n- Argument 'count' expected an integer, but received 'five'.\n- Argument 'when' expected a date such as 2026-01-31, but received 'tomorrow'.",
		},
		// A caller who sends guesses must not learn the value that such an error is about.
		"number without a mark": {atoi("five"), ""},
		"JSON without a mark":   {json.Unmarshal([]byte(`{"a":`), new(any)), ""},
		"fields": {
			fieldErrors{
				aField{"email", "", "Input.Email", "nobody"}, aField{"required", "", "Input.Name", ""}, aField{"min", "10", "Input.Items[0].Qty", 1.0},
				aField{"oneof", "red 'light blue' blue", "Input.count", "five"}, aField{"startswith", "u-", "Input.UserID", "7x"}, aField{"len", "3", "Input.Same", "twice"},
				aField{"tenant_rule", harness.Canary, "Input.When", "tomorrow"}, aField{"gtfield", "Count", "Input.Small", 300},
			},
			"8 arguments are wrong.\n" +
				"- Argument 'email' expected an email address, but received 'nobody'.\n" +
				"- Argument 'name' is required.\n" +
				"- Argument 'items[0].qty' expected a number of at least 10, but received 1.\n" +
				"- Argument 'count' expected 'red', 'light blue' or 'blue', but received 'five'.\n" +
				"- Argument 'user_id' expected a string that starts with 'u-', but received '7x'.\n" +
				"- Argument 'same' expected a string of exactly 3 characters, but received 'twice'.\n" +
				"- Argument 'when' is not valid: received 'tomorrow'.\n" +
				"- Argument 'small' must be greater than 'count', but received 300.",
		},
		"one field":           {aField{"gt", "1", "Input.small", 300}, "Argument 'small' expected a number greater than 1, but received 300."},
		"a secret field":      {aField{"min", "20", "Input.Password", harness.Canary}, "Argument 'password' expected a string of at least 20 characters, but received a string that is not shown."},
		"fields, one unknown": {fieldErrors{aField{"email", "", "Input.Email", "nobody"}, aField{"required", "", "Input.DSN", ""}}, ""},
		"unknown":             {errors.New(harness.Canary), ""},
		"endless":             {&endless{}, ""},
		"evil":                {evil{}, ""},
	}
}

func last[T any](_ T, err error) error { return err }

func TestHandlersOwnChecks(t *testing.T) {
	eras(t, func(t *testing.T, era harness.Era) {
		for name, c := range handlerCases() {
			t.Run(name, func(t *testing.T) {
				log := harness.NewLog(slog.LevelInfo)
				s := serve(t, era, checkers(c.err), standard(&mcpchain.Options{Logger: log.Logger(), Validate: knowing()}))
				for i, tool := range []string{"typed", "raw", "checked"} {
					got := invoke(t, s, tool, checked)
					require.Len(t, log.Records(), i+1)
					if c.want == "" {
						require.Equal(t, fault.KindInternal, got.Fault().Kind(), got.Text())
						continue
					}
					require.Equal(t, "Validation Error: "+c.want, got.Text(), tool)
					require.Equal(t, "INFO", log.Records()[i]["level"])
				}
				require.NotContains(t, s.Sent(), harness.Canary)
			})
		}
	})
}

// checkers adds tools whose handlers fail with the error.
func checkers(err error) func(*mcp.Server) {
	raw := func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return nil, err }
	return func(s *mcp.Server) {
		mcp.AddTool(s, &mcp.Tool{Name: "typed", InputSchema: json.RawMessage(checkedSchema)}, func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, any, error) {
			return nil, nil, err
		})
		s.AddTool(&mcp.Tool{Name: "raw", InputSchema: json.RawMessage(checkedSchema)}, raw)
		s.AddTool(&mcp.Tool{Name: "checked", InputSchema: json.RawMessage(checkedSchema)}, validate.Tool(json.RawMessage(checkedSchema), raw))
	}
}

// TestMarked: what a handler marks is about the arguments, whatever is found.
func TestMarked(t *testing.T) {
	require.NoError(t, validate.Arguments(nil))
	wrapped := errors.New("x")
	require.ErrorIs(t, validate.Arguments(wrapped), wrapped)
	generic := fault.Generic(fault.KindValidation).Text()
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"unknown":        {errors.New(harness.Canary), generic},
		"found":          {atoi("five"), "Validation Error: Argument 'count' expected an integer, but received 'five'."},
		"not found":      {atoi(harness.Canary + "x"), "Validation Error: An argument expected an integer."},
		"other field":    {fieldErrors{aField{"email", "", "Query.Sender", harness.Canary}}, "Validation Error: Argument 'Sender' expected an email address."},
		"other value":    {fieldErrors{aField{"email", "", "Query.Email", harness.Canary}}, "Validation Error: Argument 'email' expected an email address, but received 'nobody'."},
		"missing field":  {fieldErrors{aField{"required", "", "Query.Sender", ""}}, "Validation Error: Argument 'Sender' is required."},
		"fault":          {fault.Invalid("count", "five", "an integer"), "Validation Error: Argument 'count' expected an integer, but received 'five'."},
		"protocol error": {&jsonrpc.Error{Code: -32602, Message: "no"}, "no"},
		"wrapped":        {fmt.Errorf("%s: %w", harness.Canary, validate.Arguments(errors.New("x"))), generic},
	} {
		t.Run(name, func(t *testing.T) {
			quiet := mask.New(&mask.Options{Logger: slog.New(slog.DiscardHandler)})
			s := serve(t, harness.Current, checkers(validate.Arguments(c.err)), quiet, validate.New(knowing()))
			for _, tool := range []string{"typed", "raw", "checked"} {
				text, _, _ := strings.Cut(invoke(t, s, tool, checked).Text(), "\nReference")
				require.Equal(t, c.want, text, tool)
			}
			require.NotContains(t, s.Sent(), harness.Canary)
			s = serve(t, harness.Current, checkers(validate.Arguments(errors.New(harness.Canary))), quiet)
			require.True(t, strings.HasPrefix(invoke(t, s, "raw", checked).Text(), generic), "without a middleware of this package")
			require.NotContains(t, s.Sent(), harness.Canary)
		})
	}
}

// TestToolTakesTheOptionsOutside: Tool has no options of its own, and what it says of
// its handler's errors goes by those of the middleware outside.
func TestToolTakesTheOptionsOutside(t *testing.T) {
	for name, c := range map[string]struct {
		opts *validate.Options
		want string
	}{
		"default": {knowing(), "Validation Error: Argument 'email' expected an email address, but received 'nobody'."},
		"hidden":  {&validate.Options{HideReceived: true, Violations: playground.Violations}, "Validation Error: Argument 'email' expected an email address, but received a string that is not shown."},
	} {
		t.Run(name, func(t *testing.T) {
			log := harness.NewLog(slog.LevelInfo)
			s := serve(t, harness.Current, checkers(fieldErrors{aField{"email", "", "Input.Email", "nobody"}}), standard(&mcpchain.Options{Logger: log.Logger(), Validate: c.opts}))
			require.True(t, strings.HasPrefix(invoke(t, s, "checked", checked).Text(), c.want))
			require.Equal(t, "validate_test.fieldErrors", log.Only(t)["error_types"])
		})
	}
	s := serve(t, harness.Current, checkers(fieldErrors{aField{"email", "", "Input.Email", "nobody"}}), validate.New(&validate.Options{ProtocolError: true, Violations: playground.Violations}))
	require.EqualValues(t, jsonrpc.CodeInvalidParams, invoke(t, s, "checked", checked).Protocol().Code)

	tool := validate.Tool(json.RawMessage(checkedSchema), func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return nil, fmt.Errorf("count: %w", validate.Arguments(atoi("five")))
	})
	s = serve(t, harness.Current, func(s *mcp.Server) {
		s.AddTool(&mcp.Tool{Name: "between", InputSchema: json.RawMessage(checkedSchema)}, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			res, err := tool(ctx, req)
			var number *strconv.NumError
			require.ErrorAs(t, err, &number)
			require.ErrorContains(t, err, "count: strconv.Atoi")
			return res, err
		})
	}, validate.New(nil))
	require.Equal(t, "Validation Error: Argument 'count' expected an integer, but received 'five'.", invoke(t, s, "between", checked).Text())
}

// TestManyMembers: a field's name is not compared with thousands of names that a caller
// sends besides, for each of thousands of fields.
func TestManyMembers(t *testing.T) {
	const found, notFound = "Validation Error: Argument 'email' expected an email address, but received 'nobody'.", "Validation Error: Argument 'email' expected an email address."
	for _, c := range []struct {
		namespace string
		members   int
		want      string
	}{
		{"Input.Email", 10, found}, {"Input.Email", 2000, found}, {"Input.email", 2000, found},
	} {
		args := `{"email":"nobody"`
		for i := range c.members {
			args += fmt.Sprintf(`,"%d":0`, i)
		}
		s := serve(t, harness.Current, checkers(fieldErrors{aField{"email", "", c.namespace, "nobody"}}), validate.New(knowing()))
		require.Equal(t, c.want, invoke(t, s, "raw", args+"}").Text(), c)
	}
}

// TestRulesGoFirst: what the program says of an error holds.
func TestRulesGoFirst(t *testing.T) {
	s := serve(t, harness.Current, checkers(atoi("five")), standard(&mcpchain.Options{
		Logger: slog.New(slog.DiscardHandler),
		Mask:   &mask.Options{Rules: []mask.Rule{mask.As(func(*strconv.NumError) *fault.Error { return fault.New("ruled", "by a rule") })}},
	}))
	require.Equal(t, fault.Kind("ruled"), invoke(t, s, "typed", checked).Fault().Kind())
}

// level is decoded from a text.
type level int

func (l *level) UnmarshalText(text []byte) error {
	if string(text) != "high" {
		return errors.New(harness.Canary + " is no level")
	}
	*l = 3
	return nil
}

// TestDecoding: what passes the schema and does not fit into the handler's type is a wrong argument
// where the error names the field and has the value that was sent there. Any other is told as any
// error that nobody words: the SDK gives it as it gives a handler's own.
func TestDecoding(t *testing.T) {
	type input struct {
		At   time.Time   `json:"at,omitzero"`
		Days []time.Time `json:"days,omitempty"`
		Plan struct {
			By map[string]struct {
				End *time.Time `json:"end"`
			} `json:"by"`
		} `json:"plan,omitzero"`
		Small int8              `json:"small,omitempty"`
		Big   int64             `json:"big,omitempty"`
		Sizes []uint64          `json:"sizes,omitempty"`
		Ratio float32           `json:"ratio,omitempty"`
		List  []struct{ N int } `json:"list,omitempty"`
		Level level             `json:"level,omitempty"`
	}
	eras(t, func(t *testing.T, era harness.Era) {
		log := harness.NewLog(slog.LevelInfo)
		s := serve(t, era, func(s *mcp.Server) {
			mcp.AddTool(s, &mcp.Tool{Name: "it", InputSchema: map[string]any{"type": "object"}}, func(context.Context, *mcp.CallToolRequest, input) (*mcp.CallToolResult, any, error) {
				return said("fine"), nil, nil
			})
		}, standard(&mcpchain.Options{Logger: log.Logger()}))
		require.Equal(t, "fine", invoke(t, s, "it", `{}`).Text())
		const moment = "a date and time with its zone, such as 2026-01-31T13:45:00Z"
		for args, want := range map[string]string{
			`{"at":"tomorrow"}`: "'at' expected " + moment + ", but received 'tomorrow'.",
			`{"at":5}`:          "'at' expected " + moment + ", but received 5.",
			`{"at":true}`:       "'at' expected " + moment + ", but received true.",
			`{"at":""}`:         "'at' expected " + moment + ", but received an empty string.",
			`{"at":["<b>"]}`:    "'at' expected " + moment + ", but received a list with 1 item.",
			`{"at":"tomorrow at the same time as <b>today</b>, é"}`:              "'at' expected " + moment + ", but received 'tomorrow at the same time as <b>today</b>, é'.",
			`{"at":"` + strings.Repeat("x", 100) + `"}`:                          "'at' expected " + moment + ", but received a string of 100 characters.",
			`{"days":["2026-01-31T13:45:00Z","soon"]}`:                           "'days[1]' expected " + moment + ", but received 'soon'.",
			`{"plan":{"by":{"ann":{"end":"late"}}},"at":"2026-01-31T13:45:00Z"}`: "'plan.by.ann.end' expected " + moment + ", but received 'late'.",
			`{"small":300}`: "'small' expected an integer from -128 to 127, but received 300.",
			// What the SDK made of these numbers, and what follows them, stands in its errors.
			`{"small":300,"word":"beside"}`:             "'small' expected an integer from -128 to 127, but received 300.",
			`{"big":9223372036854775808}`:               "'big' expected an integer from -9223372036854775808 to 9223372036854775807, but received 9223372036854775808.",
			`{"big":-1e30,"at":"2026-01-31T13:45:00Z"}`: "'big' expected an integer from -9223372036854775808 to 9223372036854775807, but received -1e30.",
			`{"sizes":[1,18446744073709551616]}`:        "'sizes[1]' expected an integer from 0 to 18446744073709551615, but received 18446744073709551616.",
			`{"ratio":1e300}`:                           "'ratio' expected a number of at most 32 bits, but received 1e300.",
		} {
			got := invoke(t, s, "it", args)
			require.Equal(t, fault.KindValidation, got.Fault().Kind(), args)
			require.Equal(t, "Validation Error: Argument "+want, got.Text(), args)
			require.NotContains(t, got.Text(), "quotes")
		}
		// Nobody knows whose value such an error is about.
		for _, args := range []string{`{"list":7}`, `{"level":7}`} {
			require.Equal(t, fault.KindInternal, invoke(t, s, "it", args).Fault().Kind(), args)
		}
		inferred := serve(t, era, func(s *mcp.Server) {
			mcp.AddTool(s, &mcp.Tool{Name: "it"}, func(context.Context, *mcp.CallToolRequest, input) (*mcp.CallToolResult, any, error) {
				return said("fine"), nil, nil
			})
		}, standard(&mcpchain.Options{Logger: slog.New(slog.DiscardHandler)}))
		require.Equal(t, "Validation Error: Argument 'list' expected a list of objects or null, but received 7.", invoke(t, inferred, "it", `{"list":7}`).Text())
		// The type's own error, of which nobody knows where it comes from.
		require.Equal(t, fault.KindInternal, invoke(t, s, "it", `{"level":"low"}`).Fault().Kind())
		require.Equal(t, fault.KindInternal, invoke(t, s, "it", `{"list":7,"word":"beside"}`).Fault().Kind())
		require.NotContains(t, s.Sent(), harness.Canary)
		require.NotContains(t, log.String(), "beside", "arguments are not recorded")
		require.Contains(t, log.String(), "json: cannot unmarshal a value into Go struct field")
	})
}

// TestDecodingOfSomethingElse: an error that a handler makes itself, or one that is about another
// value, says nothing of the arguments.
func TestDecodingOfSomethingElse(t *testing.T) {
	when := reflect.TypeFor[time.Time]()
	for name, err := range map[string]error{
		"another value":  &json.UnmarshalTypeError{Value: strconv.Quote(`"yesterday"}`), Type: when, Field: "at"},
		"another field":  &json.UnmarshalTypeError{Value: strconv.Quote(`"tomorrow"}`), Type: when, Field: "until"},
		"no field":       &json.UnmarshalTypeError{Value: strconv.Quote(`"tomorrow"}`), Type: when},
		"another type":   &json.UnmarshalTypeError{Value: strconv.Quote(`"tomorrow"}`), Type: reflect.TypeFor[url.URL](), Field: "at"},
		"encoding/json":  &json.UnmarshalTypeError{Value: "string", Type: when, Field: "at"},
		"wrapped":        fmt.Errorf("reading %s: %w", harness.Canary, &json.UnmarshalTypeError{Value: strconv.Quote(`"tomorrow"}`), Type: when, Field: "at"}),
		"a near number":  &json.UnmarshalTypeError{Value: "number 301} overflows", Type: reflect.TypeFor[int8](), Field: "small"},
		"no overflow":    &json.UnmarshalTypeError{Value: "number 300}", Type: reflect.TypeFor[int8](), Field: "small"},
		"another number": &json.UnmarshalTypeError{Value: "number 4711 overflows", Type: reflect.TypeFor[int8](), Field: "small"},
		"cut":            &json.UnmarshalTypeError{Value: strconv.Quote(`"yesterday and...`), Type: when, Field: "at"},
		"no quotes":      &json.UnmarshalTypeError{Value: `"tomorrow"x`, Type: when, Field: "at"},
		"nil":            (*json.UnmarshalTypeError)(nil),
	} {
		s := serve(t, harness.Current, func(s *mcp.Server) {
			mcp.AddTool(s, &mcp.Tool{Name: "it"}, func(context.Context, *mcp.CallToolRequest, map[string]any) (*mcp.CallToolResult, any, error) {
				return nil, nil, err
			})
		}, standard(&mcpchain.Options{Logger: slog.New(slog.DiscardHandler)}))
		got := invoke(t, s, "it", `{"at":"tomorrow","small":300}`)
		require.Equal(t, fault.KindInternal, got.Fault().Kind(), name)
		require.NotContains(t, s.Sent(), harness.Canary)
	}
}

// TestEnumerationOfAValidator: a value of oneof gets the near one, if it may be shown.
func TestEnumerationOfAValidator(t *testing.T) {
	for param, want := range map[string]string{
		"five six":    "Argument 'count' expected 'five' or 'six', but received 'fvie'. Did you mean 'five'?",
		"FVIE 'six'":  "Argument 'count' expected 'FVIE' or 'six', but received 'fvie'. Did you mean 'FVIE'?",
		"seven eight": "Argument 'count' expected 'seven' or 'eight', but received 'fvie'.",
	} {
		s := serve(t, harness.Current, func(s *mcp.Server) {
			mcp.AddTool(s, &mcp.Tool{Name: "it"}, func(context.Context, *mcp.CallToolRequest, map[string]any) (*mcp.CallToolResult, any, error) {
				return nil, nil, fieldErrors{aField{"oneof", param, "Input.count", "fvie"}}
			})
		}, standard(&mcpchain.Options{Logger: slog.New(slog.DiscardHandler), Validate: knowing()}))
		require.Equal(t, "Validation Error: "+want, invoke(t, s, "it", `{"count":"fvie"}`).Text())
	}
}

// TestErrorsOfACheckerAreOptIn: without the option, errors of a library that checks values are as
// unknown as any other's, and the mark of Arguments says no more than that the arguments are wrong.
func TestErrorsOfACheckerAreOptIn(t *testing.T) {
	for _, c := range []struct {
		opts  *validate.Options
		err   error
		kind  fault.Kind
		field string
	}{
		{nil, fieldErrors{aField{"email", "", "Input.Email", "nobody"}}, fault.KindInternal, ""},
		{nil, validate.Arguments(fieldErrors{aField{"email", "", "Input.Email", "nobody"}}), fault.KindValidation, ""},
		{knowing(), fieldErrors{aField{"email", "", "Input.Email", "nobody"}}, fault.KindValidation, "email"},
	} {
		s := serve(t, harness.Current, checkers(c.err), standard(&mcpchain.Options{Logger: slog.New(slog.DiscardHandler), Validate: c.opts}))
		for _, tool := range []string{"typed", "raw", "checked"} {
			f := invoke(t, s, tool, checked).Fault()
			require.Equal(t, c.kind, f.Kind())
			field := ""
			if all := f.Data().Violations; len(all) > 0 {
				field = all[0].Field
			}
			require.Equal(t, c.field, field)
		}
		require.NotContains(t, s.Sent(), harness.Canary)
	}
}

// TestViolationsOfAProgram: what a function of the program's own says is completed, and bounded by
// what may be shown. If it panics or blames what nobody sent, nothing is said.
func TestViolationsOfAProgram(t *testing.T) {
	failed := errors.New(harness.Canary)
	for name, c := range map[string]struct {
		violations func(err error, argument func(string) string) []fault.Violation
		want       string
	}{
		"path": {func(error, func(string) string) []fault.Violation {
			return []fault.Violation{{Field: "Items[1].QTY", Rule: "type", Expected: "an integer", Received: harness.Canary, Pointer: "/x"}}
		}, "Argument 'items[1].qty' expected an integer, but received 'two'."},
		"another argument": {func(_ error, argument func(string) string) []fault.Violation {
			return []fault.Violation{{Field: "small", Expected: "must be less than '" + argument("UserID") + "'"}}
		}, "Argument 'small' must be less than 'user_id', but received 300."},
		"suggestion": {func(error, func(string) string) []fault.Violation {
			return []fault.Violation{{Field: "Count", Expected: "a number", Suggestion: "Did you mean 5?"}}
		}, "Argument 'count' expected a number, but received 'five'. Did you mean 5?"},
		"suggestion for a secret": {func(error, func(string) string) []fault.Violation {
			return []fault.Violation{{Field: "Password", Expected: "a colour", Suggestion: "Did you mean " + harness.Canary + "?"}}
		}, "Argument 'password' expected a colour, but received a string that is not shown."},
		"other errors": {func(err error, _ func(string) string) []fault.Violation {
			if errors.Is(err, io.EOF) {
				return []fault.Violation{{Field: "count"}}
			}
			return nil
		}, ""},
		"no argument": {func(error, func(string) string) []fault.Violation { return []fault.Violation{{Field: "DSN"}} }, ""},
		"no field":    {func(error, func(string) string) []fault.Violation { return []fault.Violation{{Rule: "required"}} }, ""},
		"empty":       {func(error, func(string) string) []fault.Violation { return []fault.Violation{} }, ""},
		"panic":       {func(error, func(string) string) []fault.Violation { panic(harness.Canary) }, ""},
		"many questions": {func(_ error, argument func(string) string) []fault.Violation {
			last := ""
			for range 1000 {
				last = argument("UserID")
			}
			return []fault.Violation{{Field: "small", Expected: "must be less than '" + last + "'"}}
		}, "Argument 'small' must be less than 'UserID', but received 300."},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, harness.Current, checkers(failed), standard(&mcpchain.Options{Logger: slog.New(slog.DiscardHandler), Validate: &validate.Options{Violations: c.violations}}))
			for _, tool := range []string{"typed", "raw", "checked"} {
				got := invoke(t, s, tool, checked)
				if c.want == "" {
					require.Equal(t, fault.KindInternal, got.Fault().Kind(), got.Text())
					continue
				}
				require.Equal(t, "Validation Error: "+c.want, got.Text())
			}
			require.NotContains(t, s.Sent(), harness.Canary)
		})
	}
}
