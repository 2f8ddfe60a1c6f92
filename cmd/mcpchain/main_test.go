package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/config"
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

// However help is asked for, it is the same.
func TestHelpIsOneText(t *testing.T) {
	want, _, _ := executed(t, "help")
	for _, args := range [][]string{{"-h"}, {"-help"}, {"--help"}} {
		out, errs, status := executed(t, args...)
		require.Zero(t, status)
		require.Empty(t, errs)
		require.Equal(t, want, out)
	}
	_, errs, status := executed(t)
	require.Equal(t, exitUsage, status, "a client that starts it so has a mistake in its configuration")
	require.Equal(t, want, errs)
	for _, c := range commands() {
		want, _, _ := executed(t, "help", c.name)
		for _, ask := range helps {
			out, _, status := executed(t, c.name, ask)
			require.Zero(t, status)
			require.Equal(t, want, out)
		}
	}
	want, _, _ = executed(t, "help", "run")
	out, _, status := executed(t, "run", "-strict", "-h")
	require.Zero(t, status)
	require.Equal(t, want, out)
}

func TestHelpOfRun(t *testing.T) {
	out, _, _ := executed(t, "help", "run")
	at := 0
	for _, part := range []string{"Examples:\n", "The server:\n", "Failures:\n", "Limits:\n", "Secrets:\n", "Log:\n", "Many clients:\n", "Exit status:\n"} {
		next := strings.Index(out, "\n"+part)
		require.Greater(t, next, at, part)
		at = next
	}
	for line := range strings.Lines(out) {
		line = strings.TrimSpace(line)
		if args, ok := strings.CutPrefix(line, "mcpchain run "); ok { // an example
			_, err := config.Parse(strings.Fields(strings.NewReplacer("'Authorization: Bearer ${TOKEN}'", "Authorization:${TOKEN}").Replace(args)))
			require.NoError(t, err, line)
		}
	}
	require.Equal(t, 3, strings.Count(out, "\n  mcpchain run "))
}

// The configurations that docs/program.md shows work, and mean the same with "--".
func TestTheConfigurationsOfThePage(t *testing.T) {
	page, err := os.ReadFile("../../docs/program.md")
	require.NoError(t, err)
	blocks := regexp.MustCompile("(?s)```json\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	require.Len(t, blocks, 2)
	var client struct {
		Servers map[string]struct{ Args []string } `json:"mcpServers"`
	}
	require.NoError(t, json.Unmarshal([]byte(blocks[0][1]), &client))
	require.Len(t, client.Servers, 2)
	for _, server := range client.Servers {
		require.Equal(t, "run", server.Args[0])
		require.NotContains(t, server.Args, "--", "the Inspector of Node 20 cannot read it")
		_, err := config.Parse(server.Args[1:])
		require.NoError(t, err)
	}
	args := client.Servers["files"].Args[1:]
	got, err := config.Parse(args)
	require.NoError(t, err)
	want, err := config.Parse(append([]string{"--"}, args...))
	require.NoError(t, err)
	require.Equal(t, want, got)

	file := filepath.Join(t.TempDir(), "file.json")
	require.NoError(t, os.WriteFile(file, []byte(blocks[1][1]), 0o600))
	_, err = config.Parse([]string{"-config", file, "--", "server"})
	require.NoError(t, err)
}

func TestWhatWasMeant(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	server := filepath.Join(os.Getenv("PATH"), "some-server"+map[bool]string{true: ".exe"}[runtime.GOOS == "windows"])
	require.NoError(t, os.WriteFile(server, nil, 0o700))
	for want, args := range map[string][]string{
		`mcpchain: there is no command "runn"; did you mean "run"?`:                                                  {"runn", "--", "x"},
		`mcpchain help: there is no command "comprae"; did you mean "compare"?`:                                      {"help", "comprae"},
		`mcpchain: there is no command "walk"; "mcpchain help" lists them`:                                           {"walk"},
		`mcpchain: there is no command "some-server"; write mcpchain run -- some-server ... to stand in front of it`: {"some-server", "-y"},
		`mcpchain: "-strict" stands before the command; write: mcpchain run -strict ... -- COMMAND`:                  {"-strict", "--", "some-server"},
	} {
		out, errs, status := executed(t, args...)
		require.Equal(t, exitUsage, status)
		require.Empty(t, out)
		require.Equal(t, want+"\n", errs)
	}
}

func TestSchemaIsPrinted(t *testing.T) {
	out, _, status := executed(t, "config", "-schema")
	require.Zero(t, status)
	want, err := config.Schema()
	require.NoError(t, err)
	require.Equal(t, string(want)+"\n", out)
	out, errs, status := executed(t, "config", "-schema", "-strict")
	require.Equal(t, exitUsage, status)
	require.Empty(t, out)
	require.Equal(t, "mcpchain config: -schema stands alone: the schema is the same whatever is set\n", errs)
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
