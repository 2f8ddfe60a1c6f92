package frozen_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/audit"
	"github.com/mcpchain/mcpchain/batch"
	"github.com/mcpchain/mcpchain/budget"
	"github.com/mcpchain/mcpchain/correlate"
	"github.com/mcpchain/mcpchain/deadline"
	"github.com/mcpchain/mcpchain/degrade"
	"github.com/mcpchain/mcpchain/drain"
	"github.com/mcpchain/mcpchain/limit"
	"github.com/mcpchain/mcpchain/mask"
	mcprecover "github.com/mcpchain/mcpchain/recover"
	"github.com/mcpchain/mcpchain/replay"
	"github.com/mcpchain/mcpchain/retry"
	"github.com/mcpchain/mcpchain/retry/client"
	"github.com/mcpchain/mcpchain/state"
	"github.com/mcpchain/mcpchain/store"
	"github.com/mcpchain/mcpchain/task"
	"github.com/mcpchain/mcpchain/transport"
	"github.com/mcpchain/mcpchain/validate"
)

// TestNumbersOfOptions holds the rule of CONTRIBUTING.md for every number in every Options: the
// comment says what zero means, and a negative number is refused by New with the name of the
// field, or its comment says that it means none.
func TestNumbersOfOptions(t *testing.T) {
	log := audit.NewLog(func([]audit.Entry) error { return nil }, nil)
	numbers := 0
	for _, c := range []struct {
		make  any // a function of *Options
		valid any // what it needs at least
	}{
		{audit.New, audit.Options{Log: log}},
		{batch.New, batch.Options{}},
		{budget.New, budget.Options{}},
		{correlate.New, correlate.Options{}},
		{deadline.New, deadline.Options{}},
		{degrade.New, degrade.Options{}},
		{drain.New, drain.Options{Drain: &drain.Drain{}}},
		{limit.New, limit.Options{}},
		{mask.New, mask.Options{}},
		{mcprecover.New, mcprecover.Options{}},
		{replay.New, replay.Options{}},
		{retry.New, retry.Options{}},
		{retry.Server, retry.ServerOptions{}},
		{client.New, client.Options{}},
		{state.New, state.Options{}},
		{task.New, task.Options{}},
		{store.NewMemory, store.MemoryOptions{}},
		{func(o *transport.Options) http.Handler { return transport.HTTP(http.NotFoundHandler(), o) }, transport.Options{}},
		{validate.New, validate.Options{}},
	} {
		options := reflect.TypeOf(c.valid)
		comments := fieldComments(t, options)
		var visit func(field reflect.Type, at []int, name string)
		visit = func(typ reflect.Type, at []int, name string) {
			for i := range typ.NumField() {
				f, at := typ.Field(i), append(at[:len(at):len(at)], i)
				switch f.Type.Kind() {
				case reflect.Struct:
					visit(f.Type, at, name+f.Name+".")
				case reflect.Int, reflect.Int64:
					numbers++
					t.Run(options.String()+"."+name+f.Name, func(t *testing.T) {
						comment := comments[typ.Name()+"."+f.Name]
						require.Regexp(t, `(?i)\bzero\b`, comment, "what does zero mean?")
						o := reflect.New(options)
						o.Elem().Set(reflect.ValueOf(c.valid))
						o.Elem().FieldByIndex(at).SetInt(-1)
						refused := panicOf(func() { reflect.ValueOf(c.make).Call([]reflect.Value{o}) })
						if refused == "" {
							require.Contains(t, comment, "negative", "it is accepted: what does it mean?")
							return
						}
						require.Contains(t, refused, f.Name)
						require.Contains(t, refused, "negative")
					})
				default:
				}
			}
		}
		visit(options, nil, "")
	}
	require.Greater(t, numbers, 30)
}

// panicOf returns what a function panicked with.
func panicOf(f func()) (text string) {
	defer func() {
		if p := recover(); p != nil {
			text = fmt.Sprint(p)
		}
	}()
	f()
	return ""
}

// fieldComments returns the comments of the fields of all structs of the package of a type, by
// "Type.Field". Fields in one group share the comment of its first.
func fieldComments(t *testing.T, typ reflect.Type) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", strings.TrimPrefix(typ.PkgPath(), module), "*.go"))
	require.NoError(t, err)
	comments := map[string]string{}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if s, ok := spec.Type.(*ast.StructType); ok {
				above := ""
				for _, f := range s.Fields.List {
					if f.Doc != nil {
						above = f.Doc.Text()
					}
					for _, name := range f.Names {
						comments[spec.Name.Name+"."+name.Name] = strings.Join(strings.Fields(above+" "+f.Comment.Text()), " ")
					}
				}
			}
			return true
		})
	}
	return comments
}
