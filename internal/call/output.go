package call

import (
	"encoding/json"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// JSONSchema reads a schema, which servers give as they like; nil for what is none.
func JSONSchema(schema any) *jsonschema.Schema {
	raw, err := json.Marshal(schema)
	s := &jsonschema.Schema{}
	if err != nil || json.Unmarshal(raw, s) != nil {
		return nil
	}
	return s
}

// Outputs keeps what was made of output schemas. The zero value is ready for use.
type Outputs struct{ perTool[func(raw []byte) bool] }

// Output returns what says whether the output schema of the tool that is called allows a
// value, as next lists the tool. It is nil if the schema is not known.
func (c *Call) Output(made *Outputs, next Handler) (valid func(raw []byte) bool) {
	tool, err := c.Tool(next)
	if err != nil {
		return nil
	}
	return made.of(tool, outputOf)
}

func outputOf(tool *mcp.Tool) (valid func(raw []byte) bool) {
	if tool.OutputSchema == nil {
		return func([]byte) bool { return true }
	}
	schema := JSONSchema(tool.OutputSchema)
	if schema == nil {
		return nil
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		return nil
	}
	return func(raw []byte) bool {
		var v any
		return json.Unmarshal(raw, &v) == nil && resolved.Validate(v) == nil
	}
}
