package main

import (
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestStoreTables holds the round trips, and runs every cell once: none fails.
func TestStoreTables(t *testing.T) {
	t.Setenv("REDIS_ADDR", "")
	tables, end := storeTables(t.TempDir())
	defer end()
	for _, b := range tables {
		for _, r := range b.rows {
			for _, c := range r.cells {
				if c.run != nil {
					require.NotPanics(t, c.run, r.name)
				}
			}
		}
	}
	var trips []string
	for _, r := range tables[0].rows {
		trips = append(trips, r.cells[2].said)
	}
	require.Equal(t, []string{"0", "3", "1", "1"}, trips)

	page, err := findPage("load.md")
	require.NoError(t, err)
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	_, inside, _, err := block(string(text), storesOpening, storesClosing)
	require.NoError(t, err)
	for _, b := range tables {
		require.Contains(t, inside, "\n**"+b.title+".** ")
		for i, r := range b.rows {
			trips := ""
			if b == tables[0] {
				trips = regexp.QuoteMeta(r.cells[2].said) + " \\|$"
			}
			require.Regexp(t, `(?m)^\| `+regexp.QuoteMeta(r.name)+` \|.* `+trips, inside, "%s, row %d: go run ./internal/bench -stores -write", b.title, i)
		}
	}
}
