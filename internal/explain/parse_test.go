package explain

import (
	"bytes"
	"encoding/json"
	"math/big"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// FuzzParse compares with encoding/json: what is JSON there is JSON here and the
// same, except for names that come twice, of which both keep the last.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		`{"a":[1,2.5e3,-0,true,false,null,"x"],"b":{}}`, `"\u0041\ud83d\ude00\ud800\n\/"`, `{"a":1,"a":2}`, `[01]`, `[1.]`, `[.5]`, `[1e]`, `-`, `[1,]`, `{"a":1,}`,
		`{"a" 1}`, `nul`, `nullx`, "\"\x01\"", "\"\xff\"", `"\x"`, `"\u12"`, `[1 2]`, `{,}`, ` 1 `, `1 1`, `"`, `{"`, `[`, `{"a":`, `tru e`, `1e5x`, `"a"b`, "\ufeff1",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, broken := parse(text)
		if broken != nil && broken.rule == ruleDepth {
			return
		}
		require.Equal(t, json.Valid([]byte(text)), broken == nil, "%q", text)
		if broken != nil {
			require.LessOrEqual(t, broken.offset, len(text))
			require.NotEmpty(t, broken.what)
			return
		}
		var want any
		dec := json.NewDecoder(strings.NewReader(text))
		dec.UseNumber()
		require.NoError(t, dec.Decode(&want))
		if utf8.ValidString(text) { // it replaces each broken byte, and not each run of them
			require.Equal(t, want, d.plain(0))
		}
		var b bytes.Buffer
		d.write(&b, 0)
		again, broken := parse(b.String())
		require.Nil(t, broken)
		require.True(t, equal(d, 0, again, 0))
		require.Equal(t, d.hash(0), again.hash(0))
	})
}

func TestWhatIsWrongWithJSON(t *testing.T) {
	for text, want := range map[string]string{
		"{\"a\":\"x\ny\"}":       `a line break in a string is written \n`,
		"{\"a\":\"\\n\ty\"}":     `a control character in a string is written as an escape, such as \t or \u0001`,
		`{"a":"\u12x4"}`:         `a backslash in a string is written \\`,
		`{"a":"never ends`:       "the text ends in the middle of a string: a double quote is missing",
		`{"a":"never \t ends`:    "the text ends in the middle of a string: a double quote is missing",
		`{"a":1 // one`:          "a comma or '}' is missing",
		`{"a":1,/* one */"b":2}`: "comments are not allowed",
		`{"a":[1 2]}`:            "a comma or ']' is missing",
		`{"a":[1,`:               "the text ends where a value should come",
		`{"a":[1`:                "the text ends in the middle of a list",
		`{"a":undefined}`:        "an absent value is written null",
		`{"a":-}`:                "a digit is missing in a number",
		`{"a":1.2.3}`:            "a number is followed by something that does not belong to it",
		`{"a":0x10}`:             "a number is followed by something that does not belong to it",
		`{"a":hello}`:            "strings must be in double quotes",
		`{"a":@}`:                "no value begins with this character",
		`{"a":`:                  "the text ends where a value should come",
		`{`:                      "the text ends in the middle of an object",
	} {
		_, broken := parse(text)
		require.NotNil(t, broken, text)
		require.Equal(t, want, broken.what, text)
	}
}

func TestPatternsOfECMAScript(t *testing.T) {
	for pattern, want := range map[string]string{
		`^\u0041$`: `^\x{0041}$`, `\u{1F600}`: `\x{1F600}`, `\\u0041`: `\\u0041`, `[^]+`: `(?s:.)+`, `\p{Letter}\P{Number}`: `\p{L}\P{N}`, `a\d\-b`: `a\d\-b`,
	} {
		require.Equal(t, want, fromECMA(pattern))
	}
	s, err := Compile([]byte(`{"properties":{"a":{"pattern":"^\\u0041[^]$"},"b":{"pattern":"^(?!x)"}}}`))
	require.NoError(t, err)
	require.Equal(t, `Argument 'a' expected a string that matches the pattern ^\u0041[^]$, but received 'B'.`, s.Explain([]byte(`{"a":"B","b":"x"}`), Options{}).Text())
	require.Nil(t, s.Explain([]byte(`{"a":"A\n"}`), Options{}))
}

func TestDecimalsAreThoseOfBig(t *testing.T) {
	texts := []string{
		"0", "-0", "0.0", "1", "-1", "1.0", "10", "100e-2", "0.1", "0.10", "1e1", "1E+2", "12.50", "0.3", "-0.3", "1e-7", "123456789012345678", "1234567890123456789",
		"1e21", "999999999", "1000000000", "0.000001", "2.5e-3", "7", "0.05", "0.01", "4.35", "1e9", "1e10", "1e-9", "1e-10", "123456789.123456789", "33.333",
	}
	for _, x := range texts {
		a, ok := new(big.Rat).SetString(x)
		require.True(t, ok)
		require.Equal(t, a.IsInt(), isInteger(x), x)
		written, ok := new(big.Rat).SetString(parseDecimal(x).String())
		require.True(t, ok)
		require.Zero(t, a.Cmp(written), x)
		for _, y := range texts {
			b, ok := new(big.Rat).SetString(y)
			require.True(t, ok)
			require.Equal(t, a.Cmp(b), parseDecimal(x).compare(parseDecimal(y)), "%s %s", x, y)
			require.Equal(t, a.Cmp(b), newLimit(b).compare(x), "%s %s", x, y)
			if b.Sign() > 0 {
				require.Equal(t, new(big.Rat).Quo(a, b).IsInt(), parseDecimal(x).multipleOf(b), "%s %s", x, y)
			}
		}
	}
}

func TestNumbersWithoutEnd(t *testing.T) {
	huge, tiny := parseDecimal("1e999999999999999999999"), parseDecimal("-1e-999999999999999999999")
	require.Equal(t, 1, huge.compare(parseDecimal("1e400")))
	require.Equal(t, -1, tiny.compare(parseDecimal("0")))
	require.True(t, huge.integer())
	require.False(t, tiny.integer())
	require.True(t, huge.multipleOf(big.NewRat(1, 10)))
	require.True(t, huge.multipleOf(big.NewRat(5, 1)))
	require.False(t, huge.multipleOf(big.NewRat(3, 1)))
	require.False(t, tiny.multipleOf(big.NewRat(1, 10)))
	for text, want := range map[string]string{
		"30": "30", "0.50": "0.5", "1e21": "1e21", "1e20": "100000000000000000000", "123456e20": "1.23456e25", "0.000001": "0.000001", "0.0000001": "1e-7", "-1.5e1": "-15", "12.0": "12",
	} {
		require.Equal(t, want, parseDecimal(text).String())
	}
}

// TestFormatsAreWhatTheySay: what a sentence or an example call shows of a format
// is valid by it.
func TestFormatsAreWhatTheySay(t *testing.T) {
	for name, words := range formatWords {
		s, err := Compile(map[string]any{"format": name})
		require.NoError(t, err)
		n := s.root
		require.Equal(t, words, n.format.words)
		require.True(t, n.format.matches(samples[name]), name)
		if _, shown, ok := strings.Cut(words, "such as "); ok {
			shown, _, _ = strings.Cut(shown, " or ")
			require.True(t, n.format.matches(shown), shown)
		}
		require.Contains(t, samples, name)
	}
}

func TestExamplesAreFound(t *testing.T) {
	for schema, want := range map[string]string{
		`{"type":"object","required":["a","b","c"],"properties":{"a":{"pattern":"^[A-Z]{3}-\\d+$"},"b":{"minimum":0.5,"maximum":0.6,"type":"number"},"c":{"format":"uuid"}}}`: `{"a":"AAA-1","b":0.5,"c":"123e4567-e89b-12d3-a456-426614174000"}`,
		`{"type":"object","required":["a"],"properties":{"a":{"type":"integer","multipleOf":7,"exclusiveMinimum":100}}}`:                                                      `{"a":105}`,
		`{"type":"object","required":["a"],"properties":{"a":{"type":"array","minItems":2,"uniqueItems":true,"items":{"enum":["x","y","z"]}}}}`:                               `{"a":["x","y"]}`,
		`{"type":"object","required":["a"],"properties":{"a":{"type":"array","minItems":3,"uniqueItems":true,"items":{"type":"string"}}}}`:                                    `{"a":["text","text2","text3"]}`,
		`{"type":"object","required":["a"],"properties":{"a":{"type":"array","contains":{"const":"k"}}}}`:                                                                     `{"a":["k"]}`,
		`{"type":"object","required":["a"],"properties":{"a":{"default":"d","type":"string"},"b":{}},"dependentRequired":{"a":["b"]}}`:                                        `{"a":"d","b":"text"}`,
		`{"type":"object","required":["a"],"properties":{"a":{"$ref":"#/$defs/p"}},"$defs":{"p":{"type":"object","required":["n"],"properties":{"n":{"type":"null"}}}}}`:      `{"a":{"n":null}}`,
		`{"type":"object","required":["a"],"properties":{"a":{"anyOf":[{"type":"string","minLength":6,"maxLength":7},{"type":"null"}]}}}`:                                     `{"a":"textte"}`,
		`{"type":"object","required":["a"],"properties":{"a":{"type":"boolean"}},"anyOf":[{"required":["b"]},{"required":["c"]}]}`:                                            `{"a":true,"b":"text"}`,
		`{"type":"object","required":["a"],"properties":{"a":{"enum":["x"]},"z":{"type":"integer"}},"if":{"properties":{"a":{"const":"x"}}},"then":{"required":["z"]}}`:       `{"a":"x","z":1}`,
		`{"type":"object","required":["a"],"properties":{"a":{"type":"string","maxLength":2,"examples":["too long"]}}}`:                                                       `{"a":"xt"}`,
		`{"type":"object","required":["a"],"properties":{"a":{"type":["null","integer"],"maximum":-5}}}`:                                                                      `{"a":-5}`,
		`{"type":"object","minProperties":2,"required":["a"],"properties":{"a":{},"b":{"type":"integer"},"c":{}}}`:                                                            `{"a":"text","b":1}`,
		`{"type":"object","required":["a"],"properties":{"a":{"type":"string","pattern":"(?=never)"}}}`:                                                                       `{"a":"text"}`,
	} {
		s, err := Compile([]byte(schema))
		require.NoError(t, err)
		have := s.example(nil, &Options{})
		require.Equal(t, want, string(have), schema)
	}
	for _, schema := range []string{
		`{"type":"object","required":["a"],"properties":{"a":false}}`,
		`{"type":"object","required":["a"],"properties":{"a":{"type":"string","pattern":"^a$","minLength":5}}}`,
		`{"type":"object","required":["a"],"properties":{"a":{"type":"integer","exclusiveMinimum":1,"exclusiveMaximum":2}}}`,
		`{"type":"object","required":["a"],"properties":{"a":{"$ref":"#"}}}`,
		`{"type":"string"}`,
		`{"type":"object","minProperties":500}`,
	} {
		s, err := Compile([]byte(schema))
		require.NoError(t, err)
		require.Nil(t, s.example(nil, &Options{}), schema)
	}
}
