package canonical

import (
	"encoding/json"
	"math"
	"slices"
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/require"
)

// TestCanonical has the examples of RFC 8785, and what it leaves to others.
func TestCanonical(t *testing.T) {
	for in, want := range map[string]string{
		`{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],"string":"\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/","literals":[null,true,false]}`:                                        `{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`,
		`{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One","\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"}`: "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u0080\":\"Control\",\"ö\":\"Latin Small Letter O With Diaeresis\",\"€\":\"Euro Sign\",\"😀\":\"Emoji: Grinning Face\",\"\ufb33\":\"Hebrew Letter Dalet With Dagesh\"}",
		` { } `:              `{}`,
		`[1.0,-0,-0.0,1e2]`:  `[1,0,0,100]`,
		`[1e21,1e-7,1.5e-9]`: `[1e+21,1e-7,1.5e-9]`,
		`[1e20,0.000001]`:    `[100000000000000000000,0.000001]`,
		`[9007199254740993]`: `[9007199254740993]`, // not the same as ...992
		`[1e400]`:            `[1e400]`,
	} {
		got, err := JSON([]byte(in))
		require.NoError(t, err)
		require.Equal(t, want, string(got))
	}
	for bits, want := range map[uint64]string{ // appendix B
		0x0000000000000001: "5e-324", 0x7fefffffffffffff: "1.7976931348623157e+308", 0x4340000000000000: "9007199254740992",
		0x444b1ae4d6e2ef4e: "999999999999999700000", 0x444b1ae4d6e2ef50: "1e+21", 0x3eb0c6f7a0b5ed8c: "9.999999999999997e-7", 0x3eb0c6f7a0b5ed8d: "0.000001",
	} {
		raw, err := json.Marshal(math.Float64frombits(bits))
		require.NoError(t, err)
		require.Equal(t, want, string(appendNumber(nil, json.Number(raw))))
	}
	for _, in := range []string{"", " ", " { } "} {
		got, err := JSON([]byte(in))
		require.NoError(t, err)
		require.Equal(t, "{}", string(got), in)
	}
	for _, in := range []string{`{"a":1`, `{"a":1}{"b":2}`, `{"a":1} x`, "\"\xff\""} {
		_, err := JSON([]byte(in))
		require.Error(t, err, in)
	}
	deep := make([]byte, 0, 2000)
	for range 1000 {
		deep = append(deep, '[')
	}
	for range 1000 {
		deep = append(deep, ']')
	}
	_, err := JSON(deep)
	require.Error(t, err)
}

// TestOrderOfNames compares with the code units themselves.
func TestOrderOfNames(t *testing.T) {
	names := []string{"", "a", "ab", "b", "\u20ac", "\ud7ff", "\ue000", "\ufb33", "\uffff", "\U00010000", "\U0001f600", "\U0001f601", "\U0010ffff", "a\U0001f600", "a\ufb33"}
	for _, a := range names {
		for _, b := range names {
			want := slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
			require.Equal(t, want, compare(a, b), "%q %q", a, b)
		}
	}
}

// FuzzCanonical proves that the canonical form is JSON with the same meaning and is
// its own canonical form.
func FuzzCanonical(f *testing.F) {
	f.Add([]byte(`{"b":[1.50,"\u00e9"],"a":{"\ud83d\ude00":null,"\ufb33":-0}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		canonical, err := JSON(raw)
		if err != nil {
			return
		}
		var want, got any
		if json.Unmarshal(raw, &want) != nil {
			return // a number beyond float64
		}
		require.NoError(t, json.Unmarshal(canonical, &got))
		require.Equal(t, want, got)
		again, err := JSON(canonical)
		require.NoError(t, err)
		require.Equal(t, string(canonical), string(again))
	})
}
