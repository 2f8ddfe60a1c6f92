package child

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Untagged does what README.md of a module tells those who use it before its first tag, its block of
// commands, in an empty module, with the tree in root as the clone, where most has been compiled. It compiles
// a program there, and returns the file.
func Untagged(t *testing.T, root, program string) string {
	t.Helper()
	page, err := os.ReadFile("README.md")
	require.NoError(t, err)
	_, commands, found := strings.Cut(string(page), "```sh\n")
	require.True(t, found)
	commands, _, _ = strings.Cut(commands, "```")
	clone, commands, found := strings.Cut(commands, "\n")
	require.True(t, found)
	require.Equal(t, "git clone https://github.com/mcpchain/mcpchain", clone)

	root, err = filepath.Abs(root)
	require.NoError(t, err)
	commands = strings.ReplaceAll(commands, "=../mcpchain", `="$CLONE"`)
	dir := t.TempDir()
	server := filepath.Join(dir, "server")
	require.NoError(t, os.Mkdir(server, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(server, "go.mod"), []byte("module example.com/server\n\ngo 1.26.0\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(server, "main.go"), []byte(program), 0o600))
	compiled := filepath.Join(dir, "program")
	run := func(env ...string) ([]byte, error) {
		cmd := exec.CommandContext(t.Context(), "sh", "-e", "-c", commands+"\ngo build -o "+compiled+" .")
		cmd.Dir = dir
		cmd.Env = append(append(os.Environ(), "GOWORK=off", "GOFLAGS=-buildvcs=false", "CLONE="+root), env...)
		return cmd.CombinedOutput()
	}
	if _, err := run("GOPROXY=off"); err == nil { // what the tests themselves need is here already
		return compiled
	}
	out, err := run()
	require.NoError(t, err, string(out))
	return compiled
}
