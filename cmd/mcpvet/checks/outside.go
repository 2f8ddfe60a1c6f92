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
	Doc: `report middlewares that stand outside of mcpchain.Standard, mask.New or validate.New

AddReceivingMiddleware puts the middlewares of a later call outside those of earlier
calls, and the first of one call outside the others. What stands outside of the masking
middleware sends its errors and panics to the caller as they are. What stands outside of
the explaining one and hides names in lists, or puts something into arguments, hides them
in vain: callers are told near names and corrected arguments.`,
	URL:      url("outside"),
	Requires: []*analysis.Analyzer{inspect.Analyzer},
	Run:      runOutside,
}

// An addition is one call of AddReceivingMiddleware, directly or in a function of the
// package that gets the server.
type addition struct {
	cursor inspector.Cursor
	call   *ast.CallExpr
	server types.Object
	layers []layer // outermost first
	inner  bool    // in a function that is called here
}

// A layer is a middleware of an addition.
type layer struct {
	made  ast.Expr
	arg   int // the argument that it stands in
	role  role
	hides bool // a middleware of the program's, see [hides]
}

type role uint8

const (
	theirs   role = iota // the program's own
	neutral              // of this library
	explains             // and says which names are near, and which arguments are right
	masks                // and hides errors, too
)

// guard returns the strongest role among the layers, and the index of the first layer with it.
func (a *addition) guard() (at int, found role) {
	at = -1
	for i, l := range a.layers {
		if l.role > found {
			at, found = i, l.role
		}
	}
	return at, found
}

func runOutside(pass *analysis.Pass) (any, error) {
	bodies := map[*types.Func]*ast.FuncDecl{}
	eachFunc(pass, func(decl *ast.FuncDecl, f *types.Func) { bodies[f] = decl })
	byFunc := map[ast.Node][]addition{}
	nodes(pass, func(c inspector.Cursor) {
		call, ok := c.Node().(*ast.CallExpr)
		if !ok {
			return
		}
		a := addition{cursor: c, call: call}
		if a.server, ok = addsTo(pass, call); ok {
			a.layers = layersOf(pass, bodies, enclosing(c), call)
			reportBefore(pass, a)
		} else {
			a.inner = true
			a.server, a.layers = addedBy(pass, bodies, call)
		}
		if f := enclosing(c); f != nil && a.server != nil && len(a.layers) > 0 {
			byFunc[f] = append(byFunc[f], a)
		}
	}, (*ast.CallExpr)(nil))
	for _, added := range byFunc {
		reportLater(pass, added)
	}
	return nil, nil //nolint:nilnil // the analyzer has no result
}

// addsTo reports whether call is one of AddReceivingMiddleware, and of which server, if that is known.
func addsTo(pass *analysis.Pass, call *ast.CallExpr) (server types.Object, ok bool) {
	if !isMethod(callee(pass, call), mcpPath, "Server", "AddReceivingMiddleware") || call.Ellipsis.IsValid() {
		return nil, false
	}
	if sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr); ok {
		return object(pass, sel.X), true
	}
	return nil, true
}

// addedBy returns what a function of the package adds to the server that it is called with.
func addedBy(pass *analysis.Pass, bodies map[*types.Func]*ast.FuncDecl, call *ast.CallExpr) (server types.Object, layers []layer) {
	f := callee(pass, call)
	if f == nil || bodies[f] == nil || f.Signature().Variadic() || f.Signature().Params().Len() != len(call.Args) {
		return nil, nil
	}
	for i, arg := range call.Args {
		param := f.Signature().Params().At(i)
		if !isType(param.Type(), mcpPath, "Server") {
			continue
		}
		ast.Inspect(bodies[f].Body, func(n ast.Node) bool {
			if inside, ok := n.(*ast.CallExpr); ok {
				if to, ok := addsTo(pass, inside); ok && to == param {
					layers = append(layersOf(pass, bodies, bodies[f], inside), layers...)
				}
			}
			return true
		})
		return object(pass, arg), layers
	}
	return nil, nil
}

// layersOf returns the middlewares that a call adds.
func layersOf(pass *analysis.Pass, bodies map[*types.Func]*ast.FuncDecl, f ast.Node, call *ast.CallExpr) (layers []layer) {
	for i, arg := range call.Args {
		flatten(pass, f, arg, func(e ast.Expr, is role) {
			layers = append(layers, layer{made: e, arg: i, role: is, hides: is == theirs && hides(pass, bodies, f, e)})
		})
	}
	return layers
}

// flatten calls visit for each middleware that e is made of, outermost first.
func flatten(pass *analysis.Pass, f ast.Node, e ast.Expr, visit func(ast.Expr, role)) {
	call, ok := madeBy(pass, f, e)
	if !ok {
		visit(e, theirs)
		return
	}
	const middlewarePath = chainPath + "/middleware"
	maker := callee(pass, call)
	switch {
	case isFunc(maker, chainPath, "Standard"), isFunc(maker, chainPath+"/mask", "New"):
		visit(e, masks)
	case isFunc(maker, chainPath+"/validate", "New"):
		visit(e, explains)
	case isFunc(maker, chainPath, "Chain"), isFunc(maker, middlewarePath, "Chain"):
		for _, arg := range call.Args {
			flatten(pass, f, arg, visit)
		}
	case isFunc(maker, middlewarePath, "ForMethods", "ForTools", "When") && len(call.Args) > 0:
		flatten(pass, f, call.Args[0], visit)
	case inChain(maker):
		visit(e, neutral)
	default:
		visit(e, theirs)
	}
}

// madeBy returns the call that makes a middleware: e itself, or the value last assigned to
// the variable e in the function f.
func madeBy(pass *analysis.Pass, f ast.Node, e ast.Expr) (*ast.CallExpr, bool) {
	call, ok := ast.Unparen(valueOf(pass, f, e)).(*ast.CallExpr)
	return call, ok
}

// valueOf returns the value last assigned to e, if that is a variable of the function f, and else e.
func valueOf(pass *analysis.Pass, f ast.Node, e ast.Expr) ast.Expr {
	if id, ok := ast.Unparen(e).(*ast.Ident); ok && f != nil {
		if obj, ok := object(pass, id).(*types.Var); ok {
			if value := assigned(pass, f, obj, e.Pos()); value != nil {
				return value
			}
		}
	}
	return e
}

// hides reports whether a middleware of the package changes what a list names or what a tool is
// called with: its code names the result of a list, or assigns arguments.
func hides(pass *analysis.Pass, bodies map[*types.Func]*ast.FuncDecl, f ast.Node, e ast.Expr) (found bool) {
	var body ast.Node
	switch e := ast.Unparen(valueOf(pass, f, e)).(type) {
	case *ast.FuncLit:
		body = e
	case *ast.CallExpr:
		if decl := bodies[callee(pass, e)]; decl != nil {
			body = decl
		}
	default:
		if made, ok := object(pass, e).(*types.Func); ok && bodies[made] != nil {
			body = bodies[made]
		}
	}
	if body == nil {
		return false
	}
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, to := range n.Lhs {
				if sel, ok := ast.Unparen(to).(*ast.SelectorExpr); ok && sel.Sel.Name == "Arguments" && isType(pass.TypesInfo.TypeOf(sel.X), mcpPath, "CallToolParamsRaw") {
					found = true
				}
			}
		case *ast.SelectorExpr:
			if named, ok := pass.TypesInfo.ObjectOf(n.Sel).(*types.TypeName); ok &&
				isType(named.Type(), mcpPath, "ListToolsResult", "ListPromptsResult", "ListResourcesResult", "ListResourceTemplatesResult") {
				found = true
			}
		}
		return !found
	})
	return found
}

// What a finding says of a middleware that stands outside.
const (
	leaks = "its errors and panics reach the caller"
	shows = "the names that it hides, and what it puts into arguments, can be told to the caller"
)

// wrong says what is wrong with a layer that stands outside of a guard, "" for nothing.
func wrong(l layer, guard role) string {
	switch {
	case l.role != theirs:
		return ""
	case guard == masks && l.hides:
		return leaks + ", and " + shows
	case guard == masks:
		return leaks
	case guard == explains && l.hides:
		return shows
	default:
		return ""
	}
}

// reportBefore reports what stands before the guarding middleware in one call. Around the explaining one any
// of this library guards, because the outermost one asks for the names.
func reportBefore(pass *analysis.Pass, a addition) {
	at, guard := a.guard()
	if at < 0 {
		return
	}
	what := "masking"
	if guard != masks {
		what = "explaining"
	}
	var outside []layer
	for _, l := range a.layers[:at] {
		if l.role != theirs && guard != masks {
			break
		}
		if wrong(l, guard) != "" {
			outside = append(outside, l)
		}
	}
	for _, l := range outside {
		d := analysis.Diagnostic{
			Pos: l.made.Pos(), End: l.made.End(),
			Message: "this middleware stands outside of the " + what + " one: " + wrong(l, guard) + "; put it after",
		}
		// With one misplaced neighbour, an exchange of two arguments is the whole repair.
		if next := a.layers[at]; len(outside) == 1 && a.layers[at-1] == l && next.arg == l.arg+1 && l.made == a.call.Args[l.arg] && next.made == a.call.Args[next.arg] {
			d.SuggestedFixes = exchange(pass, "Put it after the "+what+" middleware", l.made, next.made)
		}
		pass.Report(d)
	}
}

// reportLater reports calls on the same server that follow the one with the guard.
func reportLater(pass *analysis.Pass, added []addition) {
	reported := map[ast.Node]bool{}
	for i, first := range added {
		_, guard := first.guard()
		if guard < explains {
			continue
		}
		block := first.cursor.Parent().Parent().Node()
		for j, later := range added[i+1:] {
			if _, again := later.guard(); later.server != first.server || again >= guard || !within(later.call, block) {
				continue
			}
			for _, l := range later.layers {
				reason, at := wrong(l, guard), ast.Node(l.made)
				if later.inner {
					at = later.call
				}
				if reason == "" || reported[at] {
					continue
				}
				reported[at] = true
				d := analysis.Diagnostic{
					Pos: at.Pos(), End: at.End(),
					Message: "a later call stands outside of earlier ones, and so does this middleware: " + reason + "; add it before, or give it to mcpchain.Standard",
				}
				if j == 0 && !first.inner && !later.inner && neighbours(first.cursor, later.cursor) {
					d.SuggestedFixes = exchange(pass, "Add the guarding middleware last", first.call, later.call)
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
