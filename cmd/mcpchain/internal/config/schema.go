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
		reflect.TypeFor[Duration]():   {Type: "string", Pattern: `^-?([0-9.]+(ns|us|µs|ms|s|m|h))+$|^0$`, Examples: []any{"30s", "2m"}},
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
	s.Properties["reader"].Enum = []any{"operator", "trusted", "anyone"}
	return json.MarshalIndent(s, "", "  ")
}
