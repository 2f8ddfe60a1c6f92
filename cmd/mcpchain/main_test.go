package main

import (
	"bytes"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

type buffer struct{ bytes.Buffer }

func (*buffer) Close() error { return nil }

// executed returns what a command wrote and its exit status.
func executed(t *testing.T, args ...string) (out, errs string, status int) {
	t.Helper()
	var stdout, stderr buffer
	status = execute(args, streams{in: io.NopCloser(strings.NewReader("")), out: &stdout, err: &stderr})
	return stdout.String(), stderr.String(), status
}

func TestCommands(t *testing.T) {
	out, errs, status := executed(t, "help")
	require.Zero(t, status)
	require.Empty(t, errs)
	require.LessOrEqual(t, strings.Count(out, "\n"), 24, "help fits a screen")
	for _, c := range commands() {
		require.Contains(t, out, "mcpchain "+c.name)
		of, _, status := executed(t, "help", c.name)
		require.Zero(t, status)
		require.True(t, strings.HasPrefix(of, "usage: mcpchain "+c.name), of)
	}

	out, _, status = executed(t, "version")
	require.Zero(t, status)
	require.True(t, strings.HasPrefix(out, "mcpchain "), out)

	for _, args := range [][]string{nil, {"walk"}, {"help", "walk"}, {"completion"}, {"completion", "tcsh"}} {
		out, errs, status = executed(t, args...)
		require.Equal(t, exitUsage, status)
		require.Empty(t, out)
		require.NotEmpty(t, errs)
	}
}

func TestCompletion(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish"} {
		out, _, status := executed(t, "completion", shell)
		require.Zero(t, status)
		require.Contains(t, out, "run config check compare log version completion help")
		require.Contains(t, out, "write-baseline")
		require.Contains(t, out, "serial-writes")
	}
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash")
	}
	script, _, _ := executed(t, "completion", "bash")
	for line, want := range map[string]string{"ru": "run", "run -ser": "-serial-writes", "help ver": "version"} {
		words := strings.Fields(line)
		out, err := exec.Command(bash, "-c", script+fmt.Sprintf("COMP_WORDS=(mcpchain %s) COMP_CWORD=%d; _mcpchain; echo \"${COMPREPLY[@]}\"", line, len(words))).CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Equal(t, want+"\n", string(out))
	}
}
