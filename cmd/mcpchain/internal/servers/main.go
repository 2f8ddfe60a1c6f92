// Servers writes what public servers do when they fail, bare and behind mcpchain run. docs/evidence.md shows a part.
//
//	go run ./cmd/mcpchain/internal/servers -write
//
// It installs the servers with npm and go into a directory of its own, and takes about half an hour. None
// of them reaches a service: those that could have no tools that are marked as reading, so none is called.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"text/template"
)

// A server is one that is installed and compared.
type server struct {
	Name     string // of its package
	Version  string
	Language string
	file     string   // in its package, or the name of the program
	args     []string // DIR stands for an empty directory
}

const reference = "@modelcontextprotocol/"

// servers are those of the page. Their versions are raised by hand.
var servers = []server{
	{reference + "server-everything", "2026.8.31", "TypeScript", "dist/index.js", nil},
	{reference + "server-filesystem", "2026.8.31", "TypeScript", "dist/index.js", []string{"DIR"}},
	{reference + "server-memory", "2026.8.31", "TypeScript", "dist/index.js", nil},
	{reference + "server-sequential-thinking", "2026.8.31", "TypeScript", "dist/index.js", nil},
	{reference + "server-github", "2025.4.8", "TypeScript", "dist/index.js", nil},
	{"@cyanheads/git-mcp-server", "2.15.3", "TypeScript", "dist/index.js", nil},
	{"tavily-mcp", "0.2.22", "TypeScript", "build/index.js", nil},
	{"github.com/modelcontextprotocol/go-sdk/examples/server/everything", "v1.8.0", "Go", "everything", nil},
	{"github.com/modelcontextprotocol/go-sdk/examples/server/memory", "v1.8.0", "Go", "memory", nil},
	{"github.com/modelcontextprotocol/go-sdk/examples/server/sequentialthinking", "v1.8.0", "Go", "sequentialthinking", nil},
	{"github.com/modelcontextprotocol/go-sdk/examples/server/hello", "v1.8.0", "Go", "hello", nil},
	{"github.com/mark3labs/mcp-go/examples/everything", "v1.2.1", "Go", "everything", nil},
	{"golang.org/x/tools/gopls", "v0.21.1", "Go", "gopls", []string{"mcp"}},
	{"@leanspec/mcp-linux-x64", "0.3.0", "Rust", "leanspec-mcp", nil},
	{"@temporal-cortex/cortex-mcp-linux-x64", "0.9.1", "Rust", "bin/cortex-mcp", nil},
}

// A comparison is what "mcpchain compare -format json" writes.
type comparison struct {
	Bare   report `json:"bare"`
	Behind report `json:"behind"`
}

type report struct {
	Checks []check `json:"checks"`
}

type check struct {
	Name    string `json:"name"`
	Title   string `json:"title"`
	Outcome string `json:"outcome"`
}

func (r report) found() int {
	n := 0
	for _, c := range r.Checks {
		if c.Outcome == "found" {
			n++
		}
	}
	return n
}

// kept is where the tables are kept, from the root.
const kept = "cmd/mcpchain/internal/servers/testdata/servers.md"

func main() {
	write := flag.Bool("write", false, "write "+kept+", not standard output")
	dir := flag.String("dir", filepath.Join(os.TempDir(), "mcpchain-servers"), "where servers are installed and results kept; what is there is not made again")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := page(ctx, *dir, *write); err != nil {
		fmt.Fprintln(os.Stderr, "servers:", err)
		stop()
		os.Exit(1) //nolint:forbidigo,gocritic // a program ends its process, and stop was called
	}
}

// atOnce is how many servers are compared at once. The checks mostly wait.
const atOnce = 2

// page compares all servers and writes the page.
func page(ctx context.Context, dir string, write bool) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	program := filepath.Join(dir, "mcpchain")
	if err := run(ctx, ".", nil, "go", "build", "-o", program, "./cmd/mcpchain"); err != nil {
		return err
	}
	all, wrong := make([]comparison, len(servers)), make([]error, len(servers))
	places := make(chan struct{}, atOnce)
	var done sync.WaitGroup
	for i, s := range servers {
		done.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			fmt.Fprintln(os.Stderr, s.Name, s.Version)
			if all[i], wrong[i] = s.compare(ctx, dir, program); wrong[i] != nil {
				wrong[i] = fmt.Errorf("%s: %w", s.Name, wrong[i])
			}
		})
	}
	done.Wait()
	if err := errors.Join(wrong...); err != nil {
		return err
	}
	text, err := rendered(servers, all)
	if err != nil {
		return err
	}
	if !write {
		_, err = os.Stdout.Write(text)
		return err
	}
	return os.WriteFile(kept, text, 0o644) //nolint:gosec // a page
}

// compare installs a server and compares it, unless that was done before.
func (s server) compare(ctx context.Context, dir, program string) (c comparison, err error) {
	own := filepath.Join(dir, strings.NewReplacer("/", "_", "@", "").Replace(s.Name+" "+s.Version))
	result := filepath.Join(own, "comparison.json")
	raw, err := os.ReadFile(result) //nolint:gosec // of an earlier run
	if err != nil {
		empty := filepath.Join(own, "empty")
		if err = os.MkdirAll(empty, 0o700); err != nil {
			return c, err
		}
		command, err := s.install(ctx, own)
		if err != nil {
			return c, err
		}
		for _, arg := range s.args {
			command = append(command, strings.ReplaceAll(arg, "DIR", empty))
		}
		var out bytes.Buffer
		if err = run(ctx, empty, &out, program, append([]string{"compare", "-format", "json", "--"}, command...)...); err != nil {
			return c, err
		}
		raw = out.Bytes()
		if err = os.WriteFile(result, raw, 0o600); err != nil {
			return c, err
		}
	}
	return c, json.Unmarshal(raw, &c)
}

// install installs a server and returns its command.
func (s server) install(ctx context.Context, dir string) ([]string, error) {
	if s.Language == "Go" {
		bin, err := filepath.Abs(dir)
		if err != nil {
			return nil, err
		}
		return []string{filepath.Join(bin, s.file)}, run(ctx, dir, nil, "env", "GOWORK=off", "GOBIN="+bin, "go", "install", s.Name+"@"+s.Version)
	}
	err := run(ctx, ".", nil, "npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", dir, s.Name+"@"+s.Version)
	if err != nil {
		return nil, err
	}
	file, err := filepath.Abs(filepath.Join(dir, "node_modules", filepath.FromSlash(s.Name), filepath.FromSlash(s.file)))
	if s.Language == "Rust" { // npm brings the program itself, not always as one that may be run
		return []string{file}, errors.Join(err, os.Chmod(file, 0o700)) //nolint:gosec // to run it is what it is for
	}
	return []string{"node", file}, err
}

// run runs a command. Servers that want a key get an invented one, with which nothing is sent.
func run(ctx context.Context, dir string, out *bytes.Buffer, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...) //nolint:gosec // the list of servers says it
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	cmd.Env = append(os.Environ(), "TAVILY_API_KEY=invented", "GITHUB_PERSONAL_ACCESS_TOKEN=invented")
	if out != nil {
		cmd.Stdout = out
	}
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// A row is a check, with the number of servers in which it found something.
type row struct {
	Title        string
	Bare, Behind int
	Of           int // for how many it was checked
}

var pageTemplate = template.Must(template.New("").Parse(`# What public servers do when they fail

[The evidence](../../../../../docs/evidence.md#what-public-servers-do-when-they-fail) says how to read these tables. ` + "`make servers`" + ` writes them.

| server | version | language | findings, bare | findings, behind |
|---|---|---|---|---|
{{range .Servers}}| {{.Name}} | {{.Version}} | {{.Language}} | {{.Bare}} | {{.Behind}} |
{{end}}
## Findings of each check

| what should be so | findings, bare | servers checked | findings, behind |
|---|---|---|---|
{{range .Rows}}| {{.Title}} | {{.Bare}} | {{.Of}} | {{.Behind}} |
{{end}}
The other {{.Rest}} checks found nothing in any of them.
`))

// rendered writes the page.
func rendered(servers []server, all []comparison) ([]byte, error) {
	type line struct {
		server
		Bare, Behind int
	}
	var data struct {
		Servers []line
		Rows    []row
		Rest    int
	}
	rows := map[string]*row{}
	var order []string
	count := func(r report, add func(*row, check)) {
		for _, c := range r.Checks {
			if rows[c.Name] == nil {
				rows[c.Name] = &row{Title: c.Title}
				order = append(order, c.Name)
			}
			add(rows[c.Name], c)
		}
	}
	for i, c := range all {
		if len(c.Bare.Checks) == 0 || len(c.Bare.Checks) != len(c.Behind.Checks) {
			return nil, errors.New("a comparison does not have the same checks on both sides")
		}
		data.Servers = append(data.Servers, line{servers[i], c.Bare.found(), c.Behind.found()})
		count(c.Bare, func(r *row, c check) {
			if c.Outcome != "not_checked" {
				r.Of++
			}
			if c.Outcome == "found" {
				r.Bare++
			}
		})
		count(c.Behind, func(r *row, c check) {
			if c.Outcome == "found" {
				r.Behind++
			}
		})
	}
	for _, name := range order {
		if r := rows[name]; r.Bare+r.Behind > 0 {
			data.Rows = append(data.Rows, *r)
		} else {
			data.Rest++
		}
	}
	slices.SortStableFunc(data.Rows, func(a, b row) int { return b.Bare - a.Bare })
	var b bytes.Buffer
	err := pageTemplate.Execute(&b, data)
	return b.Bytes(), err
}
