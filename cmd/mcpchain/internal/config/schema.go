package config

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/words"
)

// Schema returns the JSON schema of the file, for editors. A field with a flag is described as the flag is.
func Schema() ([]byte, error) {
	kinds := &jsonschema.Schema{Type: "string"}
	for _, kind := range kindNames() {
		kinds.Enum = append(kinds.Enum, kind)
	}
	s, err := jsonschema.For[Config](&jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[Duration]():   {Type: "string", Pattern: `^\+?(([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+$|^\+?0$`, Examples: []any{"30s", "2m"}},
		reflect.TypeFor[fault.Kind](): kinds,
	}})
	if err != nil {
		return nil, err
	}
	s.Schema, s.Title, s.Required = "https://json-schema.org/draft/2020-12/schema", "The file of mcpchain run -config", nil
	for name, of := range s.Properties {
		flag := strings.ReplaceAll(name, "_", "-")
		if i := slices.IndexFunc(settings, func(s setting) bool { return s.name == flag }); i >= 0 {
			of.Description = words.Capital(settings[i].help)
		}
	}
	bound(s.Properties)
	return json.MarshalIndent(s, "", "  ")
}

// bound says of the fields what the program refuses in each of them alone. An editor does not see the flags, so what
// depends on another field is not in the schema.
func bound(of map[string]*jsonschema.Schema) {
	of["reader"].Enum = []any{"operator", "trusted", "anyone"}
	for _, name := range []string{"rate", "running", "rate_each", "running_each", "budget"} {
		of[name].Minimum = new(0.0)
	}
	for _, name := range []string{"max_request", "max_answer"} {
		of[name].Minimum, of[name].Maximum = new(float64(1<<10)), new(float64(1<<30))
	}
	of["sessions"].Minimum = new(1.0)
	of["path"].Pattern, of["http"].Pattern, of["redis"].Pattern, of["to"].Pattern = `^/[^?#{} ]*$`, `^$|:`, `^$|^rediss?://`, `^$|://`
	some := &jsonschema.Schema{MinLength: new(1)}
	of["tool_deadlines"].PropertyNames, of["headers"].PropertyNames = some, some
	rule := of["rules"].Items
	rule.Properties["message"].MinLength, rule.Properties["step"].Properties["action"].MinLength = some.MinLength, some.MinLength
	given := func(name string) *jsonschema.Schema {
		return &jsonschema.Schema{Required: []string{name}, Properties: map[string]*jsonschema.Schema{name: some}}
	}
	rule.OneOf = []*jsonschema.Schema{given("contains"), given("pattern")}
	again := &jsonschema.Schema{Required: []string{"retry_after"}, Properties: map[string]*jsonschema.Schema{"retry_after": {Type: "string"}}}
	rule.Not = &jsonschema.Schema{AllOf: []*jsonschema.Schema{given("never"), again}}
}
