package examples_test

import (
	"bufio"
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/examples/internal/golden"
	"github.com/mcpchain/mcpchain/internal/child"
)

var update = flag.Bool("update", false, "write what the recipes print into their output.golden")

func TestMain(m *testing.M) {
	flag.Parse()
	_ = flag.Set("test.parallel", "16") // they mostly wait
	os.Exit(m.Run())
}

var build = sync.OnceValues(func() (dir string, err error) { return golden.Build("../bin", "./...") })

// programs returns where the compiled examples are.
func programs(t *testing.T) string {
	t.Helper()
	dir, err := build()
	require.NoError(t, err)
	return dir
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

// isClient reports whether a recipe is a client, whose story starts a server of its own.
func isClient(name string) bool { return name == "agent" }

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
			golden.Recipe(t, filepath.Join(programs(t), name), filepath.Join(name, "output.golden"), *update)
		})
	}
}

// TestRecipesSurviveABrokenLine: none of them, the server of docs/start.md first of all, ends
// because of a line that is not a message.
func TestRecipesSurviveABrokenLine(t *testing.T) {
	page, err := os.ReadFile("../docs/start.md")
	require.NoError(t, err)
	_, shown, found := strings.Cut(string(page), "```go\npackage main")
	require.True(t, found)
	shown, _, _ = strings.Cut(shown, "```")
	server, err := os.ReadFile("server/main.go")
	require.NoError(t, err)
	for line := range strings.Lines(shown) {
		require.Contains(t, string(server), strings.TrimSpace(line))
	}
	for _, name := range recipes(t) {
		if isModule(name) || isClient(name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), child.Patience)
			defer cancel()
			cmd := exec.CommandContext(ctx, filepath.Join(programs(t), name))
			switch name {
			case "bearer":
				cmd.Env = append(os.Environ(), "TOKEN=ada-1")
			case "proxy":
				cmd.Args = append(cmd.Args, filepath.Join(programs(t), "server"))
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

// parts are the files of recipes that need more than main.go, and those of their stories beside story.go.
var parts = map[string]struct{ server, story []string }{
	"production": {server: []string{"http.go", "otlp.go", "billing.go"}, story: []string{"story_world.go"}},
}

// TestRecipesCanBeCopied keeps them short and whole: main.go needs nothing else from here,
// and says what it shows and how to run it. A test of the recipe may stand beside it.
func TestRecipesCanBeCopied(t *testing.T) {
	index, err := os.ReadFile("README.md")
	require.NoError(t, err)
	for _, name := range recipes(t) {
		files, err := filepath.Glob(name + "/*.go")
		require.NoError(t, err)
		within := func(files ...string) (paths []string) {
			for _, file := range files {
				paths = append(paths, filepath.Join(name, file))
			}
			return paths
		}
		servers, stories := within(append(parts[name].server, "main.go")...), within(append(parts[name].story, "story.go")...)
		require.Subset(t, append(within("main_test.go"), append(servers, stories...)...), files)
		for _, file := range servers {
			source, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Lessf(t, bytes.Count(source, []byte("\n")), 130, "%s is too long to be read at once", file)
			require.NotContains(t, string(source), "mcpchain/internal", file)
			require.NotContains(t, string(source), "mcpchain/examples", file)
		}
		source, err := os.ReadFile(filepath.Join(name, "main.go"))
		require.NoError(t, err)
		comment, _, found := strings.Cut(string(source), "package main")
		require.True(t, found, name)
		command := "go run ./examples/" + name
		if isModule(name) {
			command = "go run ."
		}
		require.Contains(t, comment, command+" -story")
		if !isClient(name) {
			require.Contains(t, comment, command+" -http 127.0.0.1:8080")
		}
		require.Contains(t, string(index), command+" -story`")
		require.Contains(t, string(index), "]("+name+"/main.go)", "examples/README.md does not list the recipe")
	}
}

// TestRecipesOverHTTP: every recipe that serves HTTP, in whatever module, puts transport.HTTP around the
// handler and around its authentication, and nothing around transport.HTTP but a multiplexer.
func TestRecipesOverHTTP(t *testing.T) {
	require.NoError(t, outermost(`h := mcp.NewStreamableHTTPHandler(f, nil); s := &http.Server{Handler: transport.HTTP(guard(h), nil)}`))
	require.NoError(t, outermost(`g := transport.HTTP(mcp.NewStreamableHTTPHandler(f, nil), nil); mux.Handle("/", g)`))
	for _, wrong := range []string{
		`h := mcp.NewStreamableHTTPHandler(f, nil); mux.Handle("/", h)`,
		`mux.Handle("/", mcp.NewSSEHandler(f, nil))`,
		`h := mcp.NewStreamableHTTPHandler(f, nil); mux.Handle("/", transport.HTTP(h, nil)); mux.Handle("/mcp", h)`,
		`h := mcp.NewStreamableHTTPHandler(f, nil); mux.Handle("/", guard(transport.HTTP(h, nil)))`,
		`h := mcp.NewStreamableHTTPHandler(f, nil); g := transport.HTTP(h, nil); s := &http.Server{Handler: guard(g)}`,
		`h := guard(mcp.NewStreamableHTTPHandler(f, nil)); g := transport.HTTP(other, nil); mux.Handle("/", g)`,
	} {
		require.Error(t, outermost(wrong), wrong)
	}

	var files []string
	for _, pattern := range []string{"*/*.go", "../contrib/*/examples/*/*.go"} {
		found, err := filepath.Glob(pattern)
		require.NoError(t, err)
		files = append(files, found...)
	}
	over := 0
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		source, err := os.ReadFile(file)
		require.NoError(t, err)
		if handles.Match(source) {
			over++
			require.NoError(t, outermost(string(source)), file)
		}
	}
	require.Greater(t, over, 25)
}

var (
	// handles finds what makes a handler that serves MCP over HTTP, of the SDK or of mcp-go.
	handles  = regexp.MustCompile(`\b(mcp\.New(StreamableHTTP|SSE)Handler|server\.New(StreamableHTTP|SSE)Server)\(`)
	assigned = regexp.MustCompile(`^\s*(\w+) := `)
	wrapped  = regexp.MustCompile(`^\s*(\w+) := transport\.HTTP\(`)
	// outside finds what stands outermost in what is served or assigned.
	outside = regexp.MustCompile(`(?:Handler: |mux\.Handle\("[^"]*", |^\s*\w+ := )([\w.]+)`)
)

// outermost returns an error if such a handler is served other than within transport.HTTP, or if something stands
// around that. It reads statement by statement, and follows the variables that handlers are assigned to.
func outermost(source string) (failed error) {
	bare, whole := map[string]bool{}, map[string]bool{} // variables; of a bare one, whether it is used
	group := func(of *regexp.Regexp, line string) string {
		return append(of.FindStringSubmatch(line), "", "")[1]
	}
	for _, line := range regexp.MustCompile(`[;\n]`).Split(source, -1) {
		name, outer := group(assigned, line), group(outside, line)
		takes, within := handles.MatchString(line), strings.Contains(line, "transport.HTTP(")
		for _, word := range regexp.MustCompile(`\w+`).FindAllString(strings.TrimPrefix(strings.TrimSpace(line), name+" :="), -1) {
			if _, of := bare[word]; of {
				takes, bare[word] = true, true
			}
			if whole[word] && outer != word {
				failed = fmt.Errorf("something stands around transport.HTTP: %s", line)
			}
		}
		switch {
		case within && outer != "transport.HTTP":
			failed = fmt.Errorf("something stands around transport.HTTP: %s", line)
		case within:
			whole[group(wrapped, line)] = true
		case takes && name == "":
			failed = fmt.Errorf("a handler without transport.HTTP: %s", line)
		case takes:
			bare[name] = false
		}
	}
	for name, used := range bare {
		if !used {
			failed = fmt.Errorf("%s is not within transport.HTTP", name)
		}
	}
	return failed
}

// canaries are what the handlers of the quickstart put into their errors.
var canaries = []string{"tr0ub4dor", "10.1.2.3", "key-3f9a1c77", "mail-token-81d2e6", "/srv/shop"}

func TestQuickstart(t *testing.T) {
	t.Parallel() // it waits
	out := golden.Run(t, filepath.Join(programs(t), "quickstart"))
	failures, counted, found := strings.Cut(out, "\n12 failures: ")
	require.True(t, found, out)
	parts := labelled(failures)
	for _, label := range []string{"without", "with", "log"} {
		require.NotEmpty(t, parts[label], label)
	}
	for _, canary := range canaries {
		require.Contains(t, parts["log"], canary, "no longer provoked")
		require.NotContains(t, parts["with"], canary) // all that arrives was searched by the quickstart itself
	}
	require.Contains(t, parts["without"], "tr0ub4dor")
	require.Contains(t, parts["without"], "the server process died: exit status 2")
	require.Contains(t, parts["without"], "no answer within 1 s")
	require.Contains(t, parts["with"], "Did you mean 'teapot'?")
	require.Contains(t, parts["log"], "invalid memory address or nil pointer dereference")

	readme, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	counted, _, _ = strings.Cut(counted, "\n\n")
	require.Contains(t, string(readme), "\n12 failures: "+counted+"\n", "the README's first screen")
	require.Regexp(t, `^without mcpchain \d+ killed the server, \d+ were never answered, \d+ leaked private data;\n`+
		`with mcpchain all were answered, none leaked, and each has its record in the log\.$`, counted)
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
