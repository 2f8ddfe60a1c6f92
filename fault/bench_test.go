package fault_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/fault"
)

const benchID = "0198c7f2-9d3e-7c41-9f0a-5b7d6c1e2a34"

var errBench = errors.New("dial tcp 10.0.0.7:5432: connection refused")

func TestAllocations(t *testing.T) {
	// The aim for a masked failure as a whole, the server's part included, is 15.
	require.LessOrEqual(t, testing.AllocsPerRun(100, func() {
		e := fault.Generic(fault.KindInternal).Because(errBench).WithReference(benchID)
		_, _ = e.Error(), e.Data()
	}), 5.0)
}
