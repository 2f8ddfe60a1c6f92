package examples_test

import (
	"bytes"
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write what the recipes print into their output.golden")

// programs is where TestMain has put the compiled examples.
var programs string

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(func() int {
		var err error
		if programs, err = os.MkdirTemp("", "examples"); err != nil {
			panic(err)
		}
		defer func() { _ = os.RemoveAll(programs) }()
		if out, err := exec.Command("go", "build", "-o", programs+string(filepath.Separator), "./...").CombinedOutput(); err != nil {
			panic(string(out))
		}
		return m.Run()
	}())
}

// recipes returns the names of all the examples but the quickstart.
func recipes(t *testing.T) []string {
	t.Helper()
	mains, err := filepath.Glob("*/main.go")
	require.NoError(t, err)
	var names []string
	for _, main := range mains {
		if name := filepath.Dir(main); name != "quickstart" {
			names = append(names, name)
		}
	}
	require.Subset(t, names, []string{"wrapserver", "wraphandler", "pickone", "projects", "deploy", "logging"})
	return names
}

// run runs an example in an empty directory, without a terminal or an input.
func run(t *testing.T, name string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(programs, name))
	cmd.Dir = t.TempDir()
	out, err := cmd.CombinedOutput()
	require.NoErrorf(t, err, "%s\n%s", name, out)
	return string(out)
}

// TestRecipes compares all that a recipe prints. Its text is part of what it
// teaches: when it changes on purpose, run go test ./examples -update and read the
// difference.
func TestRecipes(t *testing.T) {
	for _, name := range recipes(t) {
		t.Run(name, func(t *testing.T) {
			out, golden := run(t, name), filepath.Join(name, "output.golden")
			if *update {
				require.NoError(t, os.WriteFile(golden, []byte(out), 0o644))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			require.Equal(t, string(want), out)
			require.Equal(t, out, run(t, name), "it prints something else each time")
		})
	}
}

// TestRecipesCanBeCopied keeps them short and whole: one file that needs nothing
// else from here, and says what it shows and how to run it.
func TestRecipesCanBeCopied(t *testing.T) {
	index, err := os.ReadFile("README.md")
	require.NoError(t, err)
	for _, name := range recipes(t) {
		files, err := filepath.Glob(name + "/*.go")
		require.NoError(t, err)
		require.Len(t, files, 1, name)
		source, err := os.ReadFile(files[0])
		require.NoError(t, err)
		require.Lessf(t, bytes.Count(source, []byte("\n")), 120, "%s is too long to be read at once", files[0])
		require.NotContains(t, string(source), "mcpchain/internal", name)
		comment, _, found := strings.Cut(string(source), "package main")
		require.True(t, found, name)
		require.Contains(t, comment, "go run ./examples/"+name)
		require.Contains(t, string(index), "]("+name+"/main.go)", "examples/README.md does not list the recipe")
	}
}

// canaries are what the handlers of the quickstart put into their errors.
var canaries = []string{"tr0ub4dor", "10.1.2.3", "key-3f9a1c77", "mail-token-81d2e6", "/srv/shop", "4111111111111111"}

func TestQuickstart(t *testing.T) {
	out := run(t, "quickstart")
	require.NotContains(t, out, "\x1b", "colours without a terminal")

	failures, short, found := strings.Cut(out, "\nOver http")
	require.True(t, found, out)
	parts := labelled(failures)
	for _, label := range []string{"without", "with", "log"} {
		require.NotEmpty(t, parts[label], label)
	}
	for _, canary := range canaries {
		require.Contains(t, parts["log"], canary, "no longer provoked")
		for _, label := range []string{"with", "_meta", "data"} { // what arrives with mcpchain
			require.NotContains(t, parts[label], canary)
		}
	}
	require.Contains(t, parts["without"], "tr0ub4dor")
	require.Contains(t, parts["without"], "the server process died: exit status 2")
	require.Contains(t, parts["without"], "no answer within 1 s")
	require.Contains(t, parts["with"], "Did you mean 'teapot'?")
	require.Contains(t, parts["log"], "invalid memory address or nil pointer dereference")

	require.Regexp(t, `\n28 failures: without mcpchain \d+ killed the server, \d+ were never answered, \d+ leaked private data, `+
		`\d+ looked like a success;\nwith mcpchain all were answered, none leaked, and each has its record in the log\.\n`, short)
}

// labelled returns what the quickstart prints beside each of its labels.
func labelled(report string) map[string]string {
	const margin = 12
	parts, label := map[string]string{}, ""
	for line := range strings.Lines(report) {
		if len(line) <= margin || !strings.HasPrefix(line, "    ") {
			continue
		}
		if word := strings.TrimSpace(line[:margin]); word != "" {
			label = word
		}
		parts[label] += strings.TrimSpace(line[margin:]) + " "
	}
	return parts
}
