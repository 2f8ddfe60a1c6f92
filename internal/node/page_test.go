package node

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPage opens the page of a comparison in a headless browser: on a phone in the dark, and on a desk in the light.
// MCPCHAIN_SHOTS names where it leaves screenshots, as the beginning of their names.
func TestPage(t *testing.T) {
	needsNode(t)
	browser := ""
	for _, name := range []string{"chromium", "google-chrome"} {
		if file, err := exec.LookPath(name); err == nil {
			browser = file
			break
		}
	}
	if browser == "" {
		t.Skip("there is no browser; .ci/run node installs one where it can")
	}
	dir, err := os.Getwd()
	require.NoError(t, err)
	page := filepath.Join(t.TempDir(), "page.html")
	server := filepath.Join(dir, "node_modules", ".bin", "mcp-server-everything")
	out, err := exec.CommandContext(t.Context(), builtProgram(t), "compare", "-only", "huge-message,near-tool-named,no-json", "-html", page, "--", server, "stdio").CombinedOutput()
	require.NoError(t, err, "%s", out)
	out, err = program(t, "page.mjs", browser, page, os.Getenv("MCPCHAIN_SHOTS")).Output()
	require.NoError(t, err)
	type look struct {
		Folded, Open, Printed, Width, Screen, Paper, Ink float64
		Boxes, Beside, Below                             int
		Loaded, Wrong                                    []string
	}
	var seen struct{ Phone, Desk look }
	require.NoError(t, json.Unmarshal(out, &seen))
	for name, l := range map[string]look{"phone": seen.Phone, "desk": seen.Desk} {
		require.Zero(t, l.Folded, name)
		require.Positive(t, l.Open, name)
		require.Positive(t, l.Printed, "%s: what is folded is printed", name)
		require.LessOrEqual(t, l.Width, l.Screen, name)
		require.Empty(t, l.Loaded, name)
		require.Empty(t, l.Wrong, name)
		require.Equal(t, 3, l.Boxes, name)
	}
	require.Equal(t, 3, seen.Desk.Beside, "bare and behind stand beside each other")
	require.Equal(t, 3, seen.Phone.Below, "and below on a phone")
	require.Greater(t, seen.Desk.Paper, seen.Desk.Ink, "light")
	require.Less(t, seen.Phone.Paper, seen.Phone.Ink, "dark")
}
