package harness_test

import (
	"errors"
	"log/slog"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/middleware"
)

func TestEveryShapeRunsItsMiddlewares(t *testing.T) {
	harness.NoLeaks(t)
	harness.Each(t, harness.Shapes(), func(t *testing.T, at harness.Place) {
		var tr harness.Trace
		s := harness.Start(t, at, harness.Setup{
			Handlers: map[string]harness.Handler{
				"good": tr.Handler("good", harness.Succeed()),
				"bad":  tr.Handler("bad", harness.Fail(errors.New("it broke"))),
			},
			Middleware: []mcp.Middleware{tr.Middleware("a"), tr.Middleware("b")},
		})

		good := s.Call(t, "good")
		require.NoError(t, good.Err)
		require.Equal(t, "fine", good.Text())
		require.Nil(t, good.Fault())
		require.Contains(t, string(good.Wire), "fine")
		require.Equal(t, ">a >b good <b <a", tr.Take())

		bad := s.Call(t, "bad")
		require.Equal(t, "it broke", bad.Text())
		require.NotNil(t, bad.Fault())
		require.Contains(t, string(bad.Wire), "it broke")
		require.Equal(t, at.Shape.Typed(), bad.Tool() != nil)
		require.Equal(t, !at.Shape.Typed(), bad.Protocol() != nil)
		require.Equal(t, ">a >b bad <b <a", tr.Take())

		require.Contains(t, s.Received(), `"method":"`+at.Shape.Method()+`"`)
		require.Contains(t, s.Sent(), string(bad.Wire))
	})
}

func TestMachineReadsBothForms(t *testing.T) {
	tool := harness.Answer{Wire: []byte(`{"id":1,"result":{"_meta":{"` + middleware.MetaKey + `":{"type":"x","reference_id":"r"}}}}`)}
	require.Equal(t, map[string]any{"type": "x", "reference_id": "r"}, tool.Machine())
	require.Equal(t, "r", tool.Reference())
	other := harness.Answer{Wire: []byte(`{"id":1,"error":{"data":{"type":"y"}}}`)}
	require.Equal(t, map[string]any{"type": "y"}, other.Machine())
	require.Empty(t, other.Reference())
	require.Nil(t, harness.Answer{Wire: []byte(`{"id":1,"result":{}}`)}.Machine())
	require.Nil(t, harness.Answer{}.Machine())
}

func TestLog(t *testing.T) {
	log := harness.NewLog(slog.LevelInfo)
	log.Logger().Debug("not this")
	log.Logger().Info("this", "n", 1)
	require.Equal(t, "this", log.Only(t)["msg"])
	require.InDelta(t, 1, log.Only(t)["n"], 0)
}
