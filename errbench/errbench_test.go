package errbench

import (
	"testing"
)

func TestTable(t *testing.T) {
	results := Run(t, Agents(), Servers(), Cases())
	t.Log(Table(results))
	for _, r := range results {
		if r.Agent=="text" && (!r.Right || r.Misled>0 || r.Server=="mcpchain") {
			t.Log(r.Server, r.Agent, r.Case, r.Right, r.Misled)
			for _, s := range r.Story { t.Log("   ", s) }
		}
	}
}
