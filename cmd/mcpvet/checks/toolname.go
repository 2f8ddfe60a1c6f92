package checks

import (
	"go/ast"
	"strconv"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/inspect"
	"golang.org/x/tools/go/ast/inspector"
)

// ToolName reports names of tools that clients refuse.
var ToolName = &analysis.Analyzer{
	Name: "toolname",
	Doc: `report names of tools that clients refuse

The SDK and the protocol allow dots and 128 letters, and the SDK only logs what they forbid.
Clients hand the names to models whose interfaces take 64 of A-Z, a-z, 0-9, _ and -: a client
leaves such a tool out, or fails with all of them. Looked at are constant names in literals
of mcp.Tool.`,
	URL:      url("toolname"),
	Requires: []*analysis.Analyzer{inspect.Analyzer},
	Run:      runToolName,
}

// mostOfName is how long a name may be for the strictest interface of a model.
const mostOfName = 64

func runToolName(pass *analysis.Pass) (any, error) {
	nodes(pass, func(c inspector.Cursor) {
		lit, ok := c.Node().(*ast.CompositeLit)
		if !ok || !isType(pass.TypesInfo.TypeOf(lit), mcpPath, "Tool") || field(lit, "Name") == nil {
			return
		}
		e := field(lit, "Name")
		name, constant := text(pass, e)
		if !constant {
			return
		}
		what := ""
		switch bad := strings.TrimLeft(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"); {
		case name == "":
			what = "is empty"
		case bad != "":
			what = "has " + strconv.Quote(string([]rune(bad)[:1]))
		case len(name) > mostOfName:
			what = "has " + strconv.Itoa(len(name)) + " letters"
		default:
			return
		}
		pass.Report(analysis.Diagnostic{
			Pos: e.Pos(), End: e.End(),
			Message: "the name of this tool " + what + ", and clients refuse it: use 1 to 64 of A-Z, a-z, 0-9, _ and -",
		})
	}, (*ast.CompositeLit)(nil))
	return nil, nil //nolint:nilnil // the analyzer has no result
}
