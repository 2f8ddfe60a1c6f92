package explain_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/internal/explain"
)

// suite returns the folder with the official JSON-Schema-Test-Suite, which the
// module that the SDK validates with carries.
func suite(t testing.TB) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/google/jsonschema-go").Output()
	require.NoError(t, err)
	dir := filepath.Join(strings.TrimSpace(string(out)), "jsonschema", "testdata")
	require.DirExists(t, dir)
	return dir
}

type suiteGroup struct {
	Description string
	Schema      json.RawMessage
	Tests       []struct {
		Description string
		Data        json.RawMessage
		Valid       bool
	}
}

// remote are the files whose schemas refer to others over a network, which is
// never asked.
var remote = map[string]bool{"refRemote.json": true}

func suiteGroups(t testing.TB, draft string) map[string][]suiteGroup {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(suite(t), draft, "*.json"))
	require.NoError(t, err)
	groups := map[string][]suiteGroup{}
	for _, file := range files {
		if remote[filepath.Base(file)] {
			continue
		}
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		var g []suiteGroup
		require.NoError(t, json.Unmarshal(text, &g))
		groups[filepath.Base(file)] = g
	}
	require.Greater(t, len(groups), 30)
	return groups
}

// jargon is what a validator says and a person does not.
var jargon = regexp.MustCompile(`/properties/|/items/|/\$defs/|\$ref|\b1/1\b|additionalProperties|unevaluated|anyOf|oneOf|allOf|float64|map\[|interface ?\{|<nil>|json\.Number|jsonschema|schema\.invalid|%!`)

// named finds the names and values that a sentence repeats.
var named = regexp.MustCompile(`'[^']*'|\{[^}]*\}`)

func TestOfficialSuite(t *testing.T) {
	schemas, instances := 0, 0
	for _, draft := range []string{"draft2020-12", "draft7"} {
		for file, groups := range suiteGroups(t, draft) {
			for _, g := range groups {
				schema := g.Schema
				if draft == "draft7" {
					schema = asDraft7(t, schema)
				}
				compiled, err := explain.Compile(schema)
				if err != nil {
					require.Regexpf(t, "outside of it|where there is no schema|has a \\$dynamicRef", err.Error(), "%s %s %s: only what refers to an address, or by $dynamicRef, cannot be compiled", draft, file, g.Description)
					continue
				}
				schemas++
				for _, tt := range g.Tests {
					instances++
					report := compiled.Explain(tt.Data, false)
					if tt.Valid {
						require.Nilf(t, report, "%s %s: %s: %s\n%s\n%s\n%s", draft, file, g.Description, tt.Description, schema, tt.Data, report.Text())
						continue
					}
					require.NotNilf(t, report, "%s %s: %s: %s\n%s\n%s", draft, file, g.Description, tt.Description, schema, tt.Data)
					require.NotEmpty(t, report.Violations)
					for _, v := range report.Violations {
						require.NotEqual(t, "schema", v.Rule, "%s %s: %s: %s", draft, file, g.Description, tt.Description)
						require.NotRegexpf(t, jargon, named.ReplaceAllString(v.Message+v.Suggestion, ""), "%s %s: %s: %s", draft, file, g.Description, tt.Description)
						if testing.Verbose() {
							t.Logf("%s\n   %s\n   %s", compact(schema), tt.Data, report.Text())
						}
					}
				}
			}
		}
	}
	require.Greater(t, schemas, 400)
	require.Greater(t, instances, 1500)
}

func compact(text []byte) string { return strings.Join(strings.Fields(string(text)), " ") }

// asDraft7 says in a schema which draft it is of.
func asDraft7(t *testing.T, schema json.RawMessage) json.RawMessage {
	t.Helper()
	var object map[string]json.RawMessage
	if json.Unmarshal(schema, &object) != nil {
		return schema // true or false
	}
	object["$schema"] = json.RawMessage(`"http://json-schema.org/draft-07/schema#"`)
	out, err := json.Marshal(object)
	require.NoError(t, err)
	return out
}
