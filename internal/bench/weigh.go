package main

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"text/template"
)

const (
	weightOpening = "<!-- weight -->\n"
	weightClosing = "<!-- end of weight -->\n"
)

// A weight is what a program weighs that imports something of mcpchain.
type weight struct {
	name    string // in the table
	imports string // below the module of mcpchain; "." is its root
	install string // the code that adds it to the server
	use     string // the statement that uses it, where it is no middleware

	bytes   int64
	modules []string // of others, beside those of the server alone
}

// weights are the server alone, and what is added to it.
func weights() []*weight {
	all := []*weight{
		{name: "the server alone, with the SDK"},
		{name: "`Standard`", imports: ".", install: "mcpchain.Standard(nil)"},
	}
	for _, name := range []string{"recover", "mask", "correlate", "retry", "validate", "batch", "degrade", "deadline", "limit", "drain", "budget", "replay", "task", "state", "audit"} {
		options := "nil"
		switch name { // what New requires
		case "audit":
			options = "&part.Options{Log: part.NewLog(func([]part.Entry) error { return nil }, nil)}"
		case "drain":
			options = "&part.Options{Drain: &part.Drain{}}"
		}
		all = append(all, &weight{name: "`" + name + "`", imports: name, install: "part.New(" + options + ")"})
	}
	return append(all,
		&weight{name: "`batch.Run` alone", imports: "batch", use: `part.Run(context.Background(), []string{""}, func(context.Context, string) (string, error) { return "", nil }, nil)`},
		&weight{name: "`correlate/sinks`", imports: "correlate/sinks", use: "slog.SetDefault(slog.New(part.Fanout(slog.Default().Handler())))"})
}

var program = template.Must(template.New("").Parse(`package main

import (
	"context"
	"log/slog"

	"github.com/modelcontextprotocol/go-sdk/mcp"
{{if eq .Imports "."}}	"github.com/mcpchain/mcpchain"
{{else if .Imports}}	part "github.com/mcpchain/mcpchain/{{.Imports}}"
{{end}})

type in struct {
	City string ` + "`json:\"city\"`" + `
}

func main() {
	server := mcp.NewServer(&mcp.Implementation{Name: "weather", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "forecast"}, func(context.Context, *mcp.CallToolRequest, in) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{}, nil, nil
	})
{{if .Install}}	server.AddReceivingMiddleware({{.Install}})
{{else if .Use}}	{{.Use}}
{{end}}	if err := server.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		slog.Error(err.Error())
	}
}
`))

// weigh builds each program as it would be shipped. The programs are in no directory: the overlay of
// the go command puts each in its turn into the module of bench.
func weigh(ctx context.Context, all []*weight) error {
	page, err := findPage("load.md")
	if err != nil {
		return err
	}
	bench, err := filepath.Abs(filepath.Join(filepath.Dir(page), "..", "internal", "bench"))
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "weigh")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	alone := map[string]bool{}
	for i, w := range all {
		deps, err := w.build(ctx, bench, dir)
		if err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
		for _, path := range deps {
			if i == 0 {
				alone[path] = true
			} else if !alone[path] && !strings.HasPrefix(path, "github.com/mcpchain/") {
				w.modules = append(w.modules, path)
			}
		}
	}
	return nil
}

// build notes the size of the program, and returns the modules that are linked.
func (w *weight) build(ctx context.Context, bench, dir string) (deps []string, err error) {
	var source bytes.Buffer
	if err := program.Execute(&source, struct{ Imports, Install, Use string }{w.imports, w.install, w.use}); err != nil {
		return nil, err
	}
	main, overlay, binary := filepath.Join(dir, "main.go"), filepath.Join(dir, "overlay.json"), filepath.Join(dir, "weighed")
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(bench, "weighed", "main.go"): main}})
	if err != nil {
		return nil, err
	}
	for file, content := range map[string][]byte{main: source.Bytes(), overlay: replace} {
		if err := os.WriteFile(file, content, 0o600); err != nil {
			return nil, err
		}
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-overlay", overlay, "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", binary, "./weighed") //nolint:gosec // our own
	cmd.Dir = bench
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, out)
	}
	info, err := os.Stat(binary)
	if err != nil {
		return nil, err
	}
	w.bytes = info.Size()
	built, err := buildinfo.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	for _, dep := range built.Deps {
		deps = append(deps, dep.Path)
	}
	return deps, nil
}

// weightTable is what stands in docs/packages.md.
func weightTable(all []*weight) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\nBuilt with %s for linux/amd64, without cgo, with `-trimpath -ldflags=\"-s -w\"`.\n\n", runtime.Version())
	b.WriteString("| a server with | MB more | modules more, beside mcpchain |\n|---|---|---|\n")
	for i, w := range all {
		if i == 0 {
			fmt.Fprintf(&b, "| %s | %.1f in all | |\n", w.name, mb(w.bytes))
			continue
		}
		names := make([]string, len(w.modules))
		for i, path := range w.modules {
			names[i] = "`" + strings.TrimPrefix(path, "github.com/") + "`"
		}
		fmt.Fprintf(&b, "| %s | %.2f | %d: %s |\n", w.name, mb(w.bytes-all[0].bytes), len(names), strings.Join(names, ", "))
	}
	return b.String()
}

func mb(bytes int64) float64 { return float64(bytes) / 1e6 }
