package checks

import (
	"go/ast"
	"go/types"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/inspect"
	"golang.org/x/tools/go/ast/inspector"
)

// ArgsLog reports arguments of calls that are written to a log.
var ArgsLog = &analysis.Analyzer{
	Name: "argslog",
	Doc: `report arguments of a call that are logged as a whole

Arguments hold what users and models wrote, credentials included. Log the fields that are
needed. Reported are params.Arguments, the params, and the input of a typed handler, in
calls of log and log/slog.`,
	URL:      url("argslog"),
	Requires: []*analysis.Analyzer{inspect.Analyzer, handlers},
	Run:      runArgsLog,
}

func runArgsLog(pass *analysis.Pass) (any, error) {
	inputs := map[types.Object]bool{}
	for _, h := range handlersOf(pass) {
		if in := h.input(); in != nil && holdsAnything(in.Type()) {
			inputs[in] = true
		}
	}
	nodes(pass, func(c inspector.Cursor) {
		call, ok := c.Node().(*ast.CallExpr)
		if !ok || !logs(callee(pass, call)) {
			return
		}
		for _, arg := range call.Args {
			if found := argumentsIn(pass, arg, inputs); found != nil {
				pass.Report(analysis.Diagnostic{
					Pos: found.Pos(), End: found.End(),
					Message: "the arguments of the call are logged, with whatever credentials they hold; log the fields that are needed",
				})
				return // one record is one finding
			}
		}
	}, (*ast.CallExpr)(nil))
	return nil, nil //nolint:nilnil // the analyzer has no result
}

// holdsAnything reports whether values of a type have content: an empty struct has none.
func holdsAnything(t types.Type) bool {
	if p, ok := t.Underlying().(*types.Pointer); ok {
		t = p.Elem()
	}
	s, ok := t.Underlying().(*types.Struct)
	return !ok || s.NumFields() > 0
}

// logs reports whether f writes a record of package log or log/slog.
func logs(f *types.Func) bool {
	if f == nil || f.Pkg() == nil {
		return false
	}
	switch f.Pkg().Path() {
	case "log":
		switch f.Name() {
		case "Print", "Printf", "Println", "Fatal", "Fatalf", "Fatalln", "Panic", "Panicf", "Panicln", "Output":
			return true
		}
	case "log/slog":
		switch f.Name() {
		case "Debug", "DebugContext", "Info", "InfoContext", "Warn", "WarnContext", "Error", "ErrorContext", "Log", "LogAttrs", "With":
			return true
		}
	}
	return false
}

// argumentsIn returns the arguments of a call that a logged value contains. It looks into
// conversions, the functions of slog that make attributes, and those of fmt that make
// texts.
func argumentsIn(pass *analysis.Pass, e ast.Expr, inputs map[types.Object]bool) ast.Expr {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		if inputs[pass.TypesInfo.ObjectOf(e)] {
			return e
		}
	case *ast.UnaryExpr:
		return argumentsIn(pass, e.X, inputs)
	case *ast.StarExpr:
		return argumentsIn(pass, e.X, inputs)
	case *ast.SelectorExpr:
		if isParams(pass.TypesInfo.TypeOf(e)) || e.Sel.Name == "Arguments" && isParams(pass.TypesInfo.TypeOf(e.X)) {
			return e
		}
	case *ast.CallExpr:
		conversion := pass.TypesInfo.Types[e.Fun].IsType()
		f := callee(pass, e)
		if !conversion && !isFunc(f, "fmt", "Sprint", "Sprintf", "Sprintln") && !isFunc(f, "log/slog", "Any", "String", "Group") {
			return nil
		}
		for _, arg := range e.Args {
			if found := argumentsIn(pass, arg, inputs); found != nil {
				return found
			}
		}
	}
	return nil
}

// isParams reports whether t has the arguments of a tool or prompt.
func isParams(t types.Type) bool {
	return isType(t, mcpPath, "CallToolParams", "CallToolParamsRaw", "GetPromptParams")
}
