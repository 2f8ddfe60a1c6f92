package failsafe_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/internal/child"
	"github.com/mcpchain/mcpchain/mcptest"
)

// TestReadme runs the whole server of README.md, and compares its answer.
func TestReadme(t *testing.T) {
	page, err := os.ReadFile("README.md")
	require.NoError(t, err)
	block := func(language string) string {
		_, text, found := strings.Cut(string(page), "```"+language+"\n")
		require.True(t, found, language)
		text, _, _ = strings.Cut(text, "```")
		return text
	}
	s := mcptest.Run(t, exec.Command(child.Untagged(t, "../..", block("go"))), nil)
	for range 5 {
		require.NotContains(t, mcptest.Text(s.Call("search", map[string]any{})), "failed too often")
	}
	require.Equal(t, strings.TrimSpace(block("text")), mcptest.Text(s.Call("search", map[string]any{})))
}
