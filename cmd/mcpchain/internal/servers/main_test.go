package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRendered(t *testing.T) {
	checks := func(a, b, c string) report {
		return report{Checks: []check{{"a", "It is A.", a}, {"b", "It is B.", b}, {"c", "It is C.", c}}}
	}
	all := []comparison{
		{checks("found", "passed", "passed"), checks("passed", "passed", "passed")},
		{checks("found", "not_checked", "passed"), checks("found", "not_checked", "passed")},
		{checks("passed", "found", "passed"), checks("passed", "passed", "not_checked")},
	}
	text, err := rendered(servers[:3], all)
	require.NoError(t, err)
	require.Contains(t, string(text), "| @modelcontextprotocol/server-everything | 2026.8.31 | TypeScript | 1 | 0 |\n")
	require.Contains(t, string(text), "|---|---|---|---|\n| It is A. | 2 | 3 | 1 |\n| It is B. | 1 | 2 | 0 |\n\nThe other 1 checks")

	_, err = rendered(servers[:1], []comparison{{checks("found", "", ""), report{}}})
	require.Error(t, err)
}

// TestThePage: each row about servers in docs/evidence.md stands in what was written here, and their sums are right.
func TestThePage(t *testing.T) {
	said, err := os.ReadFile("testdata/servers.md")
	require.NoError(t, err)
	page, err := os.ReadFile("../../../../docs/evidence.md")
	require.NoError(t, err)
	_, section, found := strings.Cut(string(page), "\n## What public servers do when they fail\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n## ")
	rows, bare, behind := 0, 0, 0
	for line := range strings.Lines(section) {
		if !strings.HasPrefix(line, "|") {
			continue
		}
		require.Contains(t, string(said), line)
		var a, b int
		if cells := strings.Split(line, " | "); len(cells) == 5 { // of a server
			_, _ = fmt.Sscan(cells[3], &a)
			_, _ = fmt.Sscan(cells[4], &b)
		}
		rows, bare, behind = rows+1, bare+a, behind+b
	}
	require.Greater(t, rows, len(servers))
	require.Contains(t, section, fmt.Sprintf(" found %d failures bare, and %d behind ", bare, behind))
}
