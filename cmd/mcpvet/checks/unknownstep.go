package checks

import (
	"go/ast"
	"strconv"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/inspect"
	"golang.org/x/tools/go/ast/inspector"
)

// UnknownStep reports recovery steps that name a tool which the package does not register.
var UnknownStep = &analysis.Analyzer{
	Name: "unknownstep",
	Doc: `report steps of a fault to tools that the package does not register

A model that follows such a step calls a tool that is not there. Only packages that
register tools, all of them under constant names, are looked at.`,
	URL:      url("unknownstep"),
	Requires: []*analysis.Analyzer{inspect.Analyzer},
	Run:      runUnknownStep,
}

func runUnknownStep(pass *analysis.Pass) (any, error) {
	tools := map[string]bool{}
	for _, t := range registered(pass) {
		if t.name == "" {
			return nil, nil //nolint:nilnil // some tool's name is not known
		}
		tools[t.name] = true
	}
	if len(tools) == 0 {
		return nil, nil //nolint:nilnil // the tools are somewhere else
	}
	check := func(e ast.Expr) {
		name, ok := text(pass, e)
		if !ok || name == "" || tools[name] {
			return
		}
		d := analysis.Diagnostic{
			Pos: e.Pos(), End: e.End(),
			Message: "this package registers no tool " + strconv.Quote(name),
		}
		if near := sameLetters(tools, name); near != "" {
			d.Message += "; it has " + strconv.Quote(near)
			d.SuggestedFixes = []analysis.SuggestedFix{{
				Message: "Name " + near, TextEdits: []analysis.TextEdit{edit(e.Pos(), e.End(), strconv.Quote(near))},
			}}
		}
		pass.Report(d)
	}
	nodes(pass, func(c inspector.Cursor) {
		switch n := c.Node().(type) {
		case *ast.CallExpr:
			if isMethod(callee(pass, n), chainPath+"/fault", "Error", "Step") && len(n.Args) == 3 {
				check(n.Args[1])
			}
		case *ast.CompositeLit:
			if isType(pass.TypesInfo.TypeOf(n), chainPath+"/fault", "Step", "Option") {
				check(field(n, "Tool"))
			}
		}
	}, (*ast.CallExpr)(nil), (*ast.CompositeLit)(nil))
	return nil, nil //nolint:nilnil // the analyzer has no result
}

// sameLetters returns the one tool whose name differs from name in case and separators
// only.
func sameLetters(tools map[string]bool, name string) string {
	letters := func(s string) string {
		return strings.NewReplacer("_", "", "-", "", ".", "").Replace(strings.ToLower(s))
	}
	found := ""
	for t := range tools {
		if letters(t) != letters(name) {
			continue
		}
		if found != "" {
			return ""
		}
		found = t
	}
	return found
}
