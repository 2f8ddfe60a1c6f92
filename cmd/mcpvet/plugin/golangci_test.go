package plugin

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestGolangciLint makes a linter with the checks by "golangci-lint custom", as the docs
// say, and runs it on the server in testdata. GOLANGCI_LINT is the linter that makes it,
// GOLANGCI_LINT_SOURCE the directory of its source, which stands in for the repository that
// it would clone. It takes minutes where nothing is compiled yet: .ci/run plugin.
func TestGolangciLint(t *testing.T) {
	linter, source := os.Getenv("GOLANGCI_LINT"), os.Getenv("GOLANGCI_LINT_SOURCE")
	if linter == "" || source == "" {
		t.Skip("GOLANGCI_LINT and GOLANGCI_LINT_SOURCE are not set")
	}
	module, err := filepath.Abs("..")
	require.NoError(t, err)
	dir := t.TempDir()
	repository := filepath.Join(dir, "golangci-lint.git")
	require.NoError(t, os.CopyFS(repository, os.DirFS(source)))
	git := []string{"-c", "user.name=test", "-c", "user.email=test@example.com", "-C", repository}
	run(t, dir, nil, "git", append(git, "init", "-q")...)
	run(t, dir, nil, "git", append(git, "add", "-A")...)
	run(t, dir, nil, "git", append(git, "commit", "-q", "-m", "source")...)
	run(t, dir, nil, "git", append(git, "tag", "v2.0.0")...)

	config := fmt.Sprintf("version: v2.0.0\nplugins:\n  - module: github.com/mcpchain/mcpchain/cmd/mcpvet\n"+
		"    import: github.com/mcpchain/mcpchain/cmd/mcpvet/plugin\n    path: %s\n", module)
	require.NoError(t, os.WriteFile(filepath.Join(dir, ".custom-gcl.yml"), []byte(config), 0o600))
	run(t, dir, []string{
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=url.file://" + repository + ".insteadOf",
		"GIT_CONFIG_VALUE_0=https://github.com/golangci/golangci-lint.git",
	}, linter, "custom", "-v")

	cmd := exec.CommandContext(t.Context(), filepath.Join(dir, "custom-gcl"), "run", "--show-stats=false", "--output.text.print-issued-lines=false", ".")
	cmd.Dir = "testdata/server"
	cmd.Env = append(os.Environ(), "GOWORK=off")
	out, err := cmd.CombinedOutput()
	require.Error(t, err, "%s", out)
	found := regexp.MustCompile(`(?m)^main\.go:(\d+):\d+: (\w+): .*\(mcpvet\)$`).FindAllStringSubmatch(string(out), -1)
	var lines []string
	for _, f := range found {
		lines = append(lines, f[1]+" "+f[2])
	}
	require.Equal(t, []string{"15 goroutine", "17 nilresult", "21 promptargs"}, lines, "%s", out)
}

// run runs a command that has to succeed, outside of the workspace.
func run(t *testing.T, dir string, env []string, name string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), "GOWORK=off"), env...)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}
