package checks

import (
	"go/ast"
	"strconv"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/inspect"
)

// NilResult reports raw handlers that return neither a result nor an error.
var NilResult = &analysis.Analyzer{
	Name: "nilresult",
	Doc: `report "return nil, nil" in a raw handler of tools, prompts, resources or completions

The SDK sends the nil result as it is, which clients refuse or fail on. A typed tool
handler may return a nil result.`,
	URL:      url("nilresult"),
	Requires: []*analysis.Analyzer{inspect.Analyzer, handlers},
	Run:      runNilResult,
}

func runNilResult(pass *analysis.Pass) (any, error) {
	for _, h := range handlersOf(pass) {
		if h.typed {
			continue
		}
		ast.Inspect(h.body, func(n ast.Node) bool {
			if _, inner := n.(*ast.FuncLit); inner {
				return false
			}
			ret, ok := n.(*ast.ReturnStmt)
			if !ok || len(ret.Results) != 2 || !isNil(pass, ret.Results[0]) || !isNil(pass, ret.Results[1]) {
				return true
			}
			d := analysis.Diagnostic{
				Pos: ret.Pos(), End: ret.End(),
				Message: "this handler returns neither a result nor an error; return an empty *mcp." + h.result + ", or an error",
			}
			// For a resource the absent text may mean "not found", which is an error.
			if name := importName(pass, ret, mcpPath); name != "" && h.result != "ReadResourceResult" {
				d.SuggestedFixes = []analysis.SuggestedFix{{
					Message:   "Return an empty result",
					TextEdits: []analysis.TextEdit{edit(ret.Results[0].Pos(), ret.Results[0].End(), "&"+name+"."+h.result+"{}")},
				}}
			}
			pass.Report(d)
			return true
		})
	}
	return nil, nil //nolint:nilnil // the analyzer has no result
}

func isNil(pass *analysis.Pass, e ast.Expr) bool { return pass.TypesInfo.Types[e].IsNil() }

// importName returns what the file of a node calls the package with that path, empty if
// it is not imported by a name.
func importName(pass *analysis.Pass, n ast.Node, path string) string {
	for _, file := range pass.Files {
		if n.Pos() < file.FileStart || n.Pos() > file.FileEnd {
			continue
		}
		for _, spec := range file.Imports {
			if p, err := strconv.Unquote(spec.Path.Value); err != nil || p != path {
				continue
			}
			if name := pass.TypesInfo.PkgNameOf(spec); name != nil && name.Name() != "." && name.Name() != "_" {
				return name.Name()
			}
		}
	}
	return ""
}
