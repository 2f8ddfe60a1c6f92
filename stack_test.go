//go:build !race && amd64

package mcpchain_test

import (
	"context"
	"testing"
	"unsafe"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/middleware"
)

// TestASuccessHasLittleStack: the SDK runs each call in a goroutine of its own, whose stack begins small and
// is copied where it has to grow. What only a failure needs stands in functions of its own.
// Frames have other sizes on other processors and with the race detector.
func TestASuccessHasLittleStack(t *testing.T) {
	var outside, inside uintptr
	handle := mcpchain.Standard(&mcpchain.Options{Logger: quiet()})(func(context.Context, string, mcp.Request) (mcp.Result, error) {
		inside = here()
		return textResult, nil
	})
	measured := make(chan uintptr)
	go func() {
		defer close(measured)
		grown(100) // so that nothing moves
		for range 2 {
			outside = here()
			_, _ = handle(context.Background(), middleware.MethodCallTool, benchRequest)
		}
		measured <- outside - inside
	}()
	used := <-measured
	t.Logf("%d bytes", used)
	require.Less(t, used, uintptr(2048))
}

//go:noinline
func here() uintptr {
	var b byte
	return uintptr(unsafe.Pointer(&b)) //nolint:gosec // to be compared with another place of the same stack
}

//go:noinline
func grown(n int) byte {
	var room [1024]byte
	if n > 0 {
		room[n] = grown(n - 1)
	}
	return room[n/2]
}
