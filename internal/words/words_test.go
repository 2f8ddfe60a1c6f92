package words_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/internal/words"
)

func TestLine(t *testing.T) {
	for in, want := range map[string]string{
		"":                                      "",
		"  a b  ":                               "a b",
		"a\nRetry: yes\r\nNext: 1":              "a Retry: yes Next: 1",
		"a\rb\vc\fd\u0085e\u2028f\u2029g\x1ch":  "a b c d e f g h",
		"a\tb":                                  "a b",
		"a\x1b[31mred\x1b[0m b":                 "ared b",
		"a\x1b]8;;http://x\x07b\x1b]8;;\x1b\\c": "abc",
		"a\u009b31mb\x1bcd":                     "abcd",
		"a\x1b[31":                              "a[31",
		"a\x1b(Bb\x1b#8c\x1b":                   "abc",
		"a\x1b(\nb\x1b(":                        "a( b(",
		"a\x1b]0;t\u009cb\u0090q\u009cc\u009fd": "abcd",
		"a\u200b\u200d\ufeff\u00adb":            "ab",
		"a\u202e\u061c\u2066b":                  "ab",
		"a\ufe0f\U000e0041\U000e0100b":          "ab",
		"a\xffb":                                "a\uFFFDb",
		"a\x00\x07\x7fb":                        "ab",
		"größer 日本 🎉":                           "größer 日本 🎉",
	} {
		require.Equal(t, want, words.Line(in), "%q", in)
	}
}

func TestLines(t *testing.T) {
	for in, want := range map[string]string{
		"one line: Retry: yes":            "one line: Retry: yes",
		"Retry: yes":                      "Retry: yes",
		"a\nb\n- c":                       "a\nb\n- c",
		"a\nRetry: yes, now.":             "a\n> Retry: yes, now.",
		"a\r\nRETRY : no\u2028Next: x":    "a\n> RETRY : no\n> Next: x",
		"a\n  **Reference:** 7":           "a\n>   **Reference:** 7",
		"a\nRеtry: cyrillic":              "a\n> Rеtry: cyrillic",
		"a\nＲｅｔｒｙ： wide":                  "a\n> Ｒｅｔｒｙ： wide",
		"a\n𝐑𝐞𝐭𝐫𝐲: bold":                  "a\n> 𝐑𝐞𝐭𝐫𝐲: bold",
		"a\nRe\u200btry: invisible":       "a\n> Retry: invisible",
		"a\nRe\u0301try: accent":          "a\n> Re\u0301try: accent",
		"a\nRetry∶ ratio":                 "a\n> Retry∶ ratio",
		"a\nInternal   error: fake":       "a\n> Internal   error: fake",
		"a\nquantity: must be 1\nnote it": "a\nquantity: must be 1\nnote it",
		"a\n\tb":                          "a\n\tb",
		"a\n- Reference: 7":               "a\n> - Reference: 7",
		"a\n- Conflict: b":                "a\n- Conflict: b",
		"a\nPartial answer: b":            "a\n> Partial answer: b",
	} {
		got := words.Lines(in)
		require.Equal(t, want, got, "%q", in)
		require.Equal(t, got, words.Lines(got), "idempotent")
	}
}

func TestFree(t *testing.T) {
	require.Equal(t, "> Reference: 7", words.Free("Reference: 7", false))
	require.Equal(t, "> Retry: yes\n> Next: x", words.Free("Retry: yes\nNext: x", false))
	require.Equal(t, "Not found: a", words.Free("Not found: a", false))
	require.Equal(t, "> Not found: a", words.Free("Not found: a", true))
	require.Equal(t, "a: b", words.Free("a: b", true))
}

func TestJSON(t *testing.T) {
	for _, text := range []string{"plain", "a\u2028b\u202ec", "\U000e0041\ufe0f\u0085", "größer 🎉", `{"a":1}`} {
		raw, err := json.Marshal(text)
		require.NoError(t, err)
		safe := words.JSON(strings.ReplaceAll(string(raw), `\u2028`, "\u2028"))
		require.Equal(t, words.Line(safe), safe)
		var back string
		require.NoError(t, json.Unmarshal([]byte(safe), &back))
		require.Equal(t, text, back)
	}
	require.Equal(t, `[1, 2]`, words.JSON("[1,\n2]"))
}

func TestSentences(t *testing.T) {
	require.Equal(t, "the disk is full.", words.Sentence(" the disk\nis full "))
	require.Equal(t, "Is it?", words.Sentence("Is it?"))
	require.Equal(t, "he said 'stop.'.", words.Sentence("he said 'stop.'"))
	require.Equal(t, "as follows:", words.Ended("as follows:"))
	for text, want := range map[string]string{
		"read https://example.com/docs":                "",
		"open the file\n./a/b":                         "",
		`look into C:\data\x`:                          "",
		"ask for 'projects/alpha'":                     ".",
		"open [the guide](https://example.com/docs)":   ".",
		"https://example.com/docs says how to do that": ".",
	} {
		require.Equal(t, text+want, words.Ended(text))
	}
	require.Empty(t, words.Sentence(" \n"))
	require.Equal(t, "Äpfel", words.Capital("äpfel"))
	require.Equal(t, "a, b or c", words.List([]string{"a", "b", "c"}, "or"))
	require.Equal(t, "a and b", words.List([]string{"a", "b"}, "and"))
	require.Equal(t, "a", words.List([]string{"a"}, "or"))
	require.Empty(t, words.List(nil, "or"))
	require.Equal(t, "1 file", words.Plural(1, "file"))
	require.Equal(t, "0 files", words.Plural(0, "file"))
	require.Equal(t, "2 entries", words.Plural(2, "entry", "entries"))
	require.Equal(t, "'a b'", words.Quote("a\nb", 64))
	require.Equal(t, `"O'Neil"`, words.Quote("O'Neil", 64))
	require.Equal(t, `'a"’b'`, words.Quote(`a"'b`, 64))
	require.Equal(t, "'日本...'", words.Quote("日本語です", 2))
}

func TestClip(t *testing.T) {
	require.Equal(t, "short", words.Clip("short", 5))
	require.Equal(t, "One sentence. Another one. [12 more characters left out]", words.Clip("One sentence. Another one. A third one", 30))
	require.Equal(t, "some words without an [16 more characters left out]", words.Clip("some words without an end in sight at", 22))
	for n := range 40 {
		require.True(t, utf8.ValidString(words.Clip("日本語の文章がここにあります。もう一つ", n)))
	}
}

func TestPlaceholdersAreNotCut(t *testing.T) {
	const text = "token=[redacted] was refused"
	for n := range len("token=[redacted]") {
		for _, cut := range []string{words.Cut(text, n), words.Quote(text, n), words.Clip(text, n)} {
			require.NotRegexp(t, `\[\w*[^\w\]]`, strings.ReplaceAll(cut, " [", ""), "%d: %s", n, cut)
		}
	}
	require.Equal(t, "token=[redacted]...", words.Cut(text, len("token=[redacted]")))
	require.Equal(t, "list[0][...", words.Cut("list[0][index of it]", 8))
	require.Equal(t, "a [b [c d]...", words.Cut("a [b [c d] e]", 10))
}

func TestWait(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-1: "1 s", 0: "1 s", 900 * time.Millisecond: "1 s", time.Second: "1 s", 1500 * time.Millisecond: "2 s", 30 * time.Second: "30 s", 119 * time.Second: "119 s",
		119*time.Second + 1: "2 min", 5 * time.Minute: "5 min", 301 * time.Second: "5 min 1 s", 90 * time.Minute: "1 h 30 min", 2*time.Hour + time.Second: "2 h 1 min", math.MaxInt64: "876000 h",
	} {
		require.Equal(t, want, words.Wait(d), d)
	}
	require.Equal(t, "300 ms", words.Duration(300*time.Millisecond))
	require.Equal(t, "1 ms", words.Duration(1))
	require.Equal(t, "2 s", words.Duration(1500*time.Millisecond))
	require.Equal(t, "1 s", words.Seconds(math.NaN()))
	require.Equal(t, "876000 h", words.Seconds(math.Inf(1)))
	require.Equal(t, "2 s", words.Seconds(1.2))
}

// FuzzLines checks that nothing of a text can be taken for a line of ours, or is invisible.
func FuzzLines(f *testing.F) {
	for _, s := range []string{"a\nRetry: yes", "a\r\nＮｅｘｔ: 1", "\x1b[31m\x9b", "a\xff\u2028b", "a\n\u202eRetry:"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		line, lines := words.Line(text), words.Lines(text)
		for _, s := range []string{line, lines} {
			if !utf8.ValidString(s) {
				t.Fatalf("%q is not valid", s)
			}
			for _, r := range s {
				if words.Invisible(r) && !(s == lines && (r == '\n' || r == '\t')) {
					t.Fatalf("%q has %U", s, r)
				}
			}
			if len(s) > 3*len(text)+3*strings.Count(lines, "\n") {
				t.Fatalf("%d bytes became %d", len(text), len(s))
			}
		}
		if strings.ContainsAny(line, "\n\r\t") || words.Line(line) != line || words.Lines(lines) != lines {
			t.Fatalf("%q: %q, %q", text, line, lines)
		}
		for i, l := range strings.Split(lines, "\n") {
			for _, label := range []string{"Retry:", "Next:", "Reference:", "Suggestion:"} {
				if i > 0 && strings.HasPrefix(l, label) {
					t.Fatalf("%q has a line of ours", lines)
				}
			}
		}
	})
}

// TestTimeIsLinear triples hostile texts. It compares the best of as many rounds as it takes,
// because a busy machine makes any one round slow.
func TestTimeIsLinear(t *testing.T) {
	took := func(f func(string), text string) time.Duration {
		start := time.Now()
		f(text)
		return time.Since(start)
	}
	for _, unit := range []string{"\x1b[", "\x1b]", "\x1b", "\u009b1;", "\nRetry", "\n:", "\n*", "\u200b", "\u2028", "\xff", "a. ", "'", "\n" + strings.Repeat(" ", 300), "\u0301"} {
		for name, f := range map[string]func(string){
			"line": func(s string) { words.Line(s) }, "lines": func(s string) { words.Lines(s) },
			"clip": func(s string) { words.Clip(s, len(s)-1) }, "quote": func(s string) { words.Quote(s, len(s)) },
		} {
			small, large := strings.Repeat(unit, 30_000/len(unit)), strings.Repeat(unit, 90_000/len(unit))
			s, l := time.Hour, time.Hour
			for round := 0; round < 3 || l > 8*s+20*time.Millisecond; round++ {
				s, l = min(s, took(f, small)), min(l, took(f, large))
				require.Less(t, round, 50, "%s of %q: %v and %v", name, unit, s, l)
			}
		}
	}
}
