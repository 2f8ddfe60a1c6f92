package budget

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// requireCompact compares compact with json.Compact.
func requireCompact(t testing.TB, raw string) {
	t.Helper()
	var want bytes.Buffer
	got := compact([]byte(raw))
	if json.Compact(&want, []byte(raw)) != nil {
		require.Nil(t, got, "%q is no JSON", raw)
		return
	}
	require.NotNil(t, got, "%q is JSON", raw)
	require.Equal(t, want.String(), string(got))
}

// pieces are what JSON is made of, and what breaks it.
var pieces = []string{
	`{`, `}`, `[`, `]`, `,`, `:`, `"a"`, `"a":`, `"`, `\`, `\"`, `\u00e9`, `\u00G0`, `\x`, `1`, `0`, `01`, `-`, `-0.5e+7`, `1.`, `.5`, `1e`, `2E-3`, `true`, `nul`, `null`, `false`,
	" ", "\n\t", "\r", "\x00", "\x01", "\x1f", "\x7f", "\x80", "ö", "\u2028", `"a long string with some words"`, `"\\\"\n\/"`, `"12345678\"90"`,
}

// TestCompact says what json.Compact says of any text, and of values that were broken at one place.
func TestCompact(t *testing.T) {
	g := rand.New(rand.NewPCG(7, 7))
	n := 2000
	if os.Getenv("MCPCHAIN_SOAK") != "" {
		n = 20_000
	}
	for range 10 * n {
		var b strings.Builder
		for range 1 + g.IntN(8) {
			b.WriteString(pieces[g.IntN(len(pieces))])
		}
		requireCompact(t, b.String())
	}
	var value func(depth int) string
	value = func(depth int) string {
		space := []string{"", "", "", " ", "\n\t"}[g.IntN(5)]
		var parts []string
		for range g.IntN(4) * min(1, depth) {
			parts = append(parts, value(depth-1))
		}
		switch g.IntN(4) {
		case 0:
			return space + "[" + strings.Join(parts, ",") + space + "]"
		case 1:
			for i := range parts {
				parts[i] = space + `"n\"` + strings.Repeat("x", g.IntN(20)) + `"` + space + ":" + parts[i]
			}
			return "{" + strings.Join(parts, ",") + space + "}" + space
		case 2:
			return `"` + strings.Repeat("a", g.IntN(20)) + []string{"", `\\`, `\"`, "ö", `\u12aF`}[g.IntN(5)] + strings.Repeat("b", g.IntN(20)) + `"`
		default:
			return []string{"0", "-1", "12.50", "1e9", "true", "false", "null"}[g.IntN(7)] + space
		}
	}
	for range n {
		text := value(5)
		requireCompact(t, text)
		for range 5 {
			i := g.IntN(len(text))
			requireCompact(t, text[:i]+text[i+1:])
			requireCompact(t, text[:i]+pieces[g.IntN(len(pieces))]+text[i:])
		}
	}
	for _, n := range []int{maxNesting - 1, maxNesting, maxNesting + 1, 100_000} {
		requireCompact(t, strings.Repeat("[", n)+strings.Repeat("]", n))
		requireCompact(t, strings.Repeat(`{"a":`, n)+"1"+strings.Repeat("}", n))
		requireCompact(t, strings.Repeat("[", n))
	}
}

// TestPlainEnd finds every byte that ends a plain part of a string, wherever it stands, and no other one.
func TestPlainEnd(t *testing.T) {
	for c := range 256 {
		ends := c == '"' || c == '\\' || c < ' '
		for _, around := range []byte{'a', 0x80, 0xff, '!', '#', '[', ']', ' '} {
			for size := range 20 {
				for at := range size {
					raw := bytes.Repeat([]byte{around}, size)
					raw[at] = byte(c)
					want := size
					if ends {
						want = at
					}
					require.Equal(t, want, plainEnd(raw, 0), "%q", raw)
				}
			}
		}
	}
}

// TestWhatHasNoSpacesIsNotCopied, and neither does reading a value need memory.
func TestWhatHasNoSpacesIsNotCopied(t *testing.T) {
	raw := []byte(`{"results":[` + strings.Repeat(`{"id":123,"name":"a \"name\""},`, 10_000) + `0]}`)
	require.Zero(t, testing.AllocsPerRun(5, func() {
		if got := compact(raw); &got[0] != &raw[0] {
			panic("copied")
		}
	}))
	spaced := bytes.ReplaceAll(raw, []byte{','}, []byte(", "))
	require.InDelta(t, 1, testing.AllocsPerRun(5, func() { compact(spaced) }), 0)
}

func FuzzCompact(f *testing.F) {
	for _, p := range pieces {
		f.Add(p)
		f.Add(`{"a":[` + p + `,1]}`)
	}
	f.Fuzz(func(t *testing.T, raw string) { requireCompact(t, raw) })
}
