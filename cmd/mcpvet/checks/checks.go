// Package checks holds the analyzers of mcpvet, one in each file. They look at code that
// uses github.com/modelcontextprotocol/go-sdk, and stay silent where they cannot see
// enough: a false alarm costs more than a missed finding. Tests and generated files are
// not looked at.
package checks

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/inspect"
	"golang.org/x/tools/go/ast/inspector"
	"golang.org/x/tools/go/types/typeutil"
)

const (
	sdkPath   = "github.com/modelcontextprotocol/go-sdk/"
	mcpPath   = sdkPath + "mcp"
	chainPath = "github.com/mcpchain/mcpchain"
)

// All returns the checks, in the order of the documentation.
func All() []*analysis.Analyzer {
	return []*analysis.Analyzer{
		Outside, ErrText, ReservedCode, NilResult, RawError, Stdout, Goroutine, Annotations, ToolName, PromptArgs, UnknownStep,
	}
}

// url returns where a check is documented.
func url(name string) string { return chainPathURL + "#" + name }

const chainPathURL = "https://github.com/mcpchain/mcpchain/blob/main/docs/testing.md"

// nodes calls visit for each node of the given types in files that are neither generated
// nor tests.
func nodes(pass *analysis.Pass, visit func(inspector.Cursor), kinds ...ast.Node) {
	in, ok := pass.ResultOf[inspect.Analyzer].(*inspector.Inspector)
	if !ok {
		return
	}
	for c := range in.Root().Preorder((*ast.File)(nil)) {
		file, ok := c.Node().(*ast.File)
		if !ok || ast.IsGenerated(file) || strings.HasSuffix(pass.Fset.File(file.FileStart).Name(), "_test.go") {
			continue
		}
		for n := range c.Preorder(kinds...) {
			visit(n)
		}
	}
}

// named returns the named type that t is or points to, nil if there is none.
func named(t types.Type) *types.Named {
	if t == nil {
		return nil
	}
	t = types.Unalias(t)
	if p, ok := t.(*types.Pointer); ok {
		t = types.Unalias(p.Elem())
	}
	n, _ := t.(*types.Named)
	return n
}

// pathOf returns the import path of obj's package, without the directory that vendors it.
func pathOf(obj types.Object) string {
	if obj == nil || obj.Pkg() == nil {
		return ""
	}
	path := obj.Pkg().Path()
	if i := strings.LastIndex(path, "/vendor/"); i >= 0 {
		path = path[i+len("/vendor/"):]
	}
	return path
}

// isType reports whether t is, or points to, the named type path.name.
func isType(t types.Type, path string, names ...string) bool {
	n := named(t)
	return n != nil && pathOf(n.Obj()) == path && slices.Contains(names, n.Obj().Name())
}

// isError reports whether t is an error.
func isError(t types.Type) bool {
	iface, ok := types.Universe.Lookup("error").Type().Underlying().(*types.Interface)
	return ok && t != nil && types.Implements(t, iface)
}

// isPublicError reports whether t is *fault.Error, whose text is meant for the caller.
func isPublicError(t types.Type) bool { return isType(t, chainPath+"/fault", "Error") }

// callee returns the function or method that call calls, nil if that is not known.
func callee(pass *analysis.Pass, call *ast.CallExpr) *types.Func {
	f, _ := typeutil.Callee(pass.TypesInfo, call).(*types.Func)
	if f != nil {
		f = f.Origin()
	}
	return f
}

// isMethod reports whether f is the method with that name of the type path.typ.
func isMethod(f *types.Func, path, typ string, names ...string) bool {
	if f == nil || !slices.Contains(names, f.Name()) {
		return false
	}
	recv := f.Signature().Recv()
	return recv != nil && isType(recv.Type(), path, typ)
}

// isFunc reports whether f is a function, not a method, with one of these names.
func isFunc(f *types.Func, path string, names ...string) bool {
	return f != nil && f.Signature().Recv() == nil && pathOf(f) == path && slices.Contains(names, f.Name())
}

// inChain reports whether f stands in this library.
func inChain(f *types.Func) bool {
	path := pathOf(f)
	return path == chainPath || strings.HasPrefix(path, chainPath+"/")
}

// text returns the constant string that e is.
func text(pass *analysis.Pass, e ast.Expr) (string, bool) {
	v := pass.TypesInfo.Types[e].Value
	if v == nil || v.Kind() != constant.String {
		return "", false
	}
	return constant.StringVal(v), true
}

// field returns the value of a field in a literal with keys, nil if it is not set.
func field(lit *ast.CompositeLit, name string) ast.Expr {
	for _, e := range lit.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			if key, ok := kv.Key.(*ast.Ident); ok && key.Name == name {
				return kv.Value
			}
		}
	}
	return nil
}

// object returns what an identifier or the last part of a selector names.
func object(pass *analysis.Pass, e ast.Expr) types.Object {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		return pass.TypesInfo.ObjectOf(e)
	case *ast.SelectorExpr:
		return pass.TypesInfo.ObjectOf(e.Sel)
	}
	return nil
}

// source returns the text of a node as it stands in its file.
func source(pass *analysis.Pass, n ast.Node) ([]byte, bool) {
	file := pass.Fset.File(n.Pos())
	content, err := pass.ReadFile(file.Name())
	if err != nil {
		return nil, false
	}
	from, to := file.Offset(n.Pos()), file.Offset(n.End())
	if from < 0 || to > len(content) || from > to {
		return nil, false
	}
	return content[from:to], true
}

// assigned returns the value of the last assignment to obj before pos, which is the call if
// obj gets one of its several results. It returns nil if there is no assignment.
func assigned(pass *analysis.Pass, body ast.Node, obj types.Object, pos token.Pos) ast.Expr {
	var value ast.Expr
	ast.Inspect(body, func(n ast.Node) bool {
		if n == nil || n.Pos() >= pos {
			return false
		}
		var names, values []ast.Expr
		switch n := n.(type) {
		case *ast.AssignStmt:
			if n.End() > pos {
				return true
			}
			names, values = n.Lhs, n.Rhs
		case *ast.ValueSpec:
			for _, name := range n.Names {
				names = append(names, name)
			}
			values = n.Values
		default:
			return true
		}
		for i, name := range names {
			if id, ok := name.(*ast.Ident); !ok || pass.TypesInfo.ObjectOf(id) != obj {
				continue
			}
			switch {
			case len(values) == len(names):
				value = values[i]
			case len(values) == 1:
				value = values[0]
			}
		}
		return true
	})
	return value
}

// enclosing returns the innermost function around a cursor, nil at package level.
func enclosing(c inspector.Cursor) ast.Node {
	for f := range c.Enclosing((*ast.FuncDecl)(nil), (*ast.FuncLit)(nil)) {
		return f.Node()
	}
	return nil
}

// called returns what call calls: a function, a builtin, a variable or a type.
func called(pass *analysis.Pass, call *ast.CallExpr) types.Object {
	return typeutil.Callee(pass.TypesInfo, call)
}
