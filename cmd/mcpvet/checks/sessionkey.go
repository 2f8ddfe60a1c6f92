package checks

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/inspect"
	"golang.org/x/tools/go/ast/inspector"
)

// SessionKey reports keys that are made of the ID of a session.
var SessionKey = &analysis.Analyzer{
	Name: "sessionkey",
	Doc: `report keys made of session IDs

The ID of a session is empty over stdio and on a stateless server, so that all callers
share one key, and a client that connects again has another. Use the user of the token
(RequestExtra.TokenInfo), or a handle that the caller is given. Reported are indexes of
maps, keys of sync.Map, and arguments for a parameter whose name ends in "key". A function
that looks whether the ID is empty knows what it does, and is not reported.`,
	URL:      url("sessionkey"),
	Requires: []*analysis.Analyzer{inspect.Analyzer},
	Run:      runSessionKey,
}

func runSessionKey(pass *analysis.Pass) (any, error) {
	check := func(c inspector.Cursor, e ast.Expr) {
		if holdsID(pass, enclosing(c), e, true) {
			pass.Report(analysis.Diagnostic{
				Pos: e.Pos(), End: e.End(),
				Message: "this key is made of a session's ID, which is empty over stdio and on stateless servers, and changes when a client connects again",
			})
		}
	}
	nodes(pass, func(c inspector.Cursor) {
		switch n := c.Node().(type) {
		case *ast.IndexExpr:
			if t := pass.TypesInfo.TypeOf(n.X); t != nil {
				if _, ok := t.Underlying().(*types.Map); ok {
					check(c, n.Index)
				}
			}
		case *ast.CallExpr:
			f := callee(pass, n)
			if f == nil {
				return
			}
			for i, arg := range n.Args {
				if i < f.Signature().Params().Len() && strings.HasSuffix(strings.ToLower(f.Signature().Params().At(i).Name()), "key") &&
					!logs(f) && pathOf(f) != "log/slog" {
					check(c, arg)
				}
			}
		}
	}, (*ast.IndexExpr)(nil), (*ast.CallExpr)(nil))
	return nil, nil //nolint:nilnil // the analyzer has no result
}

// holdsID reports whether a key is the ID of a session, a text that contains it, or a
// variable to which one was last assigned.
func holdsID(pass *analysis.Pass, f ast.Node, e ast.Expr, follow bool) bool {
	switch e := ast.Unparen(e).(type) {
	case *ast.BinaryExpr:
		return e.Op == token.ADD && (holdsID(pass, f, e.X, follow) || holdsID(pass, f, e.Y, follow))
	case *ast.Ident:
		obj, ok := pass.TypesInfo.ObjectOf(e).(*types.Var)
		if !follow || !ok || f == nil {
			return false
		}
		value := assigned(pass, f, obj, e.Pos())
		return value != nil && holdsID(pass, f, value, false) && !comparesEmpty(pass, f, obj)
	case *ast.CallExpr:
		called := callee(pass, e)
		if isMethod(called, mcpPath, "ServerSession", "ID") {
			return true
		}
		// The interface of both kinds of sessions has no ID of the SDK's own; a conversion keeps it.
		if !pass.TypesInfo.Types[e.Fun].IsType() && !isFunc(called, "fmt", "Sprint", "Sprintf") {
			return false
		}
		for _, arg := range e.Args {
			if holdsID(pass, f, arg, follow) {
				return true
			}
		}
	}
	return false
}

// comparesEmpty reports whether a function compares a variable with the empty text.
func comparesEmpty(pass *analysis.Pass, f ast.Node, obj types.Object) bool {
	found := false
	ast.Inspect(f, func(n ast.Node) bool {
		if b, ok := n.(*ast.BinaryExpr); ok && (b.Op == token.EQL || b.Op == token.NEQ) && object(pass, b.X) == obj {
			empty, ok := text(pass, b.Y)
			found = found || ok && empty == ""
		}
		return !found
	})
	return found
}
