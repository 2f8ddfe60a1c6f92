package scrub

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPattern(t *testing.T) {
	for _, tt := range []struct {
		expr, text string
		end        int
		hidden     []string
	}{
		{`a+b`, "aaab", 4, nil},
		{`a+ab`, "aaab", -1, nil}, // nothing is given back
		{`(?:a|ab)c`, "abc", -1, nil},
		{`(?:ab|a)c`, "abc", 3, nil},
		{`a{2}b?`, "aaa", 2, nil},
		{`(?:ab){2,}`, "ababa", 4, nil},
		{`(?:ab){3,}`, "ababa", -1, nil},
		{`(?i:Ab)C`, "aBC", 3, nil},
		{`(?i:Ab)C`, "aBc", -1, nil},
		{`[^a]\z`, "\xff", 1, nil},
		{`a(?P<is>b)`, "ab", 1, nil},
		{`a(?P<not>b)`, "ab", -1, nil},
		{`a(?P<after>[a])b`, "ab", 2, nil},
		{`(?P<after>[a])b`, "b", -1, nil},
		{`a\b`, "ab", -1, nil},
		{`a\n^b`, "a\nb", 3, nil},
		{`x=(?P<hide>\w+),(?P<path>[\w.]+)`, "x=ab,c.d.", 9, []string{"ab", "c.d"}},
		{`(?:(?P<hide>a)b|a(?P<hide>c))`, "ac", 2, []string{"c"}}, // what was not taken hides nothing
		{`(?:(?P<hide>a)b)*a`, "aba", 3, []string{"a"}},
		{segments + `;`, "a/B C/d;", 8, nil},
	} {
		var look text
		look.s = tt.text
		require.Equal(t, tt.end, compile(tt.expr)(&look, 0), tt.expr)
		look.hides(compile(tt.expr), 0)
		var hidden []string
		for _, f := range look.all {
			hidden = append(hidden, tt.text[f.from:f.to])
		}
		require.Equal(t, tt.hidden, hidden, tt.expr)
	}
	require.Panics(t, func() { compiled(parse(`a$`)) }, "what no pattern has")
	require.Panics(t, func() { parse(`a(`) })
}
