package checks

import (
	"go/ast"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/inspect"
)

// Goroutine reports goroutines of handlers whose panic would end the process.
var Goroutine = &analysis.Analyzer{
	Name: "goroutine",
	Doc: `report goroutines that a handler starts without a recovery

No middleware can recover a panic in another goroutine: it ends the process and with it
every session. Use mcprecover.Go. Goroutines that only wait, send, receive, close or call
package sync are not reported, and neither are functions of other packages.`,
	URL:      url("goroutine"),
	Requires: []*analysis.Analyzer{inspect.Analyzer, handlers},
	Run:      runGoroutine,
}

func runGoroutine(pass *analysis.Pass) (any, error) {
	bodies := map[types.Object]*ast.BlockStmt{}
	eachFunc(pass, func(decl *ast.FuncDecl, f *types.Func) { bodies[f] = decl.Body })
	all := handlersOf(pass)
	for _, h := range all {
		h.walk(all, func(n ast.Node) bool {
			started := startedBy(pass, n)
			if started == nil {
				return true
			}
			var body *ast.BlockStmt
			if lit, ok := ast.Unparen(started).(*ast.FuncLit); ok {
				body = lit.Body
			} else if f, ok := object(pass, started).(*types.Func); ok {
				body = bodies[f.Origin()]
			}
			if body != nil && !recovers(pass, body, bodies) && canPanic(pass, body) {
				pass.Report(analysis.Diagnostic{
					Pos: n.Pos(), End: started.Pos(),
					Message: "a panic in this goroutine ends the process: no middleware can recover it; start it with mcprecover.Go",
				})
			}
			return true
		})
	}
	return nil, nil //nolint:nilnil // the analyzer has no result
}

// startedBy returns the function that a node runs in a goroutine, nil if it starts none.
func startedBy(pass *analysis.Pass, n ast.Node) ast.Expr {
	switch n := n.(type) {
	case *ast.GoStmt:
		return n.Call.Fun
	case *ast.CallExpr:
		f := callee(pass, n)
		if len(n.Args) == 1 && (isMethod(f, "sync", "WaitGroup", "Go") || isMethod(f, "golang.org/x/sync/errgroup", "Group", "Go")) {
			return n.Args[0]
		}
	}
	return nil
}

// recovers reports whether a body defers something that may recover: a function with a
// call of recover, or one of another package.
func recovers(pass *analysis.Pass, body *ast.BlockStmt, bodies map[types.Object]*ast.BlockStmt) bool {
	found := false
	ast.Inspect(body, func(n ast.Node) bool {
		d, ok := n.(*ast.DeferStmt)
		if !ok {
			return !found
		}
		if lit, ok := d.Call.Fun.(*ast.FuncLit); ok {
			found = found || callsRecover(pass, lit.Body)
			return !found
		}
		if f := callee(pass, d.Call); f != nil && !harmless(pass, d.Call) {
			own, known := bodies[f]
			found = found || !known || callsRecover(pass, own)
		}
		return !found
	})
	return found
}

func callsRecover(pass *analysis.Pass, body *ast.BlockStmt) bool {
	found := false
	ast.Inspect(body, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			b, ok := object(pass, call.Fun).(*types.Builtin)
			found = found || ok && b.Name() == "recover"
		}
		return !found
	})
	return found
}

// canPanic reports whether a body does more than wait, send, receive and close.
func canPanic(pass *analysis.Pass, body *ast.BlockStmt) bool {
	found := false
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			found = found || !harmless(pass, n)
		case *ast.IndexExpr, *ast.SliceExpr, *ast.StarExpr:
			found = true
		case *ast.BinaryExpr:
			found = found || n.Op == token.QUO || n.Op == token.REM
		}
		return !found
	})
	return found
}

// harmless reports whether a call is one of sync, context, time or a builtin that a
// goroutine ends with, or cancels a context.
func harmless(pass *analysis.Pass, call *ast.CallExpr) bool {
	if isType(pass.TypesInfo.TypeOf(call.Fun), "context", "CancelFunc", "CancelCauseFunc") {
		return true
	}
	switch f := called(pass, call).(type) {
	case *types.Builtin:
		return f.Name() != "panic"
	case *types.Func:
		switch pathOf(f) {
		case "sync", "sync/atomic", "context", "time":
			return true
		}
		return isMethod(f, "golang.org/x/sync/errgroup", "Group", "Wait")
	}
	return pass.TypesInfo.Types[call.Fun].IsType()
}
