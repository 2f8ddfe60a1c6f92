package examples_test

import (
	"bufio"
	"bytes"
	"context"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/examples/internal/golden"
	"github.com/mcpchain/mcpchain/internal/child"
)

var update = flag.Bool("update", false, "write what the recipes print into their output.golden")

// programs is where TestMain has put the compiled examples.
var programs string

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(func() int {
		var err error
		programs, err = golden.Build("./...")
		defer func() { _ = os.RemoveAll(programs) }()
		if err != nil {
			panic(err)
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

// isModule reports whether a recipe has dependencies that the library has not.
func isModule(name string) bool {
	_, err := os.Stat(filepath.Join(name, "go.mod"))
	return err == nil
}

// TestRecipes compares all that a recipe prints: a story that is played against its server
// in a process of its own, over stdio and over HTTP. Its text is part of what it teaches:
// when it changes on purpose, run go test ./examples -update and read the difference.
func TestRecipes(t *testing.T) {
	for _, name := range recipes(t) {
		if isModule(name) {
			continue // its own test does the same
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			golden.Recipe(t, filepath.Join(programs, name), filepath.Join(name, "output.golden"), *update)
		})
	}
}

// TestRecipesSurviveABrokenLine: none of them, the server of the README first of all, ends
// because of a line that is no message.
func TestRecipesSurviveABrokenLine(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	_, shown, found := strings.Cut(string(readme), "```go\npackage main")
	require.True(t, found)
	shown, _, _ = strings.Cut(shown, "```")
	server, err := os.ReadFile("server/main.go")
	require.NoError(t, err)
	for line := range strings.Lines(shown) {
		require.Contains(t, string(server), strings.TrimSpace(line))
	}
	for _, name := range recipes(t) {
		if isModule(name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), child.Patience)
			defer cancel()
			program, err := filepath.Abs(filepath.Join(programs, name))
			require.NoError(t, err)
			cmd := exec.CommandContext(ctx, program)
			switch name {
			case "bearer":
				cmd.Env = append(os.Environ(), "TOKEN=ada-1")
			case "proxy":
				cmd.Args = append(cmd.Args, filepath.Join(filepath.Dir(program), "server"))
			}
			cmd.Dir = t.TempDir()
			in, err := cmd.StdinPipe()
			require.NoError(t, err)
			out, err := cmd.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			_, err = io.WriteString(in, "{\"jsonrpc\":\n"+
				`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`+"\n")
			require.NoError(t, err)
			answers := bufio.NewScanner(out)
			require.True(t, answers.Scan(), answers.Err())
			require.Contains(t, answers.Text(), `-32700`)
			require.True(t, answers.Scan(), answers.Err())
			require.Contains(t, answers.Text(), `"serverInfo"`)
			require.NoError(t, in.Close())
			_ = cmd.Wait() // as they end when their clients do
		})
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
		require.Lessf(t, bytes.Count(source, []byte("\n")), 130, "%s is too long to be read at once", main)
		require.NotContains(t, string(source), "mcpchain/internal", name)
		require.NotContains(t, string(source), "mcpchain/examples", name)
		comment, _, found := strings.Cut(string(source), "package main")
		require.True(t, found, name)
		command := "go run ./examples/" + name
		if isModule(name) {
			command = "go run ."
		}
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
	out := golden.Run(t, filepath.Join(programs, "quickstart"))
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

	readme, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	_, counted, found := strings.Cut(short, "\n28 failures: ")
	require.True(t, found)
	counted, _, _ = strings.Cut(counted, "\n\n")
	require.Contains(t, string(readme), "\n28 failures: "+counted+"\n", "the README's first screen")
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
