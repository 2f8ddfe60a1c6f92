package canonical

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// TestPlainIsWhatDecodingGives compares both ways for texts that are plain, nearly plain, or none.
func TestPlainIsWhatDecodingGives(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	plain := 0
	for range 20_000 {
		text := mutated(r, random(r, 0))
		if strings.TrimSpace(text) == "" || !utf8.ValidString(text) {
			continue // looked at before both
		}
		want, wrong := decoded([]byte(text))
		got, err := JSON([]byte(text))
		require.Equal(t, wrong == nil, err == nil, text)
		require.Equal(t, string(want), string(got), text)
		if _, rest, ok := appendPlain(nil, []byte(text), 0); ok && len(space(rest)) == 0 {
			plain++
		}
	}
	require.Greater(t, plain, 2_000)
}

// random returns a JSON text.
func random(r *rand.Rand, depth int) string {
	blank := func() string { return []string{"", "", "", " ", "\n\t"}[r.IntN(5)] }
	switch n := r.IntN(10); {
	case n < 2 && depth < 4:
		var members []string
		for range r.IntN(12) {
			name, _ := json.Marshal([]string{"a", "A", "b", "city", "ö", "\U0001F600", "", "a b", "x\"y"}[r.IntN(9)] + fmt.Sprint(r.IntN(30)))
			members = append(members, blank()+string(name)+blank()+":"+random(r, depth+1))
		}
		return blank() + "{" + strings.Join(members, blank()+",") + blank() + "}" + blank()
	case n < 4 && depth < 4:
		var items []string
		for range r.IntN(5) {
			items = append(items, random(r, depth+1))
		}
		return blank() + "[" + strings.Join(items, ",") + blank() + "]"
	case n < 6:
		return blank() + []string{"0", "-0", "7", "-12", "100", "1.5", "1e3", "123456789012345678901", "1234567890123456789012", "1000000000000000000000", "9007199254740993", "0.50", "-0.0", "1.", "01", "1e", "2E+05", "1e-400", "-"}[r.IntN(19)] + blank()
	case n < 8:
		return blank() + []string{`"Berlin"`, `""`, `"a\nb"`, `"\u00e9"`, `"é"`, `"\ud800"`, "\"\u2028\"", `"{}"`, "\"\x7f\""}[r.IntN(9)] + blank()
	default:
		return []string{"true", "false", "null"}[r.IntN(3)]
	}
}

// mutated spoils one text of four.
func mutated(r *rand.Rand, text string) string {
	if r.IntN(4) > 0 || text == "" {
		return text
	}
	i := r.IntN(len(text))
	switch r.IntN(3) {
	case 0:
		return text[:i]
	case 1:
		return text[:i] + text[i+1:]
	default:
		return text[:i] + string("{}[],:\"0-e.tnx \x01\xff"[r.IntN(17)]) + text[i:]
	}
}

func TestPlainAllocations(t *testing.T) {
	text := []byte(`{"city":"Berlin","days":7,"units":{"t":"C","wind":"m/s"},"tags":["a","b"]}`)
	require.LessOrEqual(t, testing.AllocsPerRun(200, func() { _, _ = JSON(text) }), 5.0)
}

func BenchmarkJSON(b *testing.B) {
	text := []byte(`{"city":"Berlin","days":7,"units":{"t":"C","wind":"m/s"},"tags":["a","b"]}`)
	for name, f := range map[string]func([]byte) ([]byte, error){"JSON": JSON, "decoded": decoded} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				if _, err := f(text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
