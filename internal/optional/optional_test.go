package optional_test

import (
	"reflect"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/audit"
	"github.com/mcpchain/mcpchain/batch"
	"github.com/mcpchain/mcpchain/budget"
	"github.com/mcpchain/mcpchain/deadline"
	"github.com/mcpchain/mcpchain/degrade"
	"github.com/mcpchain/mcpchain/drain"
	"github.com/mcpchain/mcpchain/internal/optional"
	"github.com/mcpchain/mcpchain/limit"
	"github.com/mcpchain/mcpchain/replay"
	"github.com/mcpchain/mcpchain/retry"
	"github.com/mcpchain/mcpchain/state"
)

// fits has for each field of mcpchain.Options that is an interface the one type that it takes.
var fits = map[string]any{
	"Audit":       (*audit.Options)(nil),
	"Batch":       (*batch.Options)(nil),
	"Budget":      (*budget.Options)(nil),
	"Deadline":    (*deadline.Options)(nil),
	"Degrade":     (*degrade.Options)(nil),
	"Drain":       (*drain.Options)(nil),
	"Limit":       (*limit.Options)(nil),
	"Replay":      (*replay.Options)(nil),
	"RetryServer": (*retry.ServerOptions)(nil),
	"State":       (*state.Options)(nil),
}

func TestEachFieldTakesOneType(t *testing.T) {
	fields := map[string]any{}
	all := reflect.TypeFor[mcpchain.Options]()
	for i := range all.NumField() {
		field := all.Field(i)
		if field.Type.Kind() != reflect.Interface {
			continue
		}
		fields[field.Name] = fits[field.Name]
		for name, opts := range fits {
			require.Equal(t, name == field.Name, reflect.TypeOf(opts).Implements(field.Type), "%T in the field %s", opts, field.Name)
		}
	}
	require.Equal(t, fits, fields)
}

// TestNilPointerIsNotSet keeps what a program may do that decides at run time: a variable of type
// *limit.Options that stayed nil is as good as no field.
func TestNilPointerIsNotSet(t *testing.T) {
	var o mcpchain.Options
	for name, opts := range fits {
		reflect.ValueOf(&o).Elem().FieldByName(name).Set(reflect.ValueOf(opts))
	}
	require.Nil(t, optional.Of(o.Audit))
	require.Nil(t, optional.Of(o.Batch))
	require.Nil(t, optional.Of(o.Budget))
	require.Nil(t, optional.Of(o.Deadline))
	require.Nil(t, optional.Of(o.Degrade))
	require.Nil(t, optional.Of(o.Drain))
	require.Nil(t, optional.Of(o.Limit))
	require.Nil(t, optional.Of(o.Replay))
	require.Nil(t, optional.Of(o.RetryServer))
	require.Nil(t, optional.Of(o.State))
	require.NotPanics(t, func() { mcpchain.Standard(&o) })
}

func TestOf(t *testing.T) {
	require.Nil(t, optional.Of[optional.Limit](nil))
	require.NotNil(t, optional.Of[optional.Limit](&limit.Options{}))
	built := 0
	build := func(*int) mcp.Middleware { built++; return nil }
	optional.New(nil, build)
	require.Zero(t, built)
	optional.New(new(int), build)
	require.Equal(t, 1, built)
}
