package main

import (
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
	require.Equal(t, []string{"0", "3", "1", "1", "1", "2"}, trips)
}
