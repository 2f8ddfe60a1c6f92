package examples_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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
		if out, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", programs+string(filepath.Separator), "./...").CombinedOutput(); err != nil {
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
func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(programs, name), args...)
	cmd.Dir = t.TempDir()
	cmd.WaitDelay = 10 * time.Second // for a server that a story left behind
	out, err := cmd.CombinedOutput()
	require.NoErrorf(t, err, "%s\n%s", name, out)
	return string(out)
}

// differs is what logs have of each run alone. References become call-1, call-2 and so on.
var (
	differs   = regexp.MustCompile(`time=\S+ | (?:duration_ms|late_ms|session)=\S+| stack="(?:\\.|[^"\\])*"`)
	reference = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
)

// steady returns what a run printed without what differs in each.
func steady(out string) string {
	numbers := map[string]string{}
	return reference.ReplaceAllStringFunc(differs.ReplaceAllString(out, ""), func(id string) string {
		if numbers[id] == "" {
			numbers[id] = fmt.Sprintf("call-%d", len(numbers)+1)
		}
		return numbers[id]
	})
}

// TestRecipes compares all that a recipe prints: a story that is played against its server
// in a process of its own, over stdio and over HTTP. Its text is part of what it teaches:
// when it changes on purpose, run go test ./examples -update and read the difference.
func TestRecipes(t *testing.T) {
	for _, name := range recipes(t) {
		golden := filepath.Join(name, "output.golden")
		if *update {
			require.NoError(t, os.WriteFile(golden, []byte(steady(run(t, name, "-story"))), 0o644))
		}
		for how, args := range map[string][]string{"stdio": {"-story"}, "http": {"-story", "http"}} {
			t.Run(name+"/"+how, func(t *testing.T) {
				t.Parallel()
				want, err := os.ReadFile(golden)
				require.NoError(t, err)
				require.NotEmpty(t, want)
				require.Equal(t, string(want), steady(run(t, name, args...)))
			})
		}
	}
}

// TestRecipesCanBeCopied keeps them short and whole: main.go needs nothing else from here,
// and says what it shows and how to run it. A test of the recipe may stand beside it.
func TestRecipesCanBeCopied(t *testing.T) {
	index, err := os.ReadFile("README.md")
	require.NoError(t, err)
	for _, name := range recipes(t) {
		files, err := filepath.Glob(name + "/*.go")
		require.NoError(t, err)
		main, story := filepath.Join(name, "main.go"), filepath.Join(name, "story.go")
		require.Subset(t, []string{main, filepath.Join(name, "main_test.go"), story}, files)
		requireAlone(t, main, story)
		source, err := os.ReadFile(main)
		require.NoError(t, err)
		require.Lessf(t, bytes.Count(source, []byte("\n")), 120, "%s is too long to be read at once", main)
		require.NotContains(t, string(source), "mcpchain/internal", name)
		require.NotContains(t, string(source), "mcpchain/examples", name)
		comment, _, found := strings.Cut(string(source), "package main")
		require.True(t, found, name)
		command := "go run ./examples/" + name
		require.Contains(t, comment, command+" -story")
		require.Contains(t, comment, command+" -http 127.0.0.1:8080")
		require.Contains(t, string(index), command+" -story`")
		require.Contains(t, string(index), "]("+name+"/main.go)", "examples/README.md does not list the recipe")
	}
}

// requireAlone fails if main.go uses what only story.go declares.
func requireAlone(t *testing.T, server, client string) {
	t.Helper()
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, client, nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	var declared []string
	for _, d := range parsed.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			declared = append(declared, d.Name.Name)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.ValueSpec:
					for _, name := range s.Names {
						declared = append(declared, name.Name)
					}
				case *ast.TypeSpec:
					declared = append(declared, s.Name.Name)
				}
			}
		}
	}
	require.Subset(t, declared, []string{"init"})
	parsed, err = parser.ParseFile(files, server, nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	ast.Inspect(parsed, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			require.NotContainsf(t, declared, id.Name, "%s uses a name of %s", server, client)
		}
		return true
	})
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
