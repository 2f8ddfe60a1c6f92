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
every session. Use mcprecover.Go. Goroutines that only wait, send, receive, close, make
errors and texts, or call package sync are not reported, and neither are functions of other
packages.`,
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
			if body != nil && !recovers(pass, body, bodies) && (panics{pass, bodies, map[ast.Node]bool{}}).in(body) {
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

// panics finds what may panic in the code of a package.
type panics struct {
	pass   *analysis.Pass
	bodies map[types.Object]*ast.BlockStmt
	seen   map[ast.Node]bool // a function that calls itself
}

// in reports whether a body does more than wait, send, receive, close and make values.
func (p panics) in(body *ast.BlockStmt) bool {
	if p.seen[body] {
		return false
	}
	p.seen[body] = true
	found := false
	written := map[ast.Expr]bool{}
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, to := range n.Lhs {
				written[ast.Unparen(to)] = true
			}
		case *ast.IncDecStmt:
			written[ast.Unparen(n.X)] = true
		case *ast.CallExpr:
			found = found || p.call(n)
		case *ast.IndexExpr:
			found = found || p.index(n, written[n])
		case *ast.SliceExpr:
			found = true
		case *ast.StarExpr:
			found = found || !p.pass.TypesInfo.Types[n].IsType()
		case *ast.BinaryExpr:
			found = found || (n.Op == token.QUO || n.Op == token.REM) && p.divides(n)
		}
		return !found
	})
	return found
}

// index reports whether an index may be out of range, or a map that is written to be nil.
func (p panics) index(n *ast.IndexExpr, written bool) bool {
	of := p.pass.TypesInfo.Types[n.X]
	if of.IsType() || of.Type == nil {
		return false
	}
	t := of.Type.Underlying()
	switch t.(type) {
	case *types.Signature: // it is instantiated
		return false
	case *types.Map:
		return written
	case *types.Array:
		return p.pass.TypesInfo.Types[n.Index].Value == nil // the compiler checks a constant
	default: // a pointer to an array may be nil
		return true
	}
}

// divides reports whether a division may be one by the integer zero.
func (p panics) divides(n *ast.BinaryExpr) bool {
	basic, ok := p.pass.TypesInfo.TypeOf(n).Underlying().(*types.Basic)
	return (!ok || basic.Info()&types.IsInteger != 0) && p.pass.TypesInfo.Types[n.Y].Value == nil
}

// call reports whether a call may panic.
func (p panics) call(call *ast.CallExpr) bool {
	if harmless(p.pass, call) {
		return false
	}
	if lit, ok := ast.Unparen(call.Fun).(*ast.FuncLit); ok {
		return p.in(lit.Body)
	}
	body := p.bodies[callee(p.pass, call)]
	return body == nil || p.in(body)
}

// harmless reports whether a call counts as one that does not panic: the cancel function of
// a context, a function of sync, context or time, a builtin but panic, a conversion, or one
// that makes an error or a text, because package fmt recovers from panics of the methods
// that it calls.
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
		return isFunc(f, "errors", "New", "Join") || isFunc(f, "fmt", "Errorf", "Sprint", "Sprintf", "Sprintln") ||
			isMethod(f, "golang.org/x/sync/errgroup", "Group", "Wait")
	}
	return pass.TypesInfo.Types[call.Fun].IsType()
}
