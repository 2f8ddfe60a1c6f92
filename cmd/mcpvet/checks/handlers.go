package checks

import (
	"go/ast"
	"go/types"
	"reflect"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/inspect"
	"golang.org/x/tools/go/ast/inspector"
)

// A handler is a function that answers a request.
type handler struct {
	node   ast.Node // *ast.FuncDecl or *ast.FuncLit
	body   *ast.BlockStmt
	sig    *types.Signature
	result string // the name of its result's type: CallToolResult, GetPromptResult ...
	typed  bool   // a typed tool handler: it also has an input and an output
}

// handlers finds the handlers of a package, for other checks.
var handlers = &analysis.Analyzer{
	Name:       "mcphandlers",
	Doc:        "find the handlers of MCP requests",
	Requires:   []*analysis.Analyzer{inspect.Analyzer},
	ResultType: reflect.TypeFor[[]*handler](),
	Run:        findHandlers,
}

func findHandlers(pass *analysis.Pass) (any, error) {
	values := usedAsValues(pass)
	var all []*handler
	nodes(pass, func(c inspector.Cursor) {
		var h *handler
		switch n := c.Node().(type) {
		case *ast.FuncLit:
			if call, ok := c.Parent().Node().(*ast.CallExpr); ok && call.Fun == n {
				return // called at once
			}
			if sig, ok := pass.TypesInfo.TypeOf(n).(*types.Signature); ok {
				h = handlerOf(sig, n, n.Body)
			}
		case *ast.FuncDecl:
			f, ok := pass.TypesInfo.Defs[n.Name].(*types.Func)
			// A helper may have the signature of a handler, but a handler is used as a
			// value, not called.
			if ok && n.Body != nil && values[f] {
				h = handlerOf(f.Signature(), n, n.Body)
			}
		}
		if h != nil {
			all = append(all, h)
		}
	}, (*ast.FuncLit)(nil), (*ast.FuncDecl)(nil))
	return all, nil
}

// usedAsValues returns the functions that the package names without calling them there.
func usedAsValues(pass *analysis.Pass) map[types.Object]bool {
	values := map[types.Object]bool{}
	nodes(pass, func(c inspector.Cursor) {
		id, ok := c.Node().(*ast.Ident)
		if !ok {
			return
		}
		f, ok := pass.TypesInfo.Uses[id].(*types.Func)
		if !ok {
			return
		}
		if sel, ok := c.Parent().Node().(*ast.SelectorExpr); ok && sel.Sel == id {
			c = c.Parent()
		}
		if call, ok := c.Parent().Node().(*ast.CallExpr); ok && call.Fun == c.Node() {
			return
		}
		values[f.Origin()] = true
	}, (*ast.Ident)(nil))
	return values
}

// handlerOf returns the handler with that signature, nil if it is none of the SDK's:
//
//	func(context.Context, *mcp.XRequest) (*mcp.XResult, error)
//	func(context.Context, *mcp.CallToolRequest, In) (*mcp.CallToolResult, Out, error)
func handlerOf(sig *types.Signature, node ast.Node, body *ast.BlockStmt) *handler {
	params, results := sig.Params(), sig.Results()
	typed := params.Len() == 3 && results.Len() == 3
	if !typed && (params.Len() != 2 || results.Len() != 2) {
		return nil
	}
	request, result := named(params.At(1).Type()), named(results.At(0).Type())
	if !isType(params.At(0).Type(), "context", "Context") || request == nil || pathOf(request.Obj()) != mcpPath {
		return nil
	}
	if !isType(result, mcpPath, "CallToolResult") &&
		(typed || !isType(result, mcpPath, "GetPromptResult", "ReadResourceResult", "CompleteResult")) {
		return nil
	}
	return &handler{node: node, body: body, sig: sig, result: result.Obj().Name(), typed: typed}
}

// handlersOf returns what [handlers] found.
func handlersOf(pass *analysis.Pass) []*handler {
	all, _ := pass.ResultOf[handlers].([]*handler)
	return all
}

// walk visits what h itself runs, including functions inside it, but not other handlers.
func (h *handler) walk(others []*handler, visit func(ast.Node) bool) {
	ast.Inspect(h.body, func(n ast.Node) bool {
		for _, o := range others {
			if n != nil && n == o.node {
				return false
			}
		}
		return n != nil && visit(n)
	})
}
