package frozen_test

import (
	"bytes"
	"go/ast"
	"go/doc"
	"go/parser"
	goprinter "go/printer"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	surfaceFile = "testdata/surface.txt"
	module      = "github.com/mcpchain/mcpchain"
)

// TestSurface holds the exported names still, with their types and fields: a change of them is
// seen in review. What mcpchain is built of, its examples and its programs are not promised.
func TestSurface(t *testing.T) {
	got := surface(t, filepath.Join("..", ".."))
	if *update {
		require.NoError(t, os.WriteFile(surfaceFile, []byte(got), 0o644))
	}
	want, err := os.ReadFile(surfaceFile)
	require.NoError(t, err)
	if got != string(want) {
		before, after := strings.Split(string(want), "\n"), strings.Split(got, "\n")
		t.Errorf("the exported names have changed; if that was meant: go test ./internal/frozen -run TestSurface -update\ngone:\n%s\nnew:\n%s",
			strings.Join(missing(before, after), "\n"), strings.Join(missing(after, before), "\n"))
	}
	rooms, err := os.ReadDir("..")
	require.NoError(t, err)
	for _, room := range rooms {
		require.NotRegexp(t, `\b`+room.Name()+`\.[A-Z]`, got, "a type of an internal package is in a signature: give it a public home")
	}
}

// missing returns the lines of some that others have not.
func missing(some, others []string) (lines []string) {
	for _, line := range some {
		if !slices.Contains(others, line) {
			lines = append(lines, line)
		}
	}
	return lines
}

// surface returns the exported declarations of all packages for users, without their comments.
func surface(t *testing.T, root string) string {
	t.Helper()
	var out strings.Builder
	require.NoError(t, filepath.WalkDir(root, func(dir string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		switch name := d.Name(); {
		case dir == root:
		case strings.HasPrefix(name, "."), slices.Contains([]string{"internal", "examples", "testdata", "cmd", "docs", "node_modules", "bin"}, name):
			return fs.SkipDir
		}
		relative, err := filepath.Rel(root, dir)
		require.NoError(t, err)
		out.WriteString(declarations(t, dir, path.Join(module, filepath.ToSlash(relative))))
		return nil
	}))
	return out.String()
}

func declarations(t *testing.T, dir, importPath string) string {
	t.Helper()
	set := token.NewFileSet()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	require.NoError(t, err)
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(set, name, nil, 0)
		require.NoError(t, err)
		files = append(files, file)
	}
	if len(files) == 0 {
		return ""
	}
	p, err := doc.NewFromFiles(set, files, importPath)
	require.NoError(t, err)
	var lines []string
	add := func(decl ast.Node) {
		var b bytes.Buffer
		require.NoError(t, (&goprinter.Config{Mode: goprinter.UseSpaces, Tabwidth: 1}).Fprint(&b, set, decl))
		lines = append(lines, strings.ReplaceAll(b.String(), "\n\n", "\n"))
	}
	functions := func(all []*doc.Func) {
		for _, f := range all {
			f.Decl.Body = nil
			add(f.Decl)
		}
	}
	values := func(all []*doc.Value) {
		for _, v := range all {
			for _, spec := range v.Decl.Specs {
				for _, name := range spec.(*ast.ValueSpec).Names {
					if name.IsExported() {
						lines = append(lines, v.Decl.Tok.String()+" "+name.Name)
					}
				}
			}
		}
	}
	values(p.Consts)
	values(p.Vars)
	functions(p.Funcs)
	for _, typ := range p.Types {
		add(typ.Decl)
		values(typ.Consts)
		values(typ.Vars)
		functions(typ.Funcs)
		functions(typ.Methods)
	}
	if len(lines) == 0 {
		return ""
	}
	return "package " + importPath + "\n\n" + strings.Join(lines, "\n") + "\n\n"
}
