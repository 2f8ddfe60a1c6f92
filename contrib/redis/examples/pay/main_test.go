package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/mcptest"
)

// TestPay runs two processes: the second one repeats the answer of the first.
func TestPay(t *testing.T) {
	program := filepath.Join(t.TempDir(), "pay")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".").CombinedOutput()
	require.NoError(t, err, string(out))
	mini := miniredis.RunT(t)
	call := func(s *mcptest.Session, key string) string {
		return mcptest.Text(s.CallTool(t.Context(), &mcp.CallToolParams{
			Name: "pay", Arguments: map[string]any{"amount": 30, "to": "the baker"}, Meta: mcp.Meta{"io.modelcontextprotocol/idempotencyKey": key},
		}))
	}
	start := func() *mcptest.Session {
		cmd := exec.Command(program)
		cmd.Env = append(os.Environ(), "REDIS_ADDR="+mini.Addr(), "USER=ada")
		return mcptest.Run(t, cmd, nil)
	}
	one, two := start(), start()
	first := call(one, "invoice-17")
	require.Contains(t, first, "paid 30 to the baker, in process ")
	require.Equal(t, first, call(two, "invoice-17"))
	require.NotEqual(t, first, call(two, "invoice-18"))
}

// TestReadmeShowsThisProgram compares the README with the source.
func TestReadmeShowsThisProgram(t *testing.T) {
	page, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	source, err := os.ReadFile("main.go")
	require.NoError(t, err)
	_, code, found := strings.Cut(string(source), "package main")
	require.True(t, found)
	require.Contains(t, string(page), "```go\npackage main"+code+"```")
}
