package proxy

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What programs write when they end, and which line of it names the cause.
func TestTheLineThatNamesTheCause(t *testing.T) {
	endings, err := os.ReadFile("testdata/endings.txt")
	require.NoError(t, err)
	for _, one := range strings.Split(string(endings), "=== ")[1:] {
		want, text, _ := strings.Cut(one, "\n")
		var lines tail
		for line := range strings.Lines(text) {
			lines.add(line)
		}
		require.Equal(t, want, lines.ending().cause, text)
	}
}

func TestATailIsBounded(t *testing.T) {
	var lines tail
	require.Equal(t, ending{}, lines.ending())
	lines.add("panic: boom")
	for range 1000 {
		lines.add(strings.Repeat("x", 1000))
	}
	require.LessOrEqual(t, len(lines.lines), maxTail)
	require.Equal(t, "panic: boom", lines.ending().cause)
	require.LessOrEqual(t, len(lines.ending().lines), recorded*(maxClip+len(between)))
	lines = tail{}
	for range recorded + 2 {
		lines.add("\x1b[31m" + strings.Repeat("y", maxClip+5) + "\x1b[0m")
	}
	require.Equal(t, recorded-1, strings.Count(lines.ending().lines, between))
	require.NotContains(t, lines.ending().lines, "\x1b")
}
