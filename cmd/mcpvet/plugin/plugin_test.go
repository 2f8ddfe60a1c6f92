package plugin

import (
	"testing"

	"github.com/golangci/plugin-module-register/register"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/cmd/mcpvet/checks"
)

func TestPlugin(t *testing.T) {
	build, err := register.GetPlugin("mcpvet")
	require.NoError(t, err)

	l, err := build(nil)
	require.NoError(t, err)
	require.Equal(t, register.LoadModeTypesInfo, l.GetLoadMode())
	all, err := l.BuildAnalyzers()
	require.NoError(t, err)
	require.Len(t, all, len(checks.All()))

	l, err = build(map[string]any{"disable": []string{"annotations"}})
	require.NoError(t, err)
	some, err := l.BuildAnalyzers()
	require.NoError(t, err)
	require.Len(t, some, len(all)-1)
	require.NotContains(t, some, checks.Annotations)

	_, err = build(map[string]any{"disable": []string{"anotations"}})
	require.EqualError(t, err, `mcpvet: settings.disable: there is no check "anotations"`)
	_, err = build(map[string]any{"enable": []string{}})
	require.ErrorContains(t, err, "unknown field")
}
