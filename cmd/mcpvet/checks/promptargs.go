package checks

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strconv"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/inspect"
	"golang.org/x/tools/go/ast/inspector"
)

// PromptArgs reports required arguments of prompts that nobody checks.
var PromptArgs = &analysis.Analyzer{
	Name: "promptargs",
	Doc: `report required arguments of prompts that nobody checks

The SDK runs a prompt's handler although a required argument is missing, so that the model
reads a text with a hole. Reported is an argument of a literal mcp.Prompt that the handler
beside it puts into a text as it is. Return an error where it is empty, or set
validate.Options.StrictPrompts. Handlers that pass their request or its arguments on are not
looked at.`,
	URL:      url("promptargs"),
	Requires: []*analysis.Analyzer{inspect.Analyzer},
	Run:      runPromptArgs,
}

func runPromptArgs(pass *analysis.Pass) (any, error) {
	in, ok := pass.ResultOf[inspect.Analyzer].(*inspector.Inspector)
	if !ok || strictPrompts(pass) {
		return nil, nil //nolint:nilnil // the analyzer has no result
	}
	bodies := map[types.Object]ast.Node{}
	eachFunc(pass, func(decl *ast.FuncDecl, f *types.Func) { bodies[f] = decl })
	reported := map[*ast.IndexExpr]bool{} // one handler may serve several prompts
	nodes(pass, func(c inspector.Cursor) {
		// A prompt and its handler stand side by side: in a call of AddPrompt, or of a
		// helper, or in a literal.
		var beside []ast.Expr
		switch n := c.Node().(type) {
		case *ast.CallExpr:
			beside = n.Args
		case *ast.CompositeLit:
			for _, e := range n.Elts {
				if kv, ok := e.(*ast.KeyValueExpr); ok {
					e = kv.Value
				}
				beside = append(beside, e)
			}
		}
		var required []ast.Expr
		var handler ast.Node
		for _, e := range beside {
			if isType(pass.TypesInfo.TypeOf(e), mcpPath, "Prompt") {
				required = requiredArgs(pass, promptLiteral(pass, c, e))
			} else if f := promptHandler(pass, e, bodies); f != nil {
				handler = f
			}
		}
		if len(required) == 0 || handler == nil {
			return
		}
		if at, ok := in.Root().FindNode(handler); ok {
			reportPromptArgs(pass, at, required, reported)
		}
	}, (*ast.CallExpr)(nil), (*ast.CompositeLit)(nil))
	return nil, nil //nolint:nilnil // the analyzer has no result
}

// strictPrompts reports whether the package sets validate.Options.StrictPrompts.
func strictPrompts(pass *analysis.Pass) bool {
	found := false
	nodes(pass, func(c inspector.Cursor) {
		if id, ok := c.Node().(*ast.Ident); ok && id.Name == "StrictPrompts" {
			v, ok := pass.TypesInfo.Uses[id].(*types.Var)
			found = found || ok && v.IsField() && pathOf(v) == chainPath+"/validate"
		}
	}, (*ast.Ident)(nil))
	return found
}

// promptLiteral returns the literal of a prompt, nil if it is not known or is changed after
// it was made.
func promptLiteral(pass *analysis.Pass, c inspector.Cursor, e ast.Expr) *ast.CompositeLit {
	if lit := literal(e); lit != nil {
		return lit
	}
	if lit, changed := heldLiteral(pass, enclosing(c), e); !changed {
		return lit
	}
	return nil
}

// requiredArgs returns the names of the arguments that a prompt requires, as they stand in
// its literal.
func requiredArgs(pass *analysis.Pass, prompt *ast.CompositeLit) []ast.Expr {
	if prompt == nil {
		return nil
	}
	list, ok := field(prompt, "Arguments").(*ast.CompositeLit)
	if !ok {
		return nil
	}
	var names []ast.Expr
	for _, e := range list.Elts {
		arg := literal(e)
		if arg == nil || field(arg, "Required") == nil || field(arg, "Name") == nil {
			continue
		}
		if v := pass.TypesInfo.Types[field(arg, "Required")].Value; v != nil && v.Kind() == constant.Bool && constant.BoolVal(v) {
			names = append(names, field(arg, "Name"))
		}
	}
	return names
}

// promptHandler returns the function that e is, if it handles prompts and stands in this
// package.
func promptHandler(pass *analysis.Pass, e ast.Expr, bodies map[types.Object]ast.Node) ast.Node {
	sig, ok := types.Unalias(pass.TypesInfo.TypeOf(e)).Underlying().(*types.Signature)
	if !ok {
		return nil
	}
	if h := handlerOf(sig, nil, nil); h == nil || h.result != "GetPromptResult" {
		return nil
	}
	if lit, ok := ast.Unparen(e).(*ast.FuncLit); ok {
		return lit
	}
	if f, ok := object(pass, e).(*types.Func); ok {
		return bodies[f.Origin()]
	}
	return nil
}

// reportPromptArgs reports the required arguments that a handler uses for nothing but texts.
func reportPromptArgs(pass *analysis.Pass, handler inspector.Cursor, required []ast.Expr, reported map[*ast.IndexExpr]bool) {
	var params *ast.FieldList
	switch f := handler.Node().(type) {
	case *ast.FuncLit:
		params = f.Type.Params
	case *ast.FuncDecl:
		params = f.Type.Params
	}
	last := params.List[len(params.List)-1]
	if len(last.Names) == 0 {
		return
	}
	request := pass.TypesInfo.Defs[last.Names[len(last.Names)-1]]
	if request == nil {
		return // it is not looked at
	}
	reads, ok := argumentReads(pass, handler, request)
	if !ok || slices.ContainsFunc(reads, func(read inspector.Cursor) bool { return anyKey(pass, read, required) }) {
		return
	}
	for _, name := range required {
		var first *ast.IndexExpr
		unchecked := true
		for _, read := range reads {
			index, ok := read.Node().(*ast.IndexExpr)
			if !ok || !sameKey(pass, index.Index, name) {
				continue
			}
			if first == nil {
				first = index
			}
			unchecked = unchecked && becomesText(pass, handler, read)
		}
		if first == nil || !unchecked || reported[first] {
			continue
		}
		reported[first] = true
		what := "this required argument"
		if key, ok := text(pass, name); ok {
			what = "the required argument " + strconv.Quote(key)
		}
		pass.Report(analysis.Diagnostic{
			Pos: first.Pos(), End: first.End(),
			Message: what + " is not checked: the handler runs without it; return an error if it is empty, or set validate.Options.StrictPrompts",
		})
	}
}

// argumentReads returns where a handler reads an argument of its request. It returns false
// if the handler passes the arguments on, so that they may be checked elsewhere.
func argumentReads(pass *analysis.Pass, handler inspector.Cursor, request types.Object) (reads []inspector.Cursor, ok bool) {
	maps := []types.Object{}
	for c := range handler.Preorder((*ast.Ident)(nil)) {
		id, _ := c.Node().(*ast.Ident)
		if pass.TypesInfo.Uses[id] != request {
			continue
		}
		// request.Params.Arguments, or another part of the request.
		part := c.Parent()
		sel, ok := part.Node().(*ast.SelectorExpr)
		if !ok {
			return nil, false
		}
		if sel.Sel.Name != "Params" {
			continue
		}
		part = part.Parent()
		if sel, ok = part.Node().(*ast.SelectorExpr); !ok {
			return nil, false
		}
		if sel.Sel.Name != "Arguments" {
			continue
		}
		switch n := part.Parent().Node().(type) {
		case *ast.IndexExpr:
			reads = append(reads, part.Parent())
		case *ast.AssignStmt:
			if len(n.Lhs) != 1 || n.Tok != token.DEFINE {
				return nil, false
			}
			maps = append(maps, object(pass, n.Lhs[0]))
		default:
			return nil, false
		}
	}
	for c := range handler.Preorder((*ast.Ident)(nil)) {
		id, _ := c.Node().(*ast.Ident)
		for _, m := range maps {
			if pass.TypesInfo.Uses[id] != m {
				continue
			}
			if index, ok := c.Parent().Node().(*ast.IndexExpr); !ok || index.X != id {
				return nil, false
			}
			reads = append(reads, c.Parent())
		}
	}
	return reads, true
}

// anyKey reports whether a read may read any argument: its key is neither a constant nor a
// variable that names a required one.
func anyKey(pass *analysis.Pass, read inspector.Cursor, required []ast.Expr) bool {
	index, ok := read.Node().(*ast.IndexExpr)
	if !ok {
		return true
	}
	if _, constant := text(pass, index.Index); constant {
		return false
	}
	return !slices.ContainsFunc(required, func(name ast.Expr) bool { return sameKey(pass, index.Index, name) })
}

// sameKey reports whether two keys are the same constant or the same variable.
func sameKey(pass *analysis.Pass, a, b ast.Expr) bool {
	if a, ok := text(pass, a); ok {
		b, same := text(pass, b)
		return same && a == b
	}
	obj := object(pass, a)
	return obj != nil && obj == object(pass, b)
}

// becomesText reports whether the value of an expression is used for nothing but texts: it
// is joined, formatted or the text of a content, itself or by way of a variable.
func becomesText(pass *analysis.Pass, handler inspector.Cursor, value inspector.Cursor) bool {
	switch n := value.Parent().Node().(type) {
	case *ast.ParenExpr:
		return becomesText(pass, handler, value.Parent())
	case *ast.BinaryExpr:
		return n.Op == token.ADD
	case *ast.KeyValueExpr:
		lit, ok := value.Parent().Parent().Node().(*ast.CompositeLit)
		return ok && isType(pass.TypesInfo.TypeOf(lit), mcpPath, "TextContent", "GetPromptResult")
	case *ast.CallExpr:
		f := callee(pass, n)
		if isFunc(f, "fmt", "Sprint", "Sprintf", "Sprintln", "Fprint", "Fprintf", "Fprintln", "Append", "Appendf", "Appendln") ||
			isMethod(f, "strings", "Builder", "WriteString") {
			return true
		}
		if isFunc(f, "strings", "TrimSpace", "ToLower", "ToUpper", "Replace", "ReplaceAll") {
			return becomesText(pass, handler, value.Parent())
		}
	case *ast.AssignStmt:
		if len(n.Lhs) != 1 || n.Tok != token.DEFINE {
			return false // with "ok", or over another value
		}
		return onlyText(pass, handler, object(pass, n.Lhs[0]))
	}
	return false
}

// onlyText reports whether a variable is used, and for nothing but texts.
func onlyText(pass *analysis.Pass, handler inspector.Cursor, held types.Object) bool {
	used := false
	for c := range handler.Preorder((*ast.Ident)(nil)) {
		id, _ := c.Node().(*ast.Ident)
		if pass.TypesInfo.Uses[id] != held {
			continue
		}
		used = true
		if !becomesText(pass, handler, c) {
			return false
		}
	}
	return used
}
