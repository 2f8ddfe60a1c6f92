package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTool builds mcpvet and runs it alone and below go vet, on the packages of testdata.
func TestTool(t *testing.T) {
	tool := filepath.Join(t.TempDir(), "mcpvet.exe")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", tool, ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	gopath, err := filepath.Abs("checks/testdata")
	require.NoError(t, err)

	for name, args := range map[string][]string{
		"alone":  {tool, "errtext/...", "reservedcode"},
		"go vet": {"go", "vet", "-vettool", tool, "errtext/...", "reservedcode"},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
			cmd.Dir = filepath.Join(gopath, "src")
			cmd.Env = append(os.Environ(), "GO111MODULE=off", "GOPATH="+gopath, "GOWORK=off", "GOFLAGS=", "GOPROXY=off")
			out, err := cmd.CombinedOutput()
			require.Error(t, err)
			require.Contains(t, string(out), "code -32001 is reserved by JSON-RPC")
			// Found by a fact about a helper of another package.
			require.Regexp(t, `errtext\.go:39:\d+: the text of this error becomes content`, string(out))
			require.NotContains(t, string(out), "panic")
		})
	}
}
