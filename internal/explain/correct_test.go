package explain_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCorrectionsInsideEachOther corrects a value inside of one that is wrong, too, and has no correction.
func TestCorrectionsInsideEachOther(t *testing.T) {
	const both = `{"allOf":[{"properties":{"a":{"const":CONST}}},{"properties":{"a":{"properties":{"x":{"type":"integer"}},"items":{"type":"integer"}}}}]}`
	for _, c := range []struct{ constant, args string }{
		{`{"x":"2"}`, `{"a":{"x":"7"}}`},
		{`{"y":{"x":1}}`, `{"a":{"x":"7"}}`},
		{`[]`, `{"a":["5"]}`},
		{`[1]`, `{"a":{"x":"5"}}`},
		{`3`, `{"a":{"x":"5"}}`},
	} {
		s := mustCompile(t, strings.Replace(both, "CONST", c.constant, 1))
		for range 2 {
			report := s.Explain([]byte(c.args), false)
			require.Len(t, report.Violations, 2, c.constant)
			require.Nil(t, report.Corrected, c.constant)
		}
	}
}

// TestItemIsNotLeftOut is about a list whose schema has names, too: an item cannot be left out.
func TestItemIsNotLeftOut(t *testing.T) {
	s := mustCompile(t, `{"properties":{"a":{"items":{"type":["string","object"]},"properties":{"0":{}}}}}`)
	report := s.Explain([]byte(`{"a":[null]}`), false)
	require.Equal(t, "Argument 'a[0]' expected a string or an object, but received null.", report.Text())
	require.Nil(t, report.Corrected)
}

// TestMisspelledAmongManyNames has more names that a pattern allows than are compared.
func TestMisspelledAmongManyNames(t *testing.T) {
	s := mustCompile(t, `{"properties":{"color":{"type":"string"}},"patternProperties":{"^x-":{}},"additionalProperties":false}`)
	var args strings.Builder
	for i := range 70 {
		fmt.Fprintf(&args, `"x-%d":1,`, i)
	}
	report := s.Explain([]byte(`{`+args.String()+`"colour":"red"}`), false)
	require.Equal(t, "Argument 'colour' is unknown. Did you mean 'color'?", report.Text())
	require.Contains(t, string(report.Corrected), `"color":"red"`)
}

// TestNumbersThatAreSendable: a typed tool reads integers into 64 bits, of which its schema says nothing.
func TestNumbersThatAreSendable(t *testing.T) {
	s := mustCompile(t, `{"properties":{"n":{"type":"integer"},"l":{"type":"array","items":{"type":"integer"}},"f":{"type":"number"}},"additionalProperties":false}`)
	for args, corrected := range map[string]string{
		`{"n":"5"}`:                     `{"n":5}`,
		`{"n":"1e2"}`:                   `{"n":1e2}`,
		`{"n":"-9223372036854775808"}`:  `{"n":-9223372036854775808}`,
		`{"n":"18446744073709551615"}`:  `{"n":18446744073709551615}`,
		`{"n":"18446744073709551616"}`:  "",
		`{"n":"-9223372036854775809"}`:  "",
		`{"n":"1e40"}`:                  "",
		`{"n":"-0"}`:                    "",
		`{"n":"-0.0"}`:                  "",
		`{"l":99999999999999999999}`:    "",
		`{"N":99999999999999999999}`:    "",
		`{"n":"1","f":-0.5}`:            `{"f":-0.5,"n":1}`,
		`{"n":"1","f":1e-300}`:          `{"f":1e-300,"n":1}`,
		`{"arguments":{"n":1}}`:         `{"n":1}`,
		`{"arguments":{"n":123456e15}}`: "",
	} {
		report := s.Explain([]byte(args), false)
		require.NotNil(t, report, args)
		require.Equal(t, corrected, string(report.Corrected), args)
	}
}

// TestMultiplesThatAreRounded: the SDK computes with float64, and takes 0.3 for no multiple of 0.1.
func TestMultiplesThatAreRounded(t *testing.T) {
	s := mustCompile(t, `{"properties":{"n":{"type":"number","multipleOf":0.1}}}`)
	for args, corrected := range map[string]string{`{"n":"0.5"}`: `{"n":0.5}`, `{"n":"0.3"}`: "", `{"n":"1e-400"}`: ""} {
		report := s.Explain([]byte(args), false)
		require.NotNil(t, report, args)
		require.Equal(t, corrected, string(report.Corrected), args)
	}
	require.NotNil(t, s.Explain([]byte(`{"n":0.3}`), false))
}
