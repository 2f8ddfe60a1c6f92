package checks

import (
	"fmt"
	"go/ast"
	"go/types"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/inspect"
	"golang.org/x/tools/go/ast/inspector"
)

// RawError reports errors of raw tool handlers, which do not reach the model.
var RawError = &analysis.Analyzer{
	Name: "rawerror",
	Doc: `report errors that raw tool handlers return, and that the model never sees

The SDK makes a failed result of the error of a typed handler, and an error of JSON-RPC of
that of a raw one. That is for clients: many show the model nothing of it. Looked at are
the handlers of servers that do not use this library, which makes a failed result of it.`,
	URL:       url("rawerror"),
	Requires:  []*analysis.Analyzer{inspect.Analyzer, handlers},
	FactTypes: []analysis.Fact{(*rawFact)(nil)},
	Run:       runRawError,
}

// rawFact says that raw tool handlers of a package return errors.
type rawFact struct{ At found }

func (*rawFact) AFact() {}

func (f *rawFact) String() string { return fmt.Sprint("raw errors ", f.At.Count) }

const isHidden = "an error of JSON-RPC, which the model may never see: return a result on which SetError was called"

func runRawError(pass *analysis.Pass) (any, error) {
	var returns []ast.Node
	for _, h := range handlersOf(pass) {
		if h.result == "CallToolResult" && !h.typed {
			if first := firstError(pass, h); first != nil {
				returns = append(returns, first)
			}
		}
	}
	server := makesServer(pass)
	if server == nil {
		if len(returns) > 0 && pass.Pkg.Path() != mcpPath { // the SDK has handlers of its own
			pass.ExportPackageFact(&rawFact{foundAt(pass, returns)})
		}
		return nil, nil //nolint:nilnil // the analyzer has no result
	}
	if importsMask(pass.Pkg, map[*types.Package]bool{}) {
		return nil, nil //nolint:nilnil // the error becomes a result
	}
	for _, n := range returns {
		pass.Report(analysis.Diagnostic{Pos: n.Pos(), End: n.End(), Message: "this raw handler returns " + isHidden})
	}
	for _, other := range pass.AllPackageFacts() {
		if f, ok := other.Fact.(*rawFact); ok {
			pass.Report(analysis.Diagnostic{
				Pos: server.Pos(), End: server.End(),
				Message: fmt.Sprintf("raw handlers of package %s return (%s) %s", other.Package.Path(), f.At.places(), isHidden),
			})
		}
	}
	return nil, nil //nolint:nilnil // the analyzer has no result
}

// makesServer returns the first call of NewServer in a package, nil if there is none.
func makesServer(pass *analysis.Pass) (at ast.Node) {
	nodes(pass, func(c inspector.Cursor) {
		if call, ok := c.Node().(*ast.CallExpr); ok && at == nil && isFunc(callee(pass, call), mcpPath, "NewServer") {
			at = call
		}
	}, (*ast.CallExpr)(nil))
	return at
}

// firstError returns the first return of an error in a handler, nil if there is none. An error of JSON-RPC is meant
// as one, and one of another server was one already.
func firstError(pass *analysis.Pass, h *handler) (first ast.Node) {
	ast.Inspect(h.body, func(n ast.Node) bool {
		if _, inner := n.(*ast.FuncLit); inner || first != nil {
			return false
		}
		ret, ok := n.(*ast.ReturnStmt)
		if !ok || len(ret.Results) != 2 || !isNil(pass, ret.Results[0]) || isNil(pass, ret.Results[1]) {
			return true
		}
		e := ast.Unparen(ret.Results[1])
		if isWireError(pass, e) {
			return true
		}
		if id, ok := e.(*ast.Ident); ok {
			value := assigned(pass, h.body, pass.TypesInfo.ObjectOf(id), ret.Pos())
			if value == nil || isWireError(pass, value) {
				return true
			}
			if call, ok := ast.Unparen(value).(*ast.CallExpr); ok && isMethod(callee(pass, call), mcpPath, "ClientSession", "CallTool") {
				return true
			}
		}
		first = ret
		return false
	})
	return first
}
