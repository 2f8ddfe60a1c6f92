package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// tool is mcpvet, built once.
var tool string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "mcpvet")
		if err != nil {
			panic(err)
		}
		defer func() { _ = os.RemoveAll(dir) }()
		tool = filepath.Join(dir, "mcpvet.exe")
		if out, err := exec.Command("go", "build", "-o", tool, ".").CombinedOutput(); err != nil {
			panic(string(out))
		}
		return m.Run()
	}())
}

// run runs a command on packages below gopath, and returns what it wrote and its exit status.
func run(t *testing.T, gopath string, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Dir = filepath.Join(gopath, "src")
	cmd.Env = append(os.Environ(), "GO111MODULE=off", "GOPATH="+gopath, "GOWORK=off", "GOFLAGS=", "GOPROXY=off")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		var exit *exec.ExitError
		require.ErrorAs(t, err, &exit)
	}
	require.NotContains(t, errs.String(), "panic:")
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// TestTool runs mcpvet alone and below go vet, on the packages of testdata.
func TestTool(t *testing.T) {
	gopath, err := filepath.Abs("checks/testdata")
	require.NoError(t, err)

	for name, args := range map[string][]string{
		"alone":  {tool, "errtext/...", "reservedcode"},
		"go vet": {"go", "vet", "-vettool", tool, "errtext/...", "reservedcode"},
	} {
		t.Run(name, func(t *testing.T) {
			_, out, status := run(t, gopath, args...)
			require.NotZero(t, status)
			require.Contains(t, out, "code -32001 is reserved by JSON-RPC")
			// Found by a fact about a helper of another package.
			require.Regexp(t, `errtext\.go:40:\d+: the texts of this error and of 2 more become content`, out)
		})
	}
}

// server is a package whose handler returns nil, which is repaired, and starts a goroutine
// that may panic, which is not.
const server = `package server

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func add(s *mcp.Server) {
	s.AddTool(&mcp.Tool{Name: "a", Annotations: &mcp.ToolAnnotations{}}, handle)
}

func handle(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	%s
	%s
}
`

const (
	started = "go func() { panic(req.Params.Name) }()"
	quiet   = "_ = req.Params.Name"
	none    = "return nil, nil"
	empty   = "return &mcp.CallToolResult{}, nil"

	startedFound = "a panic in this goroutine ends the process"
	noneFound    = "this handler returns neither a result nor an error"
)

// write writes the server with two lines into a GOPATH of its own, and returns that and the
// name of the file.
func write(t *testing.T, first, second string) (gopath, name string) {
	t.Helper()
	gopath = t.TempDir()
	require.NoError(t, os.CopyFS(gopath, os.DirFS("checks/testdata")))
	name = filepath.Join(gopath, "src", "server", "server.go")
	require.NoError(t, os.Mkdir(filepath.Dir(name), 0o700))
	require.NoError(t, os.WriteFile(name, fmt.Appendf(nil, server, first, second), 0o600))
	return gopath, name
}

// TestFix: the exit status is 0 only if nothing is left to report, and what is left is printed.
func TestFix(t *testing.T) {
	for name, c := range map[string]struct {
		flags       []string
		first       string
		status      int
		fixed, left string
		notLeft     string
	}{
		"all is repaired":          {[]string{"-fix"}, quiet, 0, empty, "", "handler"},
		"something is left":        {[]string{"-fix"}, started, 3, empty, startedFound, noneFound},
		"among other flags":        {[]string{"-nilresult", "-goroutine", "--fix=true"}, started, 3, empty, startedFound, noneFound},
		"what is left is silenced": {[]string{"-fix"}, started + " //nolint:mcpvet // it is a test", 0, empty, "", startedFound},
		"only shown":               {[]string{"-fix", "-diff"}, started, 3, none, noneFound, "+++"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			gopath, file := write(t, c.first, none)
			out, errs, status := run(t, gopath, append(append([]string{tool}, c.flags...), "server")...)
			require.Equal(t, c.status, status, errs)
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Contains(t, string(text), c.fixed)
			require.Contains(t, errs, c.left)
			require.NotContains(t, errs, c.notLeft)
			require.Equal(t, name == "only shown", strings.Contains(out, "+\t"+empty), out)
		})
	}
	gopath, _ := write(t, quiet, none)
	_, errs, status := run(t, gopath, tool, "-fix", "absent")
	require.Equal(t, 1, status)
	require.Equal(t, 1, strings.Count(errs, "cannot find package"), "it is said once: %s", errs)
}

// TestNothingChecked: silence about what was not looked at would be taken for praise.
func TestNothingChecked(t *testing.T) {
	gopath := t.TempDir()
	for name, text := range map[string]string{
		"github.com/mark3labs/mcp-go/server/server.go": "package server",
		"theirs/main.go":    "package main\n\nimport _ \"github.com/mark3labs/mcp-go/server\"\n\nfunc main() {}",
		"neither/main.go":   "package main\n\nfunc main() {}",
		"broken/main.go":    "package main\n\nimport _ \"absent\"\n\nfunc main() {}",
		"empty/sub/doc.txt": "",
		"github.com/modelcontextprotocol/go-sdk/mcp/mcp.go": "package mcp",
		"ours/main.go": "package main\n\nimport _ \"github.com/modelcontextprotocol/go-sdk/mcp\"\n\nfunc main() {}",
	} {
		path := filepath.Join(gopath, "src", filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	for args, want := range map[string]string{
		"theirs":            "mcpvet: nothing was checked: the server is written on github.com/mark3labs/mcp-go, and the checks know github.com/modelcontextprotocol/go-sdk\n",
		"-c 3 -json theirs": "mcpvet: nothing was checked: the server is written on github.com/mark3labs/mcp-go",
		"neither":           "mcpvet: nothing was checked: no package uses github.com/modelcontextprotocol/go-sdk\n",
		"./empty/...":       "mcpvet: nothing was checked: there is no package ./empty/...\n",
		"-fix ./empty/...":  "mcpvet: nothing was checked: there is no package ./empty/...\n",
		"broken":            "cannot find package \"absent\"",
	} {
		_, errs, status := run(t, gopath, append([]string{tool}, strings.Fields(args)...)...)
		require.Equal(t, 1, status, args)
		require.Contains(t, errs, want, args)
	}
	for _, args := range []string{"ours", "ours neither theirs", "help stdout"} {
		_, errs, status := run(t, gopath, append([]string{tool}, strings.Fields(args)...)...)
		require.Zero(t, status, args)
		require.Empty(t, errs, args)
	}
}

// TestJSON: a package that has tests is listed once.
func TestJSON(t *testing.T) {
	gopath, name := write(t, quiet, none)
	require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(name), "server_test.go"), []byte("package server\n"), 0o600))
	out, errs, status := run(t, gopath, tool, "-json", "server")
	require.Zero(t, status, errs)
	require.Equal(t, 1, strings.Count(out, noneFound), out)
}

func TestIsSet(t *testing.T) {
	for args, want := range map[string]bool{
		"": false, "-fix": true, "--fix": true, "-fix=true": true, "--fix=1": true, "-fix=false": false, "-fix -fix=false": false,
		"-fixes": false, "---fix": false, "fix": false, "./fix": false, "-c 3 -fix ./...": true, "./... -fix": true, "-fix=maybe": false,
	} {
		require.Equal(t, want, isSet(strings.Fields(args), "fix"), args)
	}
}

// TestNolint: what a comment silences, alone and below go vet.
func TestNolint(t *testing.T) {
	cases := []struct {
		about, before, behind string
		silent                bool
	}{
		{"nothing", "", "", false},
		{"on its line", "", " //nolint:mcpvet // a reason", true},
		{"among others", "", " //nolint:nilnil,mcpvet // a reason", true},
		{"without a reason", "", " //nolint:mcpvet", true},
		{"another linter", "", " //nolint:nilnil // mcpvet", false},
		{"a longer name", "", " //nolint:mcpvetting", false},
		{"a remark", "", " // nolint:mcpvet", false},
		{"on the line above", "//nolint:mcpvet // a reason\n\t", "", true},
		{"two lines above", "//nolint:mcpvet // a reason\n\n\t", "", false},
		{"behind the statement above", quiet + " //nolint:mcpvet // another finding\n\t", "", false},
	}
	gopath, name := write(t, quiet, empty)
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	for i, c := range cases {
		text = fmt.Appendf(text, `
var handler%d mcp.ToolHandler = func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	%sreturn nil, nil%s
}
`, i, c.before, c.behind)
	}
	require.NoError(t, os.WriteFile(name, text, 0o600))
	for _, args := range [][]string{{tool, "server"}, {"go", "vet", "-vettool", tool, "server"}} {
		_, errs, status := run(t, gopath, args...)
		require.NotZero(t, status)
		var found []int
		for _, at := range regexp.MustCompile(`server\.go:(\d+):\d+: `+noneFound).FindAllStringSubmatch(errs, -1) {
			line, err := strconv.Atoi(at[1])
			require.NoError(t, err)
			above := strings.Join(strings.SplitAfter(string(text), "\n")[:line], "")
			found = append(found, strings.Count(above, "var handler")-1)
		}
		for i, c := range cases {
			require.Equal(t, !c.silent, slices.Contains(found, i), "%s: %s", args[0], c.about)
		}
	}
}
