package node

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// What the everything server of npm answers, and what it fails with.
var (
	answered = []call{
		{"tools/list", map[string]any{}},
		tool("echo", map[string]any{"message": "hello"}),
		tool("get-sum", map[string]any{"a": 1, "b": 2}),
		tool("get-structured-content", map[string]any{"location": "New York"}),
		tool("get-tiny-image", map[string]any{}),
		tool("get-annotated-message", map[string]any{"messageType": "error", "includeImage": true}),
		{"prompts/get", map[string]any{"name": "simple-prompt"}},
		{"resources/read", map[string]any{"uri": "demo://resource/static/document/features.md"}},
	}
	failed = []call{
		tool("get-sum", map[string]any{"a": "one", "c": 3}),
		tool("get-sun", map[string]any{"a": 1, "b": 2}),
		{"prompts/get", map[string]any{"name": "simple-promt"}},
		{"resources/read", map[string]any{"uri": "demo://resource/static/document/feature.md"}},
	}
)

// TestProgram has the TypeScript clients start a server of npm, alone and behind cmd/mcpchain: what
// does not fail is the same, and what fails is compared with what was seen before.
func TestProgram(t *testing.T) {
	needsNode(t)
	dir, err := os.Getwd()
	require.NoError(t, err)
	home := t.TempDir()
	program := builtProgram(t)
	everything := filepath.Join(dir, "node_modules", ".bin", "mcp-server-everything")
	starts := func(name, command string) string {
		file := filepath.Join(home, name)
		require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, "#!/bin/sh\nexec %s\n", command), 0o700))
		return file
	}
	alone := starts("alone", everything+" stdio")
	behind := starts("behind", program+" run -- "+everything+" stdio")
	for _, c := range clients {
		if c.name == "inspector" {
			continue // it starts a server for each call
		}
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.play(t, alone, answered), c.play(t, behind, answered))
			got := transcript(t, failed, c.play(t, behind, failed))
			golden := filepath.Join("testdata", c.golden[false]+".everything.golden")
			if *update {
				writeOnce(t, golden, got)
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			require.Equal(t, string(want), got)
		})
	}
}

// builtProgram builds cmd/mcpchain and returns its file.
func builtProgram(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "mcpchain")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", file, "../../cmd/mcpchain").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return file
}
