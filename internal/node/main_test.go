// Package node tests the library with what npm has: the official conformance suite
// against a server of its own, bare and behind the chain, the TypeScript clients and
// the Inspector against the example servers, and a browser against the pages of mcpchain check.
//
//	.ci/run node
//
// installs what package-lock.json pins and sets MCPCHAIN_NODE, without which these tests
// are skipped. All traffic stays on 127.0.0.1.
package node

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/internal/child"
)

func TestMain(m *testing.M) { child.Main(m, serve) }

// needsNode skips a test unless somebody has installed the packages. The tests mostly wait,
// so they run side by side.
func needsNode(t *testing.T) {
	t.Helper()
	if os.Getenv("MCPCHAIN_NODE") == "" {
		t.Skip(".ci/run node runs this")
	}
	t.Parallel()
}

// program returns a command that runs a program of a package of npm, at home in an empty
// directory.
func program(t *testing.T, file string, args ...string) *exec.Cmd {
	t.Helper()
	dir, err := os.Getwd()
	require.NoError(t, err)
	home := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "node", append([]string{filepath.Join(dir, file)}, args...)...)
	cmd.Dir = home
	cmd.Env = append(os.Environ(), "HOME="+home, "NO_COLOR=1")
	return cmd
}

// TestThePageIsCurrent compares docs/evidence.md with what is tested here. It needs no node.
func TestThePageIsCurrent(t *testing.T) {
	data, err := os.ReadFile("../../docs/evidence.md")
	require.NoError(t, err)
	page := string(data)
	data, err = os.ReadFile("package.json")
	require.NoError(t, err)
	var pinned struct{ Dependencies map[string]string }
	require.NoError(t, json.Unmarshal(data, &pinned))
	require.Len(t, pinned.Dependencies, 6)
	for name, version := range pinned.Dependencies {
		if conformance, ok := strings.CutPrefix(version, "npm:@modelcontextprotocol/conformance@"); ok {
			require.Contains(t, page, "\n| "+conformance+" | ")
			continue
		}
		require.Contains(t, page, "`"+name+"` "+version+" |")
	}
	for _, s := range suites {
		version, _, _ := strings.Cut(s.name, " ")
		require.Regexp(t, fmt.Sprintf(`\n\| %s \| [^|]* \| %d, %[2]d, %[2]d \| %s[^|]*\| %d, %[4]d \|`, version, s.passed,
			map[bool]string{true: "none", false: fmt.Sprint(len(s.other), " ")}[len(s.other) == 0], s.through), page)
	}
}
