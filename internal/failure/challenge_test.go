package failure_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/internal/failure"
)

func TestIsScope(t *testing.T) {
	for _, scope := range []string{"a", "notes:read", "https://a.example/b#c", "!", "a,b", "[]"} {
		require.True(t, failure.IsScope(scope), scope)
	}
	long := make([]byte, 257)
	for i := range long {
		long[i] = 'a'
	}
	for _, text := range []string{"", "a b", "a\"b", `a\b`, "a\n", "ä", "\x7f", "\x00", string(long)} {
		require.False(t, failure.IsScope(text), text)
	}
	require.True(t, failure.IsScope(string(long[1:])))
}
