package safe_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/internal/safe"
)

type (
	pointerError struct{ text string } // its methods panic on a nil pointer
	valueError   struct{ text string }
	panicError   struct{ with any } // its methods panic with the value
	sliceError   []string           // cannot be compared
	mapError     map[string]string  // cannot be compared
	funcError    func() string      // cannot be compared
	structError  struct{ fields []string }
	anyError     struct{ v any } // can be compared or not, as its value can
	arrayError   [1]any
	stringer     struct{ text string }
)

func (e *pointerError) Error() string { return e.text }
func (e valueError) Error() string    { return e.text }
func (e panicError) Error() string    { panic(e.with) }
func (e sliceError) Error() string    { return strings.Join(e, ", ") }
func (e mapError) Error() string      { return fmt.Sprint(len(e)) }
func (e funcError) Error() string     { return e() }
func (e structError) Error() string   { return strings.Join(e.fields, ", ") }
func (e anyError) Error() string      { return fmt.Sprint(e.v) }
func (e arrayError) Error() string    { return fmt.Sprint(e[0]) }
func (s *stringer) String() string    { return s.text }

type panicStringer struct{ with any }

func (s panicStringer) String() string { panic(s.with) }

type panicFormatter struct{ with any }

func (f panicFormatter) Format(fmt.State, rune) { panic(f.with) }

const canary = "canary-4711" // the text of a panic, which must not be shown

func TestError(t *testing.T) {
	for _, tc := range []struct {
		name string
		err  error
		want string
	}{
		{"nil", nil, "<nil>"},
		{"plain", errors.New("disk full"), "disk full"},
		{"typed nil", (*pointerError)(nil), "<nil *safe_test.pointerError>"},
		{"typed nil of a type with methods on the value", (*valueError)(nil), "<nil *safe_test.valueError>"},
		{"nil slice", sliceError(nil), ""},
		{"nil function", funcError(nil), "<nil safe_test.funcError>"},
		{"panic with a text", panicError{canary}, "<safe_test.panicError: its Error method panicked>"},
		{"panic with a value whose String panics", panicError{panicStringer{panicStringer{canary}}}, "<safe_test.panicError: its Error method panicked>"},
		{"wrapped typed nil", fmt.Errorf("load: %w", (*pointerError)(nil)), "load: <nil>"},
		{"joined with a typed nil", errors.Join(io.EOF, (*pointerError)(nil)), "<*errors.joinError: its Error method panicked>"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			require.Equal(t, tc.want, safe.Error(tc.err))
		})
	}
}

func TestValue(t *testing.T) {
	type node struct {
		Name string
		Next *node
	}
	loop := &node{Name: "a"}
	loop.Next = loop
	cyclicMap := map[string]any{}
	cyclicMap["self"] = cyclicMap
	cyclicSlice := make([]any, 1)
	cyclicSlice[0] = cyclicSlice
	deep := any("bottom")
	for range 100_000 {
		deep = []any{deep}
	}

	for _, tc := range []struct {
		name  string
		value any
		want  string
	}{
		{"nil", nil, "<nil>"},
		{"text", "index out of range", "index out of range"},
		{"error", io.EOF, "EOF"},
		{"struct", struct{ A, B int }{1, 2}, "{A:1 B:2}"},
		{"list", []any{1, "a", nil}, "[1 a <nil>]"},
		{"map", map[string]any{"b": 2, "a": 1}, "map[a:1 b:2]"},
		{"nil pointer", (*int)(nil), "<nil>"},

		{"typed nil stringer", (*stringer)(nil), "<nil *safe_test.stringer>"},
		{"stringer that panics", panicStringer{canary}, "<safe_test.panicStringer: its String method panicked>"},
		{"stringer that panics with one like it", panicStringer{panicStringer{canary}}, "<safe_test.panicStringer: its String method panicked>"},
		{"formatter that panics", panicFormatter{canary}, "<safe_test.panicFormatter: its String method panicked>"},
		{"list of a stringer that panics", []any{panicStringer{canary}}, "<[]interface {}: its String method panicked>"},
		{"struct with an error that panics", struct{ Err error }{panicError{canary}}, "<struct { Err error }: its String method panicked>"},

		{"pointer to itself", loop, ""},
		{"list in itself", cyclicSlice, "<[]interface {}: too large to print>"},
		{"struct with a map in itself", struct{ M map[string]any }{cyclicMap}, "<struct { M map[string]interface {} }: too large to print>"},
		{"deep", deep, "<[]interface {}: too large to print>"},
		{"large", make([]byte, 1<<20), "<[]uint8: too large to print>"},
		{"list of nil interfaces", []error{nil, nil}, "[<nil> <nil>]"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := safe.Value(tc.value)
			require.NotContains(t, got, canary)
			if tc.want == "" { // it holds an address
				require.Regexp(t, `^&\{Name:a Next:0x[0-9a-f]+\}$`, got)
				return
			}
			require.Equal(t, tc.want, got)
		})
	}
}

func TestNil(t *testing.T) {
	for _, tc := range []struct {
		name  string
		value any
		want  bool
	}{
		{"nil", nil, true},
		{"pointer", (*pointerError)(nil), true},
		{"map", map[string]int(nil), true},
		{"function", funcError(nil), true},
		{"empty map", map[string]int{}, false},
		{"zero struct", valueError{}, false},
		{"pointer to a nil pointer", new(*int), false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			require.Equal(t, tc.want, safe.Nil(tc.value))
		})
	}
}

func TestSame(t *testing.T) {
	pointer, list, fields, dict := &pointerError{"x"}, sliceError{"x"}, []string{"x"}, mapError{"a": "b"}
	newFunc := func(text string) funcError { return func() string { return text } }
	for _, tc := range []struct {
		name string
		a, b error
		want bool
	}{
		{"nil", nil, nil, true},
		{"nil and an error", nil, io.EOF, false},
		{"nil and a typed nil", nil, (*pointerError)(nil), false},
		{"typed nils", (*pointerError)(nil), (*pointerError)(nil), true},
		{"the same pointer", pointer, pointer, true},
		{"equal, but another pointer", pointer, &pointerError{"x"}, false},
		{"equal values", valueError{"x"}, valueError{"x"}, true},
		{"other values", valueError{"x"}, valueError{"y"}, false},
		{"a type that panics", panicError{"x"}, panicError{"x"}, true},

		{"the same slice", list, list, true},
		{"equal, but another slice", list, sliceError{"x"}, false},
		{"a part of the slice", sliceError{"a", "b"}, sliceError{"a", "b"}[:1], false},
		{"the same map", dict, dict, true},
		{"functions, which nothing tells apart", newFunc("a"), newFunc("b"), false},
		{"a struct that holds the same slice", structError{fields}, structError{fields}, true},
		{"a struct that holds another slice", structError{fields}, structError{[]string{"x"}}, false},
		{"an interface that holds the same slice", anyError{fields}, anyError{fields}, true},
		{"an interface that holds another slice", anyError{fields}, anyError{[]string{"x"}}, false},
		{"an interface that holds a slice or a text", anyError{fields}, anyError{"x"}, false},
		{"interfaces that hold nothing", anyError{nil}, anyError{nil}, true},
		{"an array that holds another slice", arrayError{fields}, arrayError{[]string{"x"}}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			require.Equal(t, tc.want, safe.Same(tc.a, tc.b))
			require.Equal(t, tc.want, safe.Same(tc.b, tc.a))
		})
	}
}
