package checks

import (
	"fmt"
	"go/ast"
	"go/types"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/inspect"
	"golang.org/x/tools/go/ast/inspector"
)

// Annotations reports tools that are registered without annotations.
var Annotations = &analysis.Analyzer{
	Name: "annotations",
	Doc: `report tools without annotations

A tool that nobody annotated counts as one that writes and destroys: clients may ask their
user before each call, and nothing calls it again after a failure. Looked at are literals of
mcp.Tool that the same package hands to AddTool. One whose name or whose handler says that it
only reads is reported by itself: set ReadOnlyHint. If the package annotates no tool at all,
the others are reported once, with their number: for them the defaults may be right. Those
whose name says that they delete do not count: the defaults are right for them.`,
	URL:      url("annotations"),
	Requires: []*analysis.Analyzer{inspect.Analyzer},
	Run:      runAnnotations,
}

func runAnnotations(pass *analysis.Pass) (any, error) {
	tools := registered(pass)
	effects := newEffects(pass)
	some := false
	var others []tool
	for _, t := range tools {
		switch {
		case t.changed || t.lit != nil && field(t.lit, "Annotations") != nil:
			some = true
		case t.lit == nil || field(t.lit, "Name") == nil:
		default:
			source := ""
			switch does := effects.ofHandler(t.handler); {
			case nameOf(t.name) == reads && does != writes:
				source = "its name"
			case nameOf(t.name) == unknown && does == reads:
				source = "its handler"
			}
			if source == "" {
				if !slices.ContainsFunc(wordsOf(t.name), func(word string) bool { return slices.Contains(deleteVerbs, word) }) {
					others = append(others, t)
				}
				continue
			}
			pass.Report(analysis.Diagnostic{
				Pos: t.lit.Pos(), End: t.lit.Lbrace,
				Message: t.String() + " only reads, as " + source + " says, but has no Annotations: " + defaults + "; set ReadOnlyHint",
			})
		}
	}
	if some || len(others) == 0 {
		return nil, nil //nolint:nilnil // the analyzer has no result
	}
	first := others[0]
	message := first.String() + " has no Annotations: " + defaults
	if n := len(others); n > 1 {
		message = fmt.Sprintf("%d tools of this package have no Annotations, %s is the first: each %s", n, first, strings.TrimPrefix(defaults, "it "))
	}
	pass.Report(analysis.Diagnostic{
		Pos: first.lit.Pos(), End: first.lit.Lbrace,
		Message: message + "; say with ReadOnlyHint, DestructiveHint and IdempotentHint what is true",
	})
	return nil, nil //nolint:nilnil // the analyzer has no result
}

const defaults = "it counts as one that writes and destroys, and nothing repeats it after a failure"

// A tool is one that a package registers.
type tool struct {
	lit     *ast.CompositeLit // nil if it is not known
	name    string            // empty if it is no constant
	changed bool              // the literal's variable is written to or passed on after it was made
	handler ast.Expr          // what it is registered with
}

func (t tool) String() string {
	if t.name == "" {
		return "a tool"
	}
	return "tool " + strconv.Quote(t.name)
}

// registered returns the tools that the package passes to AddTool of the SDK or of this
// library.
func registered(pass *analysis.Pass) []tool {
	var all []tool
	nodes(pass, func(c inspector.Cursor) {
		call, ok := c.Node().(*ast.CallExpr)
		if !ok {
			return
		}
		f, at := callee(pass, call), 1
		switch {
		case isMethod(f, mcpPath, "Server", "AddTool"):
			at = 0
		case !isFunc(f, mcpPath, "AddTool") && !isFunc(f, chainPath+"/middleware", "AddTool"):
			return
		}
		if len(call.Args) <= at {
			return
		}
		t := tool{}
		if len(call.Args) > at+1 {
			t.handler = call.Args[at+1]
		}
		if t.lit = literal(call.Args[at]); t.lit == nil {
			t.lit, t.changed = heldLiteral(pass, enclosing(c), call.Args[at])
		}
		if t.lit != nil {
			t.name, _ = text(pass, field(t.lit, "Name"))
		}
		all = append(all, t)
	}, (*ast.CallExpr)(nil))
	return all
}

// literal returns the literal that e is, or whose address e takes.
func literal(e ast.Expr) *ast.CompositeLit {
	e = ast.Unparen(e)
	if ref, ok := e.(*ast.UnaryExpr); ok {
		e = ast.Unparen(ref.X)
	}
	lit, _ := e.(*ast.CompositeLit)
	return lit
}

// heldLiteral returns the literal that was assigned to the variable e, and whether the
// variable has other uses than registration.
func heldLiteral(pass *analysis.Pass, f ast.Node, e ast.Expr) (lit *ast.CompositeLit, changed bool) {
	e = ast.Unparen(e)
	if ref, ok := e.(*ast.UnaryExpr); ok {
		e = ast.Unparen(ref.X)
	}
	id, ok := e.(*ast.Ident)
	if !ok {
		return nil, false
	}
	obj, ok := pass.TypesInfo.ObjectOf(id).(*types.Var)
	if !ok {
		return nil, false
	}
	scope := f
	if obj.Parent() == pass.Pkg.Scope() {
		scope = fileOf(pass, obj)
	}
	if scope == nil {
		return nil, false
	}
	value := assigned(pass, scope, obj, scope.End())
	if value == nil {
		return nil, false
	}
	uses := 0
	for _, used := range pass.TypesInfo.Uses {
		if used == obj {
			uses++
		}
	}
	return literal(value), uses > 1
}

// fileOf returns the file in which obj is declared.
func fileOf(pass *analysis.Pass, obj types.Object) ast.Node {
	for _, file := range pass.Files {
		if file.FileStart <= obj.Pos() && obj.Pos() <= file.FileEnd {
			return file
		}
	}
	return nil
}
