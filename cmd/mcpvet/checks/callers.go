package checks

import (
	"go/ast"
	"go/types"
	"reflect"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/inspect"
	"golang.org/x/tools/go/ast/inspector"
)

// callers finds what a package passes to the parameters of its own functions, for other
// checks.
var callers = &analysis.Analyzer{
	Name:       "mcpcallers",
	Doc:        "find what the functions of a package are called with",
	Requires:   []*analysis.Analyzer{inspect.Analyzer},
	ResultType: reflect.TypeFor[*handedOver](),
	Run:        findCallers,
}

type handedOver struct {
	values map[*types.Var][]handed
	asked  map[*types.Var]bool // a function that hands its parameter to itself
}

// A handed value is what one call gives to a parameter.
type handed struct {
	value ast.Expr
	in    ast.Node // the function that makes the call
}

func findCallers(pass *analysis.Pass) (any, error) {
	all := &handedOver{values: map[*types.Var][]handed{}, asked: map[*types.Var]bool{}}
	values := usedAsValues(pass)
	nodes(pass, func(c inspector.Cursor) {
		call, ok := c.Node().(*ast.CallExpr)
		if !ok {
			return
		}
		f := callee(pass, call)
		// All callers of a function are known only if it is not exported, not used as a
		// value, and not a method, which an interface may have.
		if f == nil || f.Pkg() != pass.Pkg || f.Exported() || values[f] || f.Signature().Recv() != nil || f.Signature().Variadic() {
			return
		}
		params := f.Signature().Params()
		if params.Len() != len(call.Args) {
			return // its arguments are the results of another call
		}
		for i, arg := range call.Args {
			all.values[params.At(i)] = append(all.values[params.At(i)], handed{arg, enclosing(c)})
		}
	}, (*ast.CallExpr)(nil))
	return all, nil
}

// each reports whether the package passes something to a parameter, and is returns true for
// every such value.
func (h *handedOver) each(obj types.Object, is func(value ast.Expr, in ast.Node) bool) bool {
	param, ok := obj.(*types.Var)
	if !ok || len(h.values[param]) == 0 {
		return false
	}
	if h.asked[param] {
		return true // the values from outside decide
	}
	h.asked[param] = true
	defer delete(h.asked, param)
	for _, v := range h.values[param] {
		if !is(v.value, v.in) {
			return false
		}
	}
	return true
}
