package explain_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/internal/explain"
)

const canary = "kanari-9f3e"

// FuzzExplain gives any schema and any arguments: nothing panics, the report is
// bounded, and a second one is the same.
func FuzzExplain(f *testing.F) {
	table, err := os.ReadFile("testdata/cases.txt")
	require.NoError(f, err)
	schema := ""
	for line := range strings.Lines(string(table)) {
		switch kind, text, _ := strings.Cut(strings.TrimSpace(line), " "); kind {
		case "S":
			schema = text
		case "A":
			f.Add(schema, text)
		}
	}
	f.Add(`{"$ref":"#"}`, `{}`)
	f.Add(`{"anyOf":[{"$ref":"#"},{"items":{"$ref":"#"}},{"items":{"$ref":"#"}}],"minItems":1}`, `[[[[[[[[]]]]]]]]`)
	f.Add(`{"maximum":1e400}`, `1e999999999`)
	f.Add(`{"multipleOf":0.1}`, `1e-999999999`)
	f.Add(`true`, "\"\xff\"")
	f.Fuzz(func(t *testing.T, schema, args string) {
		compiled, err := explain.Compile([]byte(schema))
		if err != nil {
			return
		}
		checkBounds(t, compiled, args)
	})
}

func checkBounds(t *testing.T, compiled *explain.Schema, args string) *explain.Report {
	t.Helper()
	report := compiled.Explain([]byte(args), false)
	if report == nil {
		return nil
	}
	text := report.Text()
	require.NotEmpty(t, text)
	require.LessOrEqual(t, len(text), 4096)
	require.LessOrEqual(t, len(report.Violations), 10)
	require.GreaterOrEqual(t, report.Total, len(report.Violations))
	require.True(t, utf8.ValidString(text))
	require.Equal(t, text, compiled.Explain([]byte(args), false).Text())
	for _, v := range report.Violations {
		require.NotContains(t, v.Message+v.Suggestion+v.Expected+v.Field, "\n")
		require.NotEmpty(t, v.Message)
		require.NotEmpty(t, v.Rule)
	}
	withheld, err := json.Marshal(report.Withheld)
	require.NoError(t, err)
	for _, name := range []string{"password", "token"} {
		require.NotRegexp(t, `"`+name+`":"?[^,}]*`+canary, string(report.Corrected)+string(withheld))
	}
	if report.Corrected != nil {
		require.True(t, compiled.Valid(report.Corrected), "%s", report.Corrected)
		require.Nil(t, report.Withheld)
	}
	shown := *report
	shown.Corrected, shown.Withheld = nil, nil // they have what else the caller sent
	all, err := json.Marshal(shown)
	require.NoError(t, err)
	require.NotContains(t, string(all), canary)
	return report
}
