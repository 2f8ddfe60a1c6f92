package checks

import (
	"go/ast"
	"go/constant"
	"slices"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/inspect"
	"golang.org/x/tools/go/ast/inspector"
)

// ReservedCode reports error codes that JSON-RPC keeps for itself and for MCP.
var ReservedCode = &analysis.Analyzer{
	Name: "reservedcode",
	Doc: `report reserved codes in literals of jsonrpc.Error

JSON-RPC reserves -32768 to -32000, and MCP allows no application code there. A client may
take such a code for one that the protocol defines later. Codes that JSON-RPC or MCP
define are not reported.`,
	URL:      url("reservedcode"),
	Requires: []*analysis.Analyzer{inspect.Analyzer},
	Run:      runReservedCode,
}

// definedCodes are those that JSON-RPC and the revisions of MCP define.
var definedCodes = []int64{-32700, -32600, -32601, -32602, -32603, -32002, -32020, -32021, -32022, -32042}

func runReservedCode(pass *analysis.Pass) (any, error) {
	report := func(e ast.Expr) {
		v := pass.TypesInfo.Types[e].Value
		if v == nil || v.Kind() != constant.Int {
			return
		}
		if code, exact := constant.Int64Val(v); exact && code >= -32768 && code <= -32000 && !slices.Contains(definedCodes, code) {
			pass.Report(analysis.Diagnostic{
				Pos: e.Pos(), End: e.End(),
				Message: "code " + v.String() + " is reserved by JSON-RPC: use a defined code or a positive one",
			})
		}
	}
	nodes(pass, func(c inspector.Cursor) {
		switch n := c.Node().(type) {
		case *ast.CompositeLit:
			if !isWireError(pass, n) {
				return
			}
			if code := field(n, "Code"); code != nil {
				report(code)
			} else if len(n.Elts) > 0 {
				if _, keyed := n.Elts[0].(*ast.KeyValueExpr); !keyed {
					report(n.Elts[0])
				}
			}
		case *ast.AssignStmt:
			for i, name := range n.Lhs {
				sel, ok := name.(*ast.SelectorExpr)
				if ok && len(n.Lhs) == len(n.Rhs) && sel.Sel.Name == "Code" && isWireError(pass, sel.X) {
					report(n.Rhs[i])
				}
			}
		}
	}, (*ast.CompositeLit)(nil), (*ast.AssignStmt)(nil))
	return nil, nil //nolint:nilnil // the analyzer has no result
}

// isWireError reports whether e is a jsonrpc.Error, an alias of an internal type.
func isWireError(pass *analysis.Pass, e ast.Expr) bool {
	t := pass.TypesInfo.TypeOf(e)
	return isType(t, sdkPath+"internal/jsonrpc2", "WireError") || isType(t, sdkPath+"jsonrpc", "Error")
}
