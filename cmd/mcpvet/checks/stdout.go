package checks

import (
	"fmt"
	"go/ast"
	"go/types"
	"path/filepath"
	"slices"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/inspect"
	"golang.org/x/tools/go/ast/inspector"
)

// Stdout reports what handlers of a server over stdio print to standard output.
var Stdout = &analysis.Analyzer{
	Name: "stdout",
	Doc: `report handlers of a server over stdio that print to standard output

Standard output is the connection: a client that reads a line which is not a message may
close it, or lose the answer beside it. Looked at are the handlers of programs that use
StdioTransport, and what they call in their package. Print to standard error, or log.`,
	URL:       url("stdout"),
	Requires:  []*analysis.Analyzer{inspect.Analyzer, handlers},
	FactTypes: []analysis.Fact{(*printsFact)(nil)},
	Run:       runStdout,
}

// A found is what is known of findings in a package that does not decide whether they are some.
type found struct {
	Count int
	First string // its file and line
}

// printsFact says that handlers of a package print.
type printsFact struct{ At found }

func (*printsFact) AFact() {}

func (f *printsFact) String() string { return fmt.Sprint("prints ", f.At.Count) }

const isConnection = "standard output, which is the connection of a server over stdio: print to standard error"

func runStdout(pass *analysis.Pass) (any, error) {
	p := printer{pass: pass, bodies: map[types.Object]*ast.BlockStmt{}, seen: map[ast.Node]bool{}}
	eachFunc(pass, func(decl *ast.FuncDecl, f *types.Func) { p.bodies[f] = decl.Body })
	all := handlersOf(pass)
	for _, h := range all {
		h.walk(all, p.visit)
	}
	stdio := usesStdio(pass)
	if stdio == nil {
		if len(p.prints) > 0 && pass.Pkg.Path() != mcpPath { // the SDK has handlers of its own
			pass.ExportPackageFact(&printsFact{foundAt(pass, p.prints)})
		}
		return nil, nil //nolint:nilnil // the analyzer has no result
	}
	for _, n := range p.prints {
		pass.Report(analysis.Diagnostic{Pos: n.Pos(), End: n.End(), Message: "this handler prints to " + isConnection})
	}
	for _, other := range pass.AllPackageFacts() {
		if f, ok := other.Fact.(*printsFact); ok {
			pass.Report(analysis.Diagnostic{
				Pos: stdio.Pos(), End: stdio.End(),
				Message: fmt.Sprintf("handlers of package %s print (%s) to %s", other.Package.Path(), f.At.places(), isConnection),
			})
		}
	}
	return nil, nil //nolint:nilnil // the analyzer has no result
}

// foundAt returns what stands at some nodes, in the order of their places.
func foundAt(pass *analysis.Pass, nodes []ast.Node) found {
	first := slices.MinFunc(nodes, func(a, b ast.Node) int { return int(a.Pos() - b.Pos()) })
	at := pass.Fset.Position(first.Pos())
	return found{len(nodes), fmt.Sprintf("%s:%d", filepath.Base(at.Filename), at.Line)}
}

// places names the first place, and how many there are.
func (f found) places() string {
	if f.Count == 1 {
		return f.First
	}
	return fmt.Sprintf("%s and %d more", f.First, f.Count-1)
}

// usesStdio returns where a package names the transport of stdio, nil if it does not.
func usesStdio(pass *analysis.Pass) (at ast.Node) {
	nodes(pass, func(c inspector.Cursor) {
		id, ok := c.Node().(*ast.Ident)
		if at != nil || !ok {
			return
		}
		switch path := pathOf(pass.TypesInfo.Uses[id]); {
		case path == mcpPath && (id.Name == "StdioTransport" || id.Name == "NewStdioTransport"),
			path == chainPath+"/transport" && id.Name == "Stdio":
			at = id
		}
	}, (*ast.Ident)(nil))
	return at
}

// A printer finds what is printed to standard output.
type printer struct {
	pass   *analysis.Pass
	bodies map[types.Object]*ast.BlockStmt
	seen   map[ast.Node]bool
	prints []ast.Node
}

// visit looks at a node of code that runs, and at the functions of the package that it calls.
func (p *printer) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.CallExpr:
		f := callee(p.pass, n)
		if isFunc(f, "fmt", "Print", "Printf", "Println") {
			p.add(n)
		}
		if body := p.bodies[f]; f != nil && body != nil && !p.seen[body] {
			p.seen[body] = true
			ast.Inspect(body, p.visit)
		}
	case *ast.SelectorExpr:
		if p.isStdout(n.X) && slices.Contains([]string{"Fd", "Name", "Stat"}, n.Sel.Name) {
			return false // it asks for what standard output is
		}
		if p.isStdout(n) {
			p.add(n)
		}
	}
	return true
}

func (p *printer) isStdout(e ast.Expr) bool {
	v, ok := object(p.pass, e).(*types.Var)
	return ok && v.Name() == "Stdout" && pathOf(v) == "os"
}

// add notes a node once: several handlers may run it.
func (p *printer) add(n ast.Node) {
	if !slices.ContainsFunc(p.prints, func(other ast.Node) bool { return other.Pos() == n.Pos() }) {
		p.prints = append(p.prints, n)
	}
}
