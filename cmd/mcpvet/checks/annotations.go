package checks

import (
	"go/ast"
	"go/types"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/inspect"
	"golang.org/x/tools/go/ast/inspector"
)

// Annotations reports tools that are registered without annotations.
var Annotations = &analysis.Analyzer{
	Name: "annotations",
	Doc: `report tools without annotations

A tool that nobody annotated counts as one that writes and destroys: clients ask before
each call, and nothing calls it again after a failure. Set ReadOnlyHint for tools that only
read. Reported are literals of mcp.Tool that the same package hands to AddTool. If other
tools of the package are annotated, only tools whose name says that they read are reported,
since for the rest the defaults may be meant. Tools whose name says that they delete are
never reported: the defaults are right for them.`,
	URL:      url("annotations"),
	Requires: []*analysis.Analyzer{inspect.Analyzer},
	Run:      runAnnotations,
}

func runAnnotations(pass *analysis.Pass) (any, error) {
	tools := registered(pass)
	some := slices.ContainsFunc(tools, func(t tool) bool { return t.changed || t.lit != nil && field(t.lit, "Annotations") != nil })
	for _, t := range tools {
		if t.lit == nil || t.changed || field(t.lit, "Annotations") != nil || field(t.lit, "Name") == nil || some && !hasVerb(t.name, readVerbs) || hasVerb(t.name, deleteVerbs) {
			continue
		}
		name := "a tool"
		if t.name != "" {
			name = "tool " + strconv.Quote(t.name)
		}
		pass.Report(analysis.Diagnostic{
			Pos: t.lit.Pos(), End: t.lit.Lbrace,
			Message: name + " has no Annotations: it counts as one that writes, asks before each call and is never retried",
		})
	}
	return nil, nil //nolint:nilnil // the analyzer has no result
}

var (
	readVerbs   = []string{"get", "list", "search", "read", "describe", "find", "show", "query"}
	deleteVerbs = []string{"delete", "remove", "destroy", "drop"}
)

// hasVerb reports whether a name says what a tool does: get_x, listX, x.search.
func hasVerb(name string, verbs []string) bool {
	for _, verb := range verbs {
		at := strings.Index(strings.ToLower(name), verb)
		if at < 0 {
			continue
		}
		before, after := name[:at], name[at+len(verb):]
		if (before == "" || strings.HasSuffix(before, "_") || strings.HasSuffix(before, "-") || strings.HasSuffix(before, ".")) &&
			(after == "" || !unicode.IsLower(rune(after[0]))) {
			return true
		}
	}
	return false
}

// A tool is one that a package registers.
type tool struct {
	lit     *ast.CompositeLit // nil if it is not known
	name    string            // empty if it is no constant
	changed bool              // the literal's variable is written to or handed on after it was made
}

// registered returns what the package hands to AddTool of the SDK or of this library.
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

// heldLiteral returns the literal that the variable e was given, and whether the variable
// is used for more than being registered.
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
