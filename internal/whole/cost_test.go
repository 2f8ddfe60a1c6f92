//go:build !race && amd64

package whole_test

import (
	"context"
	"testing"
	"unsafe"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/internal/harness"
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
	return uintptr(unsafe.Pointer(&b))
}

//go:noinline
func grown(n int) byte {
	var room [1024]byte
	if n > 0 {
		room[n] = grown(n - 1)
	}
	return room[n/2]
}

// TestTheStackOfAToolGrowsOnce: what a handler needs of its stack is there before the chain calls it, so
// that Go does not copy all frames of the chain and the SDK.
func TestTheStackOfAToolGrowsOnce(t *testing.T) {
	moved := make(chan bool, 1)
	handler := func(context.Context, string, mcp.Request) (mcp.Result, error) {
		var b byte
		before := uintptr(unsafe.Pointer(&b))
		grown(11)
		moved <- before != uintptr(unsafe.Pointer(&b))
		return textResult, nil
	}
	call := func(handle mcp.MethodHandler) bool {
		go func() { _, _ = handle(context.Background(), middleware.MethodCallTool, benchRequest) }()
		return <-moved
	}
	require.True(t, call(handler), "the stack of a goroutine begins small")
	require.False(t, call(mcpchain.Standard(&mcpchain.Options{Logger: quiet()})(handler)))
}

// TestAllocationsOfACall holds what the chain alone allocates. Of a failure with its record the last ones are
// the goroutine and the timer that guard the log.
func TestAllocationsOfACall(t *testing.T) {
	if harness.Racing {
		t.Skip("a pool forgets at random")
	}
	for name, c := range map[string]struct {
		handler mcp.MethodHandler
		most    float64
	}{
		"success":                      {returning(textResult, nil), 1},
		"masked failure, recorded":     {returning(nil, errSecret), 34},
		"a panic, masked and recorded": {func(context.Context, string, mcp.Request) (mcp.Result, error) { panic(errSecret) }, 46},
	} {
		handle := mcpchain.Standard(&mcpchain.Options{Logger: quiet()})(c.handler)
		require.LessOrEqual(t, testing.AllocsPerRun(200, func() { _, _ = handle(context.Background(), middleware.MethodCallTool, benchRequest) }), c.most, name)
	}
}
