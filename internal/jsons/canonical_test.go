package jsons

import (
	"encoding/json"
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCanonical has the examples of RFC 8785, and what it leaves to others.
func TestCanonical(t *testing.T) {
	for in, want := range map[string]string{
		`{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],"string":"\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/","literals":[null,true,false]}`:                                        `{"literals":[null,true,false],"numbers":[333333333.33333329,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`,
		`{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One","\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"}`: "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u0080\":\"Control\",\"ö\":\"Latin Small Letter O With Diaeresis\",\"€\":\"Euro Sign\",\"😀\":\"Emoji: Grinning Face\",\"\ufb33\":\"Hebrew Letter Dalet With Dagesh\"}",
		` { } `:              `{}`,
		`[1.0,-0,-0.0,1e2]`:  `[1,0,0,100]`,
		`[1e21,1e-7,1.5e-9]`: `[1e+21,1e-7,1.5e-9]`,
		`[1e20,0.000001]`:    `[100000000000000000000,0.000001]`,
		`[9007199254740993]`: `[9007199254740993]`, // not the same as ...992
		`[1e400]`:            `[1e+400]`,
	} {
		got, err := Canonical([]byte(in))
		require.NoError(t, err)
		require.Equal(t, want, string(got))
	}
	for bits, want := range map[uint64]string{ // appendix B
		0x0000000000000001: "5e-324", 0x7fefffffffffffff: "1.7976931348623157e+308", 0x4340000000000000: "9007199254740992",
		0x444b1ae4d6e2ef4e: "999999999999999700000", 0x444b1ae4d6e2ef50: "1e+21", 0x3eb0c6f7a0b5ed8c: "9.999999999999997e-7", 0x3eb0c6f7a0b5ed8d: "0.000001",
	} {
		raw, err := json.Marshal(math.Float64frombits(bits))
		require.NoError(t, err)
		require.Equal(t, want, string(appendNumber(nil, string(raw))))
	}
	for _, in := range []string{"", " ", " { } "} {
		got, err := Canonical([]byte(in))
		require.NoError(t, err)
		require.Equal(t, "{}", string(got), in)
	}
	for _, in := range []string{`{"a":1`, `{"a":1}{"b":2}`, `{"a":1} x`, "\"\xff\""} {
		_, err := Canonical([]byte(in))
		require.Error(t, err, in)
	}
	deep := func(n int) []byte { return []byte(strings.Repeat("[", n) + strings.Repeat("]", n)) }
	_, err := Canonical(deep(maxCanonical + 1))
	require.NoError(t, err)
	_, err = Canonical(deep(maxCanonical + 2))
	require.Error(t, err)
}

// TestNoCanonical: what two readers could take for different things has no form.
func TestNoCanonical(t *testing.T) {
	for _, in := range []string{
		`{"order":{"amount":5000},"order":{"to":"bob"}}`, `{"b":1,"a":1,"b":1}`, `[{"x":{"a":1,"\u0061":1}}]`, `{"a\n":1,"a\n":1}`,
		`{"a":"\ud800"}`, `{"a":"\ude00\ud83d"}`, `{"\udfff":1}`, "{\"a\":\"\xff\"}", "{\"a\":\"\\n\xed\xa0\x80\"}",
	} {
		_, err := Canonical([]byte(in))
		require.Error(t, err, in)
	}
}

// TestCanonicalCase: names that differ in their case only have an order, because some readers take the last of them.
func TestCanonicalCase(t *testing.T) {
	for _, in := range []string{
		`{"amount":1,"Amount":5000}`, `{"Amount":5000, "amount":1}`, `{"x":[{"\u212a":1,"k":2}],"a":1}`, `{"a":"\n","b":2,"B":1}`,
	} {
		got, err := Canonical([]byte(in))
		require.NoError(t, err)
		require.Equal(t, in, string(got))
	}
	got, err := Canonical([]byte(`{"b":{"A":1},"a":1}`))
	require.NoError(t, err)
	require.Equal(t, `{"a":1,"b":{"A":1}}`, string(got))
}

// TestNumbersAreComparedByTheirExactValue has numbers that differ beyond an int64 or a float64, and
// one number in many notations.
func TestNumbersAreComparedByTheirExactValue(t *testing.T) {
	long := strings.Repeat("9", 100_000)
	for want, same := range map[string][]string{
		"0":                                   {"-0", "0.0", "-0.000", "0e5", "0e-5", "-0E+999999999999999999999999", "0.0e99999999999999999999"},
		"1":                                   {"1.0", "1e0", "1E-0", "10e-1", "0.1e1", "0.01E+2", "1.000000000000000000000000000000"},
		"-1":                                  {"-1.0", "-10e-1"},
		"100":                                 {"1e2", "100.0", "0.1e3", "1.00E+2", "1e0000000000000000000000000002"},
		"123456789012345678901":               {"123456789012345678901.0", "1.23456789012345678901e20", "12345678901234567890.1e1"},
		"123456789012345678902":               {},
		"-123456789012345678901":              {},
		"1.23456789012345678901e+21":          {"1234567890123456789010", "123456789012345678901e1"},
		"9007199254740993":                    {"9007199254740993.0", "9.007199254740993e15"},
		"9007199254740992":                    {},
		"18446744073709551616":                {"18446744073709551616.0"},
		"18446744073709551617":                {},
		"0.1":                                 {"1e-1", "0.10", "10E-2"},
		"0.1000000000000000000001":            {"1000000000000000000001e-22"},
		"0.000001":                            {"1e-6", "0.0000010"},
		"0.0000012":                           {"1.2e-6", "12e-7"},
		"1e-7":                                {"0.0000001", "10e-8"},
		"1.2e-7":                              {"0.00000012"},
		"100000000000000000000":               {"1e20", "1e+20"},
		"123000000000000000000":               {"1.23e20"},
		"1e+21":                               {"1000000000000000000000", "10e20"},
		"1e+999999999":                        {"10e999999998", "0.1e1000000000", "1.0E+999999999"},
		"1e-999999999":                        {"0.1e-999999998", "10e-1000000000"},
		"1e99999999999999999999":              {},
		"1e-99999999999999999999":             {},
		"1e9223372036854775807":               {},
		long[:1] + "." + long[1:] + "e+99999": {long},
		long[:1] + "." + long[1:len(long)-1] + "8" + "e+99999": {long[1:] + "8"},
		"1.0e99999999999999999999":                             {},
		"1e+1000000000000":                                     {"1e1000000000000"},
		"1e-1000000000000":                                     {"0.1e-999999999999"},
		"0.30000000000000004":                                  {"3.0000000000000004e-1"},
		"0.3":                                                  {"0.30"},
		"1.7976931348623157e+308":                              {"179769313486231570e291"},
		"1.7976931348623157000001e+308":                        {},
	} {
		for _, n := range append(same, want) {
			got, err := Canonical([]byte(" [" + n + "]"))
			require.NoError(t, err)
			if string(got) != "["+want+"]" {
				t.Fatalf("%.60s is %.60s, and not %.60s", n, got, want)
			}
		}
	}
}

// FuzzNumbers compares two numbers with what package big makes of them.
func FuzzNumbers(f *testing.F) {
	for _, seed := range [][2]string{{"1.0", "1"}, {"1e2", "100"}, {"-0", "0"}, {"123456789012345678901", "123456789012345678902"}, {"0.00000012", "12e-8"}, {"1e21", "1000000000000000000000"}} {
		f.Add(seed[0], seed[1])
	}
	exact := func(n string) *big.Rat {
		_, exponent, _ := strings.Cut(strings.ToLower(n), "e")
		if !json.Valid([]byte(n)) || strings.ContainsAny(n, " \t\r\n\"[{tfnu") || len(n) > 100 || len(exponent) > 4 {
			return nil
		}
		value, ok := new(big.Rat).SetString(n)
		if !ok {
			return nil
		}
		return value
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		x, y := exact(a), exact(b)
		if x == nil || y == nil {
			return
		}
		one, two := string(appendNumber(nil, a)), string(appendNumber(nil, b))
		require.Equal(t, x.Cmp(y) == 0, one == two, "%s is written %s, %s is written %s", a, one, b, two)
		require.Zero(t, x.Cmp(exact(one)), "%s is written %s", a, one)
		for _, shifted := range []string{one + "e0", strings.Replace(one, "e", "00e", 1)} { // another notation of the same
			if same := exact(shifted); same != nil && same.Cmp(x) == 0 {
				require.Equal(t, one, string(appendNumber(nil, shifted)))
			}
		}
	})
}

// TestNumbersCostNothing proves that the size of the result is that of the text, whatever its exponent says.
func TestNumbersCostNothing(t *testing.T) {
	for _, n := range []string{"1e999999999", "-1.5e-999999999", "1e" + strings.Repeat("9", 50_000), "0." + strings.Repeat("0", 50_000) + "1", "1" + strings.Repeat("0", 50_000)} {
		out := appendNumber(nil, n)
		require.LessOrEqual(t, len(out), len(n)+8)
	}
}

// FuzzCanonical proves that the canonical form is JSON with the same meaning and is
// its own canonical form.
func FuzzCanonical(f *testing.F) {
	f.Add([]byte(`{"b":[1.50,"\u00e9"],"a":{"\ud83d\ude00":null,"\ufb33":-0}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		canonical, err := Canonical(raw)
		if err != nil {
			return
		}
		var want, got any
		if json.Unmarshal(raw, &want) != nil {
			return // a number beyond float64
		}
		require.NoError(t, json.Unmarshal(canonical, &got))
		require.Equal(t, want, got)
		again, err := Canonical(canonical)
		require.NoError(t, err)
		require.Equal(t, string(canonical), string(again))
	})
}
