package jsons_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/internal/jsons"
)

func TestUnclear(t *testing.T) {
	for raw, want := range map[string]jsons.Unclear{
		`{"order":{"amount":5000},"order":{"to":"bob"}}`:  {Rule: jsons.Twice, At: []string{"order"}},
		`{"a":1,"\u0061":2}`:                              {Rule: jsons.Twice, At: []string{"a"}},
		`{"x":[1,{"a":1,"b":{"c":1,"c":2}}]}`:             {Rule: jsons.Twice, At: []string{"x", "1", "b", "c"}},
		`{"a/b":{"1":{"~":1,"~":2}},"later":1,"later":1}`: {Rule: jsons.Twice, At: []string{"a/b", "1", "~"}},
		`{"😀":1,"\ud83d\ude00":2}`:                        {Rule: jsons.Twice, At: []string{"😀"}},
		`{"x":["a","\ud800"]}`:                            {Rule: jsons.Surrogate, At: []string{"x", "1"}},
		`{"x":"\ude00\ud83d"}`:                            {Rule: jsons.Surrogate, At: []string{"x"}},
		`{"x":"\ud83d"}`:                                  {Rule: jsons.Surrogate, At: []string{"x"}},
		`{"x":{"\ud800":1}}`:                              {Rule: jsons.Surrogate, At: []string{"x"}},
		"{\"x\":[\"\xff\"]}":                              {Rule: jsons.NotUTF8, At: []string{"x", "0"}},
		"{\"x\":\"\xed\xa0\x80\"}":                        {Rule: jsons.NotUTF8, At: []string{"x"}},
		"{\"\xff\":1}":                                    {Rule: jsons.NotUTF8},
		`{"a":1}{}`:                                       {Rule: jsons.NotJSON},
		`{"a":1,"a":01}`:                                  {Rule: jsons.NotJSON},
		``:                                                {Rule: jsons.NotJSON},
	} {
		require.False(t, jsons.Clear([]byte(raw)), raw)
		got := jsons.WhyUnclear([]byte(raw))
		require.NotNil(t, got, raw)
		require.Equal(t, want.Rule, got.Rule, raw)
		require.Equal(t, want.At, got.At, raw)
		for i, step := range got.At {
			require.Equal(t, step == "0" || step == "1" && got.At[0] == "x", got.InList(i), "%s: %s", raw, step)
		}
	}
	for _, raw := range []string{`{}`, ` {"a":1,"A":2} `, `null`, `[1]`, `{"a":{"b":1},"b":{"b":1}}`, `[{"a":1},{"a":1}]`, `{"a":"\ud83d\ude00 \ufffd \\ud800"}`, `{"a":1e400,"b":-0.0}`} {
		require.True(t, jsons.Clear([]byte(raw)), raw)
		require.Nil(t, jsons.WhyUnclear([]byte(raw)), raw)
	}
	for raw, only := range map[string]bool{`{"a":"\ud800"}`: true, `{"a":1}`: true, `{"a":"\ud800","b":1,"b":1}`: false, "{\"a\":\"\\ud800\xff\"}": false, `{"\ud800":1,"\ud801":1}`: false, `{"a":"\ud800"`: false} {
		require.Equal(t, only, jsons.OnlyHalves([]byte(raw)), raw)
	}
	require.True(t, jsons.HasHalf([]byte(`"a\ud800"`)))
	require.False(t, jsons.HasHalf([]byte(`"\ud83d\ude00"`)))
	require.False(t, jsons.HasHalf([]byte("\"\xff\"")))
}

func TestClearCostsNothing(t *testing.T) {
	if harness.Racing {
		t.Skip("a pool forgets at random")
	}
	raw := []byte(`{"city":"Berlin","days":7,"units":{"t":"C","wind":"m/s"},"tags":["a","b"]}`)
	require.Zero(t, int(testing.AllocsPerRun(200, func() { _ = jsons.Clear(raw) })))
}

func BenchmarkClear(b *testing.B) {
	item := `{"sku":"A-17","quantity":3,"price":2.5,"note":"two words and \u00e9 and more"},`
	for _, n := range []int{1, 12, 1250} {
		raw := []byte(`{"items":[` + strings.Repeat(item, n) + `{}]}`)
		b.Run(strconv.Itoa(len(raw))+" bytes", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if !jsons.Clear(raw) {
					b.Fatal()
				}
			}
		})
	}
}
