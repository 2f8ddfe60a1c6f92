package whole_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/internal/wire"
)

const module = "github.com/mcpchain/mcpchain"

// TestLayering proves from the import graph that a package imports only the floors below
// its own, and that fault and what stands below it do not know the SDK.
func TestLayering(t *testing.T) {
	packages := list(t, "./...")
	require.NotEmpty(t, packages)
	for _, p := range packages {
		floor := floorOf(p.ImportPath)
		for _, dep := range p.Deps {
			switch {
			case strings.HasPrefix(dep, module) && dep != p.ImportPath:
				require.Lessf(t, floorOf(dep), floor, "%s imports %s, which is not below it", p.ImportPath, dep)
			case floor <= 1:
				require.NotContainsf(t, dep, "modelcontextprotocol", "%s is on the lowest floor and must not know the SDK", p.ImportPath)
			}
			if floor <= 7 || p.ImportPath == module+"/mcptest" {
				require.NotContainsf(t, dep, "stretchr/testify", "%s imports testify outside of tests", p.ImportPath)
			}
		}
	}
}

// TestMap keeps the map of CONTRIBUTING.md true: each package of the library stands on it, on
// the floor that TestLayering proves.
func TestMap(t *testing.T) {
	text, err := os.ReadFile("CONTRIBUTING.md")
	require.NoError(t, err)
	_, drawing, _ := strings.Cut(string(text), "## The map")
	_, drawing, _ = strings.Cut(drawing, "```\n")
	drawing, _, _ = strings.Cut(drawing, "\n tests only:")
	drawn := map[string]int{}
	floor := regexp.MustCompile(`^ ?(-?\d)  (\S+)`)
	name := regexp.MustCompile(`^ {4,6}([a-z][a-z/]*) {2,}`)
	at := 0
	for line := range strings.Lines(drawing) {
		if m := floor.FindStringSubmatch(line); m != nil {
			at, err = strconv.Atoi(m[1])
			require.NoError(t, err)
			drawn[m[2]] = at
		} else if m := name.FindStringSubmatch(line); m != nil {
			drawn[m[1]] = at
		}
	}
	stand := map[string]int{"THE": 6} // MIDDLEWARES
	for _, p := range list(t, "./...") {
		if f := floorOf(p.ImportPath); f <= 7 {
			stand[cmp.Or(strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/"), "chain.go")] = f
		}
	}
	require.Equal(t, stand, drawn)
}

// TestKeysStandInOnePlace proves that no package writes down a key that goes on the wire:
// all of them stand in internal/wire.
func TestKeysStandInOnePlace(t *testing.T) {
	for _, p := range list(t, "./...") {
		if floorOf(p.ImportPath) > 7 || p.ImportPath == module+"/internal/wire" {
			continue
		}
		for _, file := range p.GoFiles {
			parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, file), nil, parser.SkipObjectResolution)
			require.NoError(t, err)
			ast.Inspect(parsed, func(n ast.Node) bool {
				if text, ok := n.(*ast.BasicLit); ok {
					require.NotContainsf(t, text.Value, wire.Prefix, "%s/%s", p.ImportPath, file)
				}
				return true
			})
		}
	}
}

// TestModulesOfEachPackage proves, package by package, that who imports one pays for no more than it
// needs: these are all the modules that it links beside those of the SDK.
func TestModulesOfEachPackage(t *testing.T) {
	const backoff, uuid = "github.com/cenkalti/backoff/v5", "github.com/google/uuid"
	const json = "github.com/go-json-experiment/json" // which becomes encoding/json/v2
	allowed := map[string][]string{                   // those of no other package but uuid, and json, which reads JSON
		"":                 {backoff, uuid, json},
		"retry":            {backoff, uuid, json},
		"retry/client":     {backoff, uuid},
		"internal/attempt": {backoff},
		"correlate/sinks":  {"github.com/samber/lo", "github.com/samber/slog-common", "github.com/samber/slog-multi", "golang.org/x/text"},
	}
	module := map[string]string{}
	for _, p := range list(t, "-deps", "./...") {
		if p.Module != nil {
			module[p.ImportPath] = p.Module.Path
		}
	}
	ofSDK := map[string]bool{"github.com/mcpchain/mcpchain": true, "github.com/modelcontextprotocol/go-sdk": true}
	for _, p := range list(t, "github.com/modelcontextprotocol/go-sdk/mcp") {
		for _, dep := range p.Deps {
			ofSDK[module[dep]] = true
		}
	}
	for _, p := range list(t, "./...") {
		if floorOf(p.ImportPath) > 7 {
			continue
		}
		name := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, "github.com/mcpchain/mcpchain"), "/")
		linked := []string{}
		for _, dep := range p.Deps {
			if m := module[dep]; m != "" && !ofSDK[m] && !slices.Contains(linked, m) {
				linked = append(linked, m)
			}
		}
		if want, special := allowed[name]; special {
			require.ElementsMatch(t, want, linked, name)
			continue
		}
		require.Subset(t, []string{uuid, json}, linked, name)
	}
}

// TestLinksWhatIsSet proves that Standard brings only the middlewares that it always has. What
// a field of Options turns on comes with the value of the field.
func TestLinksWhatIsSet(t *testing.T) {
	root := list(t, ".")
	require.Len(t, root, 1)
	for _, layer := range layers(t) {
		always := slices.Contains([]string{"recover", "correlate", "mask", "retry", "validate"}, layer)
		require.Equal(t, always, slices.Contains(root[0].Deps, module+"/"+layer), layer)
	}
	// And a part of a package is linked by those who import it.
	for _, part := range []string{"correlate/sinks", "retry/client", "validate/playground"} {
		require.False(t, slices.Contains(root[0].Deps, module+"/"+part), part)
	}
}

// TestMiddlewaresHaveTheSameShape keeps the promise that who knows one middleware knows all.
func TestMiddlewaresHaveTheSameShape(t *testing.T) {
	layers := layers(t)
	for _, p := range list(t, "./...") {
		layer := strings.TrimPrefix(p.ImportPath, module+"/")
		if !slices.Contains(layers, layer) {
			continue
		}
		var exported []string
		for _, file := range p.GoFiles {
			set := token.NewFileSet()
			parsed, err := parser.ParseFile(set, filepath.Join(p.Dir, file), nil, parser.SkipObjectResolution)
			require.NoError(t, err)
			for _, d := range parsed.Decls {
				var text strings.Builder
				switch d := d.(type) {
				case *ast.FuncDecl:
					d.Doc, d.Body = nil, nil
					require.NoError(t, printer.Fprint(&text, set, d))
					exported = append(exported, text.String())
				case *ast.GenDecl:
					for _, spec := range d.Specs {
						if typ, ok := spec.(*ast.TypeSpec); ok {
							if _, ok := typ.Type.(*ast.StructType); ok {
								exported = append(exported, "type "+typ.Name.Name+" struct")
							}
						}
					}
				}
			}
		}
		require.Subset(t, exported, []string{"func New(opts *Options) mcp.Middleware", "type Options struct"}, layer)
	}
}

// floorOf says on which floor a package of the module stands; within a floor, packages
// are independent. What is not a library package (examples, test helpers) stands above all.
func floorOf(path string) int {
	name := strings.TrimPrefix(strings.TrimPrefix(path, module), "/")
	switch {
	case name == "":
		return 7
	case slices.Contains([]string{"middleware", "retry/client", "transport", "correlate/sinks", "internal/kept", "internal/owner", "internal/listform", "internal/conduct", "validate/playground"}, name):
		return 5
	case name == "internal/call":
		return 4
	case slices.Contains([]string{"internal/failure", "internal/sink", "internal/ask"}, name):
		return 3
	case slices.Contains([]string{"internal/apart", "internal/classify", "internal/faults", "internal/attempt", "internal/exchange", "internal/explain", "internal/secrets", "internal/speak", "internal/stored", "internal/unclear"}, name):
		return 2
	case name == "fault":
		return 1
	case slices.Contains([]string{"internal/scrub", "internal/near", "store"}, name):
		return 0
	case slices.Contains([]string{"internal/safe", "internal/jsons"}, name):
		return -1
	case slices.Contains([]string{"internal/inner", "internal/wire", "internal/words", "internal/table"}, name):
		return -2
	case name == "internal/kinds":
		return -3
	case name == "examples", strings.HasPrefix(name, "examples/") && !strings.HasPrefix(name, "examples/internal/"):
		return 9
	case strings.HasPrefix(name, "examples/internal/"), strings.HasPrefix(name, "internal/"), strings.HasPrefix(name, "store/"), name == "mcptest":
		return 8
	default:
		return 6
	}
}

// layers returns the names of the middlewares, which stand on floor 6.
func layers(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, p := range list(t, "./...") {
		if floorOf(p.ImportPath) == 6 {
			names = append(names, strings.TrimPrefix(p.ImportPath, module+"/"))
		}
	}
	require.Subset(t, names, []string{"recover", "correlate", "mask", "validate", "retry", "batch", "degrade", "deadline", "limit", "drain", "budget"})
	return names
}

type listed struct {
	ImportPath, Dir string
	GoFiles, Deps   []string
	Module          *struct{ Path string }
}

// listings are what list has returned: several tests ask for the same.
var listings = map[string][]listed{}

func list(t *testing.T, args ...string) []listed {
	t.Helper()
	about := strings.Join(args, " ")
	if listings[about] != nil {
		return listings[about]
	}
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"list", "-json=ImportPath,Dir,GoFiles,Deps,Module"}, args...)...)
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		require.NoError(t, err, string(exit.Stderr))
	}
	require.NoError(t, err)
	var all []listed
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			listings[about] = all
			return all
		} else if err != nil {
			require.NoError(t, err)
		}
		all = append(all, p)
	}
}
