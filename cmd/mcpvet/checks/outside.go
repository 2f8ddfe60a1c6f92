package checks

import (
	"go/ast"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/inspect"
	"golang.org/x/tools/go/ast/inspector"
)

// Outside reports middlewares that stand outside of the masking one.
var Outside = &analysis.Analyzer{
	Name: "outside",
	Doc: `report middlewares that stand outside of mcpchain.Standard or mask.New

AddReceivingMiddleware puts the middlewares of a later call outside those of earlier
calls, and the first of one call outside the others. What stands outside of the masking
middleware sends its errors and panics to the caller as they are.`,
	URL:      url("outside"),
	Requires: []*analysis.Analyzer{inspect.Analyzer},
	Run:      runOutside,
}

// An addition is one call of AddReceivingMiddleware.
type addition struct {
	cursor inspector.Cursor
	call   *ast.CallExpr
	server types.Object
	mask   int // the argument that masks, or -1
}

func runOutside(pass *analysis.Pass) (any, error) {
	byFunc := map[ast.Node][]addition{}
	nodes(pass, func(c inspector.Cursor) {
		call, ok := c.Node().(*ast.CallExpr)
		if !ok || !isMethod(callee(pass, call), mcpPath, "Server", "AddReceivingMiddleware") || call.Ellipsis.IsValid() {
			return
		}
		sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
		if !ok {
			return
		}
		a := addition{cursor: c, call: call, server: object(pass, sel.X), mask: -1}
		for i, arg := range call.Args {
			if masks(pass, enclosing(c), arg) {
				a.mask = i
			}
		}
		if a.mask > 0 {
			reportBefore(pass, a)
		}
		if f := enclosing(c); f != nil && a.server != nil {
			byFunc[f] = append(byFunc[f], a)
		}
	}, (*ast.CallExpr)(nil))
	for _, added := range byFunc {
		reportLater(pass, added)
	}
	return nil, nil //nolint:nilnil // the analyzer has no result
}

// masks reports whether a middleware is, or is a chain around, the masking one.
func masks(pass *analysis.Pass, f ast.Node, e ast.Expr) bool {
	call, ok := madeBy(pass, f, e)
	if !ok {
		return false
	}
	maker := callee(pass, call)
	switch {
	case isFunc(maker, chainPath, "Standard"), isFunc(maker, chainPath+"/mask", "New"):
		return true
	case isFunc(maker, chainPath, "Chain"), isFunc(maker, chainPath+"/middleware", "Chain"):
		for _, arg := range call.Args {
			if masks(pass, f, arg) {
				return true
			}
		}
	}
	return false
}

// ours reports whether a middleware comes from this library, whose packages stand
// outside of the masking one by design.
func ours(pass *analysis.Pass, f ast.Node, e ast.Expr) bool {
	call, ok := madeBy(pass, f, e)
	return ok && inChain(callee(pass, call))
}

// madeBy returns the call that makes a middleware: e itself, or the value last assigned to
// the variable e in the function f.
func madeBy(pass *analysis.Pass, f ast.Node, e ast.Expr) (*ast.CallExpr, bool) {
	if id, ok := ast.Unparen(e).(*ast.Ident); ok && f != nil {
		if obj, ok := object(pass, id).(*types.Var); ok {
			if value := assigned(pass, f, obj, e.Pos()); value != nil {
				e = value
			}
		}
	}
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	return call, ok
}

// reportBefore reports what stands before the masking middleware in one call.
func reportBefore(pass *analysis.Pass, a addition) {
	masking := a.call.Args[a.mask]
	var inside []ast.Expr
	for _, arg := range a.call.Args[:a.mask] {
		if !ours(pass, enclosing(a.cursor), arg) {
			inside = append(inside, arg)
		}
	}
	for _, arg := range inside {
		d := analysis.Diagnostic{
			Pos: arg.Pos(), End: arg.End(),
			Message: "this middleware stands outside of the masking one: its errors and panics reach the caller; put it after",
		}
		// With one misplaced neighbour, an exchange of two arguments is the whole repair.
		if len(inside) == 1 && a.mask > 0 && a.call.Args[a.mask-1] == arg {
			d.SuggestedFixes = exchange(pass, "Put it after the masking middleware", arg, masking)
		}
		pass.Report(d)
	}
}

// reportLater reports calls on the same server that follow the one with the mask.
func reportLater(pass *analysis.Pass, added []addition) {
	for i, masking := range added {
		if masking.mask < 0 {
			continue
		}
		block := masking.cursor.Parent().Parent().Node()
		for j, later := range added[i+1:] {
			if later.server != masking.server || later.mask >= 0 || !within(later.call, block) {
				continue
			}
			for _, arg := range later.call.Args {
				if ours(pass, enclosing(later.cursor), arg) {
					continue
				}
				d := analysis.Diagnostic{
					Pos: arg.Pos(), End: arg.End(),
					Message: "a later call stands outside of earlier ones: errors and panics of this middleware are not masked; add it before the masking one, or give it to mcpchain.Standard",
				}
				if j == 0 && neighbours(masking.cursor, later.cursor) {
					d.SuggestedFixes = exchange(pass, "Add the masking middleware last", masking.call, later.call)
				}
				pass.Report(d)
			}
		}
	}
}

// within reports whether n stands inside block, so that it runs only after what stands
// before it in the block.
func within(n, block ast.Node) bool {
	return block != nil && block.Pos() <= n.Pos() && n.End() <= block.End()
}

// neighbours reports whether two calls are statements that follow each other.
func neighbours(first, second inspector.Cursor) bool {
	next, ok := first.Parent().NextSibling()
	return ok && next == second.Parent()
}

// exchange swaps the texts of two nodes.
func exchange(pass *analysis.Pass, message string, a, b ast.Node) []analysis.SuggestedFix {
	textA, okA := source(pass, a)
	textB, okB := source(pass, b)
	if !okA || !okB {
		return nil
	}
	return []analysis.SuggestedFix{{Message: message, TextEdits: []analysis.TextEdit{
		edit(a.Pos(), a.End(), string(textB)), edit(b.Pos(), b.End(), string(textA)),
	}}}
}

// edit replaces what stands between two positions.
func edit(from, to token.Pos, text string) analysis.TextEdit {
	return analysis.TextEdit{Pos: from, End: to, NewText: []byte(text)}
}
