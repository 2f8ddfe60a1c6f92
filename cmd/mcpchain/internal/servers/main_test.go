package main

import (
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
