package rpc

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What is not known to read may write.
func TestReads(t *testing.T) {
	for _, method := range []string{"initialize", "ping", "tools/list", "prompts/get", "resources/read", "completion/complete", "logging/setLevel", "resources/subscribe", "tasks/get"} {
		require.True(t, Reads(method), method)
	}
	for _, method := range []string{"", "tools/call", "tasks/cancel", "Tools/List", "custom/read", "sampling/createMessage"} {
		require.False(t, Reads(method), method)
	}
}
