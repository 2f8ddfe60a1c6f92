package validate_test

import (
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/validate"
)

// TestLogLevel: an unknown log level is refused, and each of the protocol's is taken.
func TestLogLevel(t *testing.T) {
	s := serve(t, harness.Older, orders, validate.New(nil))
	for _, level := range []mcp.LoggingLevel{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"} {
		require.NoError(t, s.Client.SetLoggingLevel(t.Context(), &mcp.SetLoggingLevelParams{Level: level})) //nolint:staticcheck // of older versions
	}
	err := s.Client.SetLoggingLevel(t.Context(), &mcp.SetLoggingLevelParams{Level: "loud"}) //nolint:staticcheck // of older versions
	require.ErrorContains(t, err, "Validation Error: Argument 'level' expected 'debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert' or 'emergency', but received 'loud'.")
}
