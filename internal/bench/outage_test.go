package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestOutage is the measurement without its patience. The server is asked for its tools once a second for
// each client at most, and by Standard only.
func TestOutage(t *testing.T) {
	const clients, tools = 8, 30
	var all []*outage
	for _, s := range servers {
		all = append(all, newOutage(s.mw, clients, tools))
	}
	began := time.Now()
	rotate(all, 3, 30*time.Millisecond)
	seconds := int64(time.Since(began)/time.Second) + 1
	for i, o := range all {
		require.Greater(t, len(o.took), clients)
		require.Positive(t, o.throughput())
		require.Positive(t, o.work())
		require.Positive(t, o.slow())
		require.Len(t, o.against(all[0]), 5)
		if servers[i].name != "`Standard`" {
			require.Zero(t, o.lists.Load(), servers[i].name)
		}
		require.LessOrEqual(t, o.lists.Load(), clients*seconds, servers[i].name)
	}
}

// TestManyTools: what a failing call allocates does not grow with the number of tools.
func TestManyTools(t *testing.T) {
	table := manyTools()
	for _, r := range table.rows {
		for i := 0; i < len(r.cells); i += 3 {
			few := testing.AllocsPerRun(20, r.cells[i].run)
			for _, c := range r.cells[i+1 : i+3] {
				require.InDelta(t, few, testing.AllocsPerRun(20, c.run), 40, "%s, column %d", r.name, i)
			}
		}
	}
}
