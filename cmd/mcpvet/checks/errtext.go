package checks

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/inspect"
	"golang.org/x/tools/go/ast/inspector"
)

// ErrText reports texts of errors that are put into the content of a tool's result.
var ErrText = &analysis.Analyzer{
	Name: "errtext",
	Doc: `report texts of errors in the content of a CallToolResult

A text in the content is the tool's own, and no middleware can mask it. A typed handler
returns the error, others hand it to CallToolResult.SetError. The check looks at packages
that import the mask, themselves or by others: without it nothing would be masked. Errors
that are worded by the function they come from (errors.New, or fmt.Errorf without another
error) or that come from parsers of texts (strconv, time, encoding/json ...) are not
reported, and neither is *fault.Error, whose text is public. A helper that makes a result
of a text or of an error is reported once in a package, at the first call that shows such
an error.`,
	URL:       url("errtext"),
	Requires:  []*analysis.Analyzer{inspect.Analyzer, handlers},
	FactTypes: []analysis.Fact{(*showsFact)(nil), (*wordedFact)(nil)},
	Run:       runErrText,
}

// parses has the packages whose errors quote their input, which is mostly an argument of the
// call.
var parses = map[string]bool{
	"encoding/base64": true, "encoding/hex": true, "encoding/json": true, "net/netip": true, "net/url": true,
	"regexp": true, "strconv": true, "time": true,
	"github.com/go-playground/validator/v10": true, "github.com/go-viper/mapstructure/v2": true, "github.com/mitchellh/mapstructure": true,
}

// A showsFact says which parameters of a function, texts or errors, become content of the
// result that the function returns.
type showsFact struct{ Params []int }

func (*showsFact) AFact()           {}
func (f *showsFact) String() string { return "shows" }

// A wordedFact says that a function chooses the words of all errors that it returns.
type wordedFact struct{}

func (*wordedFact) AFact()         {}
func (*wordedFact) String() string { return "worded" }

func runErrText(pass *analysis.Pass) (any, error) {
	exportWorded(pass)
	exportShows(pass)
	if !importsMask(pass.Pkg, map[*types.Package]bool{}) {
		return nil, nil //nolint:nilnil // the analyzer has no result
	}
	of := map[ast.Node]*handler{}
	for _, h := range handlersOf(pass) {
		of[h.node] = h
	}
	helpers := map[*types.Func][]ast.Expr{} // the texts that are shown by each
	nodes(pass, func(c inspector.Cursor) {
		switch n := c.Node().(type) {
		case *ast.CompositeLit:
			if shown := contentText(pass, n); shown != nil && inToolResult(pass, c) {
				report(pass, c, shown, of[enclosing(c)])
			}
		case *ast.CallExpr:
			f := callee(pass, n)
			for _, i := range shownBy(pass, f) {
				if i < len(n.Args) && leakIn(pass, enclosing(c), n.Args[i]) != nil {
					helpers[f] = append(helpers[f], n.Args[i])
				}
			}
		}
	}, (*ast.CompositeLit)(nil), (*ast.CallExpr)(nil))
	for f, texts := range helpers {
		what := "the text of this error becomes"
		if len(texts) > 1 {
			what = fmt.Sprintf("the texts of this error and of %d more become", len(texts)-1)
		}
		pass.Report(analysis.Diagnostic{
			Pos: texts[0].Pos(), End: texts[0].End(),
			Message: what + " content by " + f.Name() + ", which no middleware can mask; let " + f.Name() + " take the error, and use CallToolResult.SetError",
		})
	}
	return nil, nil //nolint:nilnil // the analyzer has no result
}

// importsMask reports whether a package or one that it imports uses the mask, alone or in a chain. Where none
// stands, the text of an error is as good as the error.
func importsMask(p *types.Package, seen map[*types.Package]bool) bool {
	if seen[p] {
		return false
	}
	seen[p] = true
	return p.Path() == chainPath || p.Path() == chainPath+"/mask" ||
		slices.ContainsFunc(p.Imports(), func(p *types.Package) bool { return importsMask(p, seen) })
}

// shownBy returns which parameters of a function become content.
func shownBy(pass *analysis.Pass, f *types.Func) []int {
	var fact showsFact
	if f != nil {
		pass.ImportObjectFact(f, &fact)
	}
	return fact.Params
}

// contentText returns the text of a literal of mcp.TextContent.
func contentText(pass *analysis.Pass, lit *ast.CompositeLit) ast.Expr {
	if !isType(pass.TypesInfo.TypeOf(lit), mcpPath, "TextContent") {
		return nil
	}
	return field(lit, "Text")
}

// inToolResult reports whether a literal stands inside one of a CallToolResult.
func inToolResult(pass *analysis.Pass, c inspector.Cursor) bool {
	for outer := range c.Parent().Enclosing((*ast.CompositeLit)(nil), (*ast.FuncLit)(nil)) {
		lit, ok := outer.Node().(*ast.CompositeLit)
		if !ok {
			return false
		}
		if isType(pass.TypesInfo.TypeOf(lit), mcpPath, "CallToolResult") {
			return true
		}
	}
	return false
}

// report reports a text that stands in a result, in a handler h or, if h is nil, in another function.
func report(pass *analysis.Pass, c inspector.Cursor, shown ast.Expr, h *handler) {
	leak := errorIn(pass, enclosing(c), shown)
	if leak == nil {
		return
	}
	d := analysis.Diagnostic{
		Pos: shown.Pos(), End: shown.End(),
		Message: "the text of this error becomes content, which no middleware can mask; ",
	}
	switch {
	case h == nil:
		d.Message += "use CallToolResult.SetError"
	case h.typed:
		d.Message += "return the error"
		d.SuggestedFixes = returnError(pass, c, shown, leak)
	default:
		d.Message += "use CallToolResult.SetError: where no mask stands, an error that a raw handler returns hides its text from the model"
	}
	pass.Report(d)
}

// leakIn returns the error whose text a helper is given: the error itself, or a text of it.
func leakIn(pass *analysis.Pass, f ast.Node, given ast.Expr) ast.Expr {
	if leak := leaking(pass, f, given); leak != nil {
		return leak
	}
	return errorIn(pass, f, given)
}

// errorIn returns the error whose text is part of a text: err.Error() or err itself, alone,
// in a concatenation or in a call of fmt.Sprint, Sprintf or Sprintln.
func errorIn(pass *analysis.Pass, f ast.Node, shown ast.Expr) ast.Expr {
	switch e := ast.Unparen(shown).(type) {
	case *ast.BinaryExpr:
		if e.Op != token.ADD {
			return nil
		}
		if leak := errorIn(pass, f, e.X); leak != nil {
			return leak
		}
		return errorIn(pass, f, e.Y)
	case *ast.CallExpr:
		if sel, ok := ast.Unparen(e.Fun).(*ast.SelectorExpr); ok && sel.Sel.Name == "Error" && len(e.Args) == 0 {
			return leaking(pass, f, sel.X)
		}
		if !isFunc(callee(pass, e), "fmt", "Sprint", "Sprintf", "Sprintln") {
			return nil
		}
		for _, arg := range e.Args {
			if leak := leaking(pass, f, arg); leak != nil {
				return leak
			}
			if leak := errorIn(pass, f, arg); leak != nil {
				return leak
			}
		}
	}
	return nil
}

// leaking returns e if it is an error whose words were not chosen for the caller.
func leaking(pass *analysis.Pass, f ast.Node, e ast.Expr) ast.Expr {
	t := pass.TypesInfo.TypeOf(e)
	if !isError(t) || isPublicError(t) || f == nil || isWorded(pass, f, e) || isOwnType(pass, t) || isParameter(pass, f, e) {
		return nil
	}
	return e
}

// isParameter reports whether e is what the function is called with, so that each of its calls is looked at.
func isParameter(pass *analysis.Pass, f ast.Node, e ast.Expr) bool {
	v, isVar := object(pass, e).(*types.Var)
	sig, ok := signatureOf(pass, f)
	return isVar && ok && slices.Contains(slices.Collect(sig.Params().Variables()), v)
}

// isOwnType reports whether an error has a concrete type of this package, which chooses its
// words.
func isOwnType(pass *analysis.Pass, t types.Type) bool {
	n := named(t)
	return n != nil && n.Obj().Pkg() == pass.Pkg && !types.IsInterface(n)
}

// isWorded reports whether the words of an error were chosen on purpose, judged by its last
// assignment.
func isWorded(pass *analysis.Pass, f ast.Node, e ast.Expr) bool {
	switch e := ast.Unparen(e).(type) {
	case *ast.CallExpr:
		called := callee(pass, e)
		switch {
		case called == nil:
			return true // a variable that holds a function: nobody knows which
		case isFunc(called, "errors", "New"):
			return true
		case isFunc(called, "fmt", "Errorf"):
			for _, arg := range e.Args {
				if isError(pass.TypesInfo.TypeOf(arg)) && !isWorded(pass, f, arg) {
					return false
				}
				if errorIn(pass, f, arg) != nil {
					return false
				}
			}
			return true
		}
		return isPublicError(pass.TypesInfo.TypeOf(e)) || parses[pathOf(called)] || pass.ImportObjectFact(called, &wordedFact{})
	case *ast.Ident:
		obj := pass.TypesInfo.ObjectOf(e)
		if isNil(pass, e) {
			return true
		}
		if obj == nil || obj.Parent() == obj.Pkg().Scope() {
			return obj != nil // a package's own sentinel
		}
		if value := assigned(pass, f, obj, e.Pos()); value != nil {
			return isWorded(pass, f, value)
		}
		return false
	case *ast.SelectorExpr:
		v, ok := pass.TypesInfo.ObjectOf(e.Sel).(*types.Var)
		return ok && !v.IsField() // another package's sentinel
	case *ast.CompositeLit, *ast.UnaryExpr:
		if lit := literal(e); lit != nil && isOwnType(pass, pass.TypesInfo.TypeOf(e)) {
			return !slices.ContainsFunc(lit.Elts, func(part ast.Expr) bool {
				if kv, ok := part.(*ast.KeyValueExpr); ok {
					part = kv.Value
				}
				return isError(pass.TypesInfo.TypeOf(part)) && !isWorded(pass, f, part) || errorIn(pass, f, part) != nil
			})
		}
	}
	return isPublicError(pass.TypesInfo.TypeOf(e))
}

// exportWorded finds the functions that word every error they return. Each round may find
// callers of those that the last one found.
func exportWorded(pass *analysis.Pass) {
	for changed := true; changed; {
		changed = false
		eachFunc(pass, func(decl *ast.FuncDecl, f *types.Func) {
			results := f.Signature().Results()
			if results.Len() == 0 || !isError(results.At(results.Len()-1).Type()) || pass.ImportObjectFact(f, &wordedFact{}) {
				return
			}
			if returnsOnlyWorded(pass, decl, decl.Body, results.At(results.Len()-1)) {
				pass.ExportObjectFact(f, &wordedFact{})
				changed = true
			}
		})
	}
}

// returnsOnlyWorded reports whether a function has a return, and all of its errors are
// worded.
func returnsOnlyWorded(pass *analysis.Pass, f ast.Node, body *ast.BlockStmt, result *types.Var) bool {
	worded, returns := true, false
	ast.Inspect(body, func(n ast.Node) bool {
		if _, inner := n.(*ast.FuncLit); inner {
			return false
		}
		if ret, ok := n.(*ast.ReturnStmt); ok {
			returns = true
			worded = worded && returnsWorded(pass, f, ret, result)
		}
		return true
	})
	return worded && returns
}

// returnsWorded reports whether a return gives a worded error, or the named result is one.
func returnsWorded(pass *analysis.Pass, f ast.Node, ret *ast.ReturnStmt, result *types.Var) bool {
	if n := len(ret.Results); n > 0 {
		return isWorded(pass, f, ret.Results[n-1])
	}
	value := assigned(pass, f, result, ret.Pos())
	return value == nil || isWorded(pass, f, value)
}

// exportShows finds the helpers that make a result of a text they are given.
func exportShows(pass *analysis.Pass) {
	for changed := true; changed; {
		changed = false
		eachFunc(pass, func(decl *ast.FuncDecl, f *types.Func) {
			sig := f.Signature()
			if sig.Results().Len() == 0 || !isType(sig.Results().At(0).Type(), mcpPath, "CallToolResult") || pass.ImportObjectFact(f, &showsFact{}) {
				return
			}
			var fact showsFact
			for i := range sig.Params().Len() {
				p := sig.Params().At(i)
				basic, ok := types.Unalias(p.Type()).(*types.Basic)
				if (ok && basic.Kind() == types.String || types.IsInterface(p.Type()) && isError(p.Type())) && shownIn(pass, decl.Body, p) {
					fact.Params = append(fact.Params, i)
				}
			}
			if fact.Params != nil {
				pass.ExportObjectFact(f, &fact)
				changed = true
			}
		})
	}
}

// shownIn reports whether a parameter is part of a text of content, or is passed to a
// helper that shows it.
func shownIn(pass *analysis.Pass, body *ast.BlockStmt, p *types.Var) bool {
	found := false
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.CompositeLit:
			found = found || partOf(pass, contentText(pass, n), p)
		case *ast.CallExpr:
			for _, i := range shownBy(pass, callee(pass, n)) {
				found = found || i < len(n.Args) && partOf(pass, n.Args[i], p)
			}
		}
		return !found
	})
	return found
}

// partOf reports whether a variable is a text, or a part of it that is concatenated. The text of an error is
// a part of the error.
func partOf(pass *analysis.Pass, shown ast.Expr, p *types.Var) bool {
	switch e := ast.Unparen(shown).(type) {
	case *ast.Ident:
		return pass.TypesInfo.ObjectOf(e) == p
	case *ast.BinaryExpr:
		return partOf(pass, e.X, p) || partOf(pass, e.Y, p)
	case *ast.CallExpr:
		if sel, ok := ast.Unparen(e.Fun).(*ast.SelectorExpr); ok && sel.Sel.Name == "Error" && len(e.Args) == 0 {
			return partOf(pass, sel.X, p)
		}
		if isFunc(callee(pass, e), "fmt", "Sprint", "Sprintf", "Sprintln") {
			return slices.ContainsFunc(e.Args, func(arg ast.Expr) bool { return partOf(pass, arg, p) })
		}
	}
	return false
}

// eachFunc visits the functions of a package that have a body.
func eachFunc(pass *analysis.Pass, visit func(*ast.FuncDecl, *types.Func)) {
	for _, file := range pass.Files {
		for _, d := range file.Decls {
			if decl, ok := d.(*ast.FuncDecl); ok && decl.Body != nil {
				if f, ok := pass.TypesInfo.Defs[decl.Name].(*types.Func); ok {
					visit(decl, f)
				}
			}
		}
	}
}

// returnError turns `return &mcp.CallToolResult{IsError: true, Content: one text}, out, nil`
// of a typed handler into `return nil, out, err`, from which the SDK makes the same result.
func returnError(pass *analysis.Pass, c inspector.Cursor, shown, leak ast.Expr) []analysis.SuggestedFix {
	call, ok := ast.Unparen(shown).(*ast.CallExpr)
	if !ok || len(call.Args) > 0 { // the error's own text, and nothing else
		return nil
	}
	text, ok := source(pass, leak)
	if !ok {
		return nil
	}
	for r := range c.Enclosing((*ast.ReturnStmt)(nil)) {
		ret, ok := r.Node().(*ast.ReturnStmt)
		if !ok || len(ret.Results) != 3 || !isNil(pass, ret.Results[2]) {
			return nil
		}
		ref, ok := ast.Unparen(ret.Results[0]).(*ast.UnaryExpr)
		if !ok {
			return nil
		}
		result, ok := ref.X.(*ast.CompositeLit)
		if !ok || len(result.Elts) != 2 || !isTrue(pass, field(result, "IsError")) {
			return nil
		}
		if content, ok := field(result, "Content").(*ast.CompositeLit); !ok || len(content.Elts) != 1 {
			return nil
		}
		return []analysis.SuggestedFix{{Message: "Return the error", TextEdits: []analysis.TextEdit{
			edit(ret.Results[0].Pos(), ret.Results[0].End(), "nil"),
			edit(ret.Results[2].Pos(), ret.Results[2].End(), string(text)),
		}}}
	}
	return nil
}

// isTrue reports whether e is the constant true.
func isTrue(pass *analysis.Pass, e ast.Expr) bool {
	v := pass.TypesInfo.Types[e].Value
	return v != nil && v.String() == "true"
}
