package ask

import (
	"encoding/json"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/table"
)

// Outputs caches a check for each output schema. The zero value is ready for use.
type Outputs = table.Weak[mcp.Tool, func(raw []byte) bool]

// Output returns a function that reports whether the output schema of the called tool allows a
// value, as next lists the tool. It is nil if the schema is unknown.
func (s Server) Output(made *Outputs, next mcp.MethodHandler) (valid func(raw []byte) bool) {
	tool, err := s.Tool(next)
	if err != nil {
		return nil
	}
	return made.Of(tool, outputOf)
}

func outputOf(tool *mcp.Tool) (valid func(raw []byte) bool) {
	if tool.OutputSchema == nil {
		return func([]byte) bool { return true }
	}
	read := JSONSchema(tool.OutputSchema)
	if read == nil {
		return nil
	}
	schema, err := read.Resolve(nil)
	if err != nil {
		return nil
	}
	return func(raw []byte) bool {
		var v any
		return json.Unmarshal(raw, &v) == nil && schema.Validate(v) == nil
	}
}

// JSONSchema reads a schema of any Go type, because servers may use their own. It is nil if the
// value is not a schema.
func JSONSchema(schema any) *jsonschema.Schema {
	raw, err := json.Marshal(schema)
	s := &jsonschema.Schema{}
	if err != nil || json.Unmarshal(raw, s) != nil {
		return nil
	}
	return s
}
