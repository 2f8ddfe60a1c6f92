package near

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// pairs reads a list of names with others.
func pairs(t *testing.T, file string, least int) (pairs [][2]string) {
	t.Helper()
	text, err := os.ReadFile("testdata/" + file)
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		if known, sent, ok := strings.Cut(strings.TrimSuffix(line, "\n"), ", "); ok && line[0] != '#' {
			pairs = append(pairs, [2]string{known, sent})
		}
	}
	require.GreaterOrEqual(t, len(pairs), least)
	return pairs
}

// TestOpposites: of two names that mean the opposite neither is taken for the other one.
func TestOpposites(t *testing.T) {
	for _, p := range pairs(t, "opposites.txt", 200) {
		for _, p := range [][2]string{p, {p[1], p[0]}} {
			require.True(t, Opposite(p[1], p[0]), "%q is %q", p[1], p[0])
			require.Empty(t, Matches(p[1], []string{p[0]}), "%q is %q", p[1], p[0])
			require.Empty(t, Meant(p[1], []string{p[0]}), "%q is %q", p[1], p[0])
			require.False(t, Misspelled(p[1], p[0]), "%q is %q", p[1], p[0])
		}
	}
}

// TestMisspellings: the opposites do not keep a misspelled name from what was meant by it.
func TestMisspellings(t *testing.T) {
	for _, p := range pairs(t, "misspelled.txt", 100) {
		require.False(t, Opposite(p[1], p[0]), "%q is not %q", p[1], p[0])
		require.Equal(t, p[0], Meant(p[1], []string{p[0]}), "%q is not %q", p[1], p[0])
		require.True(t, Misspelled(p[1], p[0]), "%q is not %q", p[1], p[0])
	}
}
