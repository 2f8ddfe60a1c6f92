package scrub

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var marks = strings.NewReplacer("⏎", "\n", "⇥", "\t", "{}", "")

// readClean returns the texts of testdata/clean.txt by line.
func readClean(t testing.TB) map[string]string {
	texts := make(map[string]string)
	for n, line := range readLines(t, "testdata/clean.txt") {
		if line != "" && !strings.HasPrefix(line, "# ") {
			texts[fmt.Sprintf("line %d", n+1)] = strings.NewReplacer("⏎", "\n", "⇥", "\t").Replace(line)
		}
	}
	return texts
}

type secretCase struct {
	line       int
	text       string
	gone, kept []string
}

// readSecrets returns the cases of testdata/secrets.txt.
func readSecrets(t testing.TB) (cases []secretCase) {
	for n, line := range readLines(t, "testdata/secrets.txt") {
		if line == "" || strings.HasPrefix(line, "# ") {
			continue
		}
		key, rest, ok := strings.Cut(marks.Replace(line), ": ")
		require.True(t, ok, "line %d", n+1)
		if key == "text" {
			cases = append(cases, secretCase{line: n + 1, text: rest})
			continue
		}
		last := &cases[len(cases)-1]
		switch key {
		case "gone":
			last.gone = append(last.gone, strings.Split(rest, " | ")...)
		case "kept":
			last.kept = append(last.kept, strings.Split(rest, " | ")...)
		default:
			t.Fatalf("line %d: unknown key %q", n+1, key)
		}
	}
	return cases
}

func readLines(t testing.TB, name string) []string {
	data, err := os.ReadFile(name)
	require.NoError(t, err)
	return strings.Split(string(data), "\n")
}

func TestTextLeavesOrdinaryTextAlone(t *testing.T) {
	texts := readClean(t)
	require.GreaterOrEqual(t, len(texts), 150)
	for name, text := range texts {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, text, Text(text))
		})
	}
}

func TestTextHidesSecrets(t *testing.T) {
	cases := readSecrets(t)
	require.GreaterOrEqual(t, len(cases), 150)
	for _, tt := range cases {
		t.Run(fmt.Sprintf("line %d", tt.line), func(t *testing.T) {
			got := Text(tt.text)
			require.NotEmpty(t, tt.gone)
			for _, gone := range tt.gone {
				require.Contains(t, tt.text, gone, "the case itself")
				require.NotContains(t, got, gone)
			}
			for _, kept := range tt.kept {
				require.Contains(t, got, kept)
			}
			require.Equal(t, got, Text(got), "idempotent")
		})
	}
}
