package checks

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// An effect is what the code of a handler does, as far as it can be seen.
type effect int

const (
	computes effect = iota // it computes, logs and waits
	reads                  // it reads something from outside, too
	unknown                // it calls unknown code
	writes                 // something in it writes
)

// effects finds the effects of functions of a package. It reads the bodies of functions of
// the same package, and judges others by their names.
type effects struct {
	pass   *analysis.Pass
	bodies map[types.Object]*ast.FuncDecl
	known  map[ast.Node]effect
}

func newEffects(pass *analysis.Pass) *effects {
	e := &effects{pass: pass, bodies: map[types.Object]*ast.FuncDecl{}, known: map[ast.Node]effect{}}
	eachFunc(pass, func(decl *ast.FuncDecl, f *types.Func) { e.bodies[f] = decl })
	return e
}

// ofHandler returns the effect of a tool's handler: a function, a literal, the result of a
// function of the package, or one of these wrapped by this library.
func (e *effects) ofHandler(handler ast.Expr) effect {
	switch h := ast.Unparen(handler).(type) {
	case *ast.FuncLit:
		return e.of(h, h.Body)
	case *ast.IndexExpr: // instantiated
		return e.ofHandler(h.X)
	case *ast.Ident, *ast.SelectorExpr:
		if f, ok := object(e.pass, h).(*types.Func); ok {
			return e.ofDecl(e.bodies[f.Origin()])
		}
	case *ast.CallExpr:
		f := callee(e.pass, h)
		if inChain(f) && len(h.Args) > 0 {
			return e.ofHandler(h.Args[0])
		}
		if decl := e.bodies[f]; decl != nil {
			return e.returned(decl)
		}
	}
	return unknown
}

// returned returns the effect of the handler that a function makes, if it has one return.
func (e *effects) returned(decl *ast.FuncDecl) effect {
	var made *ast.FuncLit
	returns := 0
	ast.Inspect(decl.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.ReturnStmt:
			returns++
			for _, result := range n.Results {
				if lit, ok := ast.Unparen(result).(*ast.FuncLit); ok {
					made = lit
				}
			}
		}
		return true
	})
	if returns != 1 || made == nil {
		return unknown
	}
	return e.ofHandler(made)
}

func (e *effects) ofDecl(decl *ast.FuncDecl) effect {
	if decl == nil {
		return unknown
	}
	return e.of(decl, decl.Body)
}

// of returns the effect of a function: the worst effect in its body.
func (e *effects) of(f ast.Node, body *ast.BlockStmt) effect {
	if known, ok := e.known[f]; ok {
		return known
	}
	e.known[f] = unknown // for a function that calls itself
	found := computes
	add := func(does effect) { found = max(found, does) }
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			add(e.call(f, n))
		case *ast.AssignStmt:
			if n.Tok != token.DEFINE {
				for _, to := range n.Lhs {
					add(e.assign(f, to))
				}
			}
		case *ast.IncDecStmt:
			add(e.assign(f, n.X))
		case *ast.SendStmt:
			add(unknown)
		}
		return true
	})
	e.known[f] = found
	return found
}

// assign returns the effect of writing to an expression: none if it belongs to the function.
func (e *effects) assign(f ast.Node, to ast.Expr) effect {
	indirect := false
	for {
		switch n := ast.Unparen(to).(type) {
		case *ast.Ident:
			v, ok := object(e.pass, n).(*types.Var)
			switch {
			case n.Name == "_":
				return computes
			case !ok || v.Pos() < f.Pos() || f.End() < v.Pos():
				return writes // a variable of the package, or of the function around this one
			case indirect && isReceiver(e.pass, f, v):
				return writes
			case indirect && !e.made(f, v):
				return unknown // other code may see what it points to
			default:
				return computes
			}
		case *ast.SelectorExpr:
			if _, isPackage := object(e.pass, n.X).(*types.PkgName); isPackage {
				return writes
			}
			indirect = indirect || isIndirect(e.pass.TypesInfo.TypeOf(n.X))
			to = n.X
		case *ast.IndexExpr:
			indirect = indirect || isIndirect(e.pass.TypesInfo.TypeOf(n.X))
			to = n.X
		case *ast.StarExpr:
			indirect = true
			to = n.X
		default:
			return unknown
		}
	}
}

func isIndirect(t types.Type) bool {
	if t == nil {
		return true
	}
	switch t.Underlying().(type) {
	case *types.Pointer, *types.Map, *types.Slice:
		return true
	}
	return false
}

func isReceiver(pass *analysis.Pass, f ast.Node, v *types.Var) bool {
	decl, ok := f.(*ast.FuncDecl)
	return ok && decl.Recv != nil && len(decl.Recv.List[0].Names) > 0 && pass.TypesInfo.ObjectOf(decl.Recv.List[0].Names[0]) == v
}

// made reports whether the function made the value of a variable: with a literal, make, new
// or append, or as a zero value. The parameters of a handler are made for the call.
func (e *effects) made(f ast.Node, v *types.Var) bool {
	if sig, ok := signatureOf(e.pass, f); ok && handlerOf(sig, nil, nil) != nil {
		for p := range sig.Params().Variables() {
			if p == v {
				return true
			}
		}
	}
	made := true
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for i, to := range n.Lhs {
				if id, ok := to.(*ast.Ident); ok && e.pass.TypesInfo.ObjectOf(id) == v {
					made = made && len(n.Lhs) == len(n.Rhs) && e.isNew(n.Rhs[i])
				}
			}
		case *ast.ValueSpec:
			for i, id := range n.Names {
				if e.pass.TypesInfo.ObjectOf(id) == v && len(n.Values) > 0 {
					made = made && len(n.Names) == len(n.Values) && e.isNew(n.Values[i])
				}
			}
		case *ast.RangeStmt:
			for _, to := range []ast.Expr{n.Key, n.Value} {
				if id, ok := to.(*ast.Ident); ok && e.pass.TypesInfo.ObjectOf(id) == v {
					made = false
				}
			}
		case *ast.Field:
			for _, id := range n.Names {
				made = made && e.pass.TypesInfo.ObjectOf(id) != v
			}
		}
		return made
	})
	return made
}

func signatureOf(pass *analysis.Pass, f ast.Node) (*types.Signature, bool) {
	switch f := f.(type) {
	case *ast.FuncLit:
		sig, ok := pass.TypesInfo.TypeOf(f).(*types.Signature)
		return sig, ok
	case *ast.FuncDecl:
		if obj, ok := pass.TypesInfo.Defs[f.Name].(*types.Func); ok {
			return obj.Signature(), true
		}
	}
	return nil, false
}

// isNew reports whether a value was made where it stands.
func (e *effects) isNew(value ast.Expr) bool {
	if literal(value) != nil || isNil(e.pass, value) {
		return true
	}
	call, ok := ast.Unparen(value).(*ast.CallExpr)
	if !ok {
		return false
	}
	b, ok := called(e.pass, call).(*types.Builtin)
	return ok && (b.Name() == "make" || b.Name() == "new" || b.Name() == "append")
}

// call returns the effect of a call.
func (e *effects) call(f ast.Node, call *ast.CallExpr) effect {
	if e.pass.TypesInfo.Types[call.Fun].IsType() {
		return computes
	}
	if _, ok := ast.Unparen(call.Fun).(*ast.FuncLit); ok {
		return computes // its body is part of the body that is examined
	}
	switch to := called(e.pass, call).(type) {
	case *types.Builtin:
		if slices.Contains([]string{"delete", "clear", "copy"}, to.Name()) && len(call.Args) > 0 {
			return e.assign(f, &ast.IndexExpr{X: call.Args[0]})
		}
		return computes
	case *types.Func:
		if decl := e.bodies[to.Origin()]; decl != nil {
			return e.ofDecl(decl)
		}
		return e.other(call, to)
	}
	if isType(e.pass.TypesInfo.TypeOf(call.Fun), "context", "CancelFunc", "CancelCauseFunc") {
		return computes
	}
	return unknown // a variable that holds a function
}

// pure has packages that change nothing but their arguments.
var pure = map[string]bool{
	"bufio": true, "bytes": true, "cmp": true, "context": true, "errors": true, "fmt": true, "html": true, "log": true, "log/slog": true, "maps": true,
	"io": true, "io/fs": true, "math": true, "mime": true, "path": true, "path/filepath": true, "reflect": true, "regexp": true, "runtime": true, "slices": true, "sort": true,
	"strconv": true, "strings": true, "sync": true, "time": true, "unicode": true, "unique": true, "unsafe": true, "iter": true,
}

// databases has packages whose methods run the SQL that they are given.
var databases = []string{"database/sql", "github.com/jackc/pgx", "github.com/jmoiron/sqlx", "gorm.io/gorm"}

// other returns the effect of a call of another package, by the tables of known packages,
// or by its name.
func (e *effects) other(call *ast.CallExpr, f *types.Func) effect {
	path := pathOf(f)
	within := func(tree string) bool { return path == tree || strings.HasPrefix(path, tree+"/") }
	switch {
	case path == "os/exec" || path == "syscall":
		return writes
	case isMethod(f, "sync", "Map", "Store", "LoadOrStore", "LoadAndDelete", "Delete", "Swap", "Clear", "CompareAndSwap", "CompareAndDelete"):
		return writes
	case path == "sync/atomic":
		if strings.HasPrefix(f.Name(), "Load") {
			return computes
		}
		return writes
	case pure[path], within("encoding"), within("math"), within("unicode"), within("text"), within("hash"), within("crypto"), within("golang.org/x/text"),
		path == "net/url", path == "net/netip", path == "html/template", isMethod(f, "net/http", "Header", f.Name()):
		return computes
	case path == mcpPath:
		if recv := f.Signature().Recv(); recv != nil && isType(recv.Type(), mcpPath, "Server", "ServerSession", "ClientSession", "Client") {
			return e.named(f)
		}
		return computes
	case within("github.com/google/jsonschema-go"), path == sdkPath+"jsonrpc", path == chainPath+"/fault", path == chainPath+"/outcome", path == chainPath+"/correlate":
		return computes
	case slices.ContainsFunc(databases, within):
		return e.sql(call, f)
	default:
		return e.named(f)
	}
}

// sql returns the effect of a call of a database: the effect of the SQL if that is a
// constant.
func (e *effects) sql(call *ast.CallExpr, f *types.Func) effect {
	for _, arg := range call.Args {
		v := e.pass.TypesInfo.Types[arg]
		if basic, ok := types.Default(types.Unalias(v.Type)).(*types.Basic); !ok || basic.Kind() != types.String {
			continue
		}
		if v.Value == nil {
			return writes // the SQL is unknown
		}
		first, _, _ := strings.Cut(strings.TrimSpace(constant.StringVal(v.Value)), " ")
		if slices.Contains([]string{"select", "show", "explain", "describe", "values"}, strings.ToLower(strings.TrimSpace(first))) {
			return reads
		}
		return writes
	}
	return e.named(f)
}

// First words in the names of functions that read, and of those that only compute.
var (
	getters = append([]string{"head", "load", "scan", "select", "stat", "walk"}, readVerbs...)
	helpers = []string{
		"as", "close", "contains", "decode", "done", "encode", "err", "error", "exists", "format", "from", "has", "id", "is", "len", "marshal", "name",
		"names", "new", "next", "now", "parse", "rows", "string", "text", "to", "unmarshal", "value", "values", "with",
	}
)

// named returns the effect of a function by its name.
func (e *effects) named(f *types.Func) effect {
	words, path := wordsOf(f.Name()), pathOf(f)
	if len(words) == 0 {
		return unknown
	}
	for i, word := range words {
		if slices.Contains(changeVerbs, word) || i == 0 && slices.Contains(ambiguousVerbs, word) && !slices.Contains(handles, word) {
			if takesContext(f) || path == "os" || path == "net/http" {
				return writes
			}
			return unknown // createResponse makes a value
		}
	}
	switch {
	case slices.Contains(getters, words[0]), path == "os" && slices.Contains(environment, f.Name()):
		return reads
	case slices.Contains(helpers, words[0]):
		return computes
	default:
		return unknown
	}
}

// takesContext reports whether a function takes a context, as functions that reach out of the
// process do.
func takesContext(f *types.Func) bool {
	params := f.Signature().Params()
	return params.Len() > 0 && isType(params.At(0).Type(), "context", "Context")
}

// handles are first words in the names of functions that open or set up something for
// reading.
var handles = []string{"open", "close", "set", "start", "run", "import", "sign", "copy", "order", "store", "sync"}

// environment has functions of package os whose names do not say that they read.
var environment = []string{"DirFS", "Environ", "Hostname", "LookupEnv", "Lstat", "Open", "UserHomeDir"}
