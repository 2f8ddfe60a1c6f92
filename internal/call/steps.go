package call

import (
	"encoding/json"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/table"
)

// executable returns e without the calls that this caller cannot make: of a tool that it
// may not list, or with arguments that the tool's schema refuses. What such a step says
// in words stays. Where the server cannot be asked, as around a single handler, every
// step stays as it is.
func (c *Call) executable(e *fault.Error) *fault.Error {
	steps := e.Data().RecoverySteps
	tools := map[string]*mcp.Tool{}
	for i := range steps {
		eachCall(&steps[i], func(tool *string, _ *map[string]any) { tools[*tool] = nil })
	}
	if len(tools) == 0 {
		return e
	}
	missing := len(tools)
	for tool, err := range c.Tools() {
		if err != nil {
			return e
		}
		if have, ok := tools[tool.Name]; ok && have == nil {
			tools[tool.Name] = tool
			if missing--; missing == 0 {
				break
			}
		}
	}
	changed := false
	for i := range steps {
		eachCall(&steps[i], func(tool *string, parameters *map[string]any) {
			if !accepts(tools[*tool], *parameters) {
				*tool, *parameters, changed = "", nil, true
			}
		})
	}
	if !changed {
		return e
	}
	d := e.Data()
	d.RecoverySteps = steps
	return fault.FromData(d).Because(e.Unwrap())
}

// eachCall calls visit for each call that a step is or offers.
func eachCall(s *fault.Step, visit func(tool *string, parameters *map[string]any)) {
	if s.Tool != "" {
		visit(&s.Tool, &s.Parameters)
	}
	for i := range s.Options {
		if o := &s.Options[i]; o.Tool != "" {
			visit(&o.Tool, &o.Parameters)
		}
	}
}

// accepts reports whether a call can be made: of a tool that is listed, and with arguments that
// its schema does not refuse, as far as that can be read.
func accepts(tool *mcp.Tool, parameters map[string]any) bool {
	if tool == nil {
		return false
	}
	if parameters == nil {
		parameters = map[string]any{}
	}
	schema := resolved(tool.InputSchema)
	return schema == nil || schema.Validate(parameters) == nil
}

// Outputs keeps what was made of output schemas. The zero value is ready for use.
type Outputs = table.Weak[mcp.Tool, func(raw []byte) bool]

// Output returns what says whether the output schema of the tool that is called allows a
// value, as next lists the tool. It is nil if the schema is not known.
func (c *Call) Output(made *Outputs, next Handler) (valid func(raw []byte) bool) {
	tool, err := c.Tool(next)
	if err != nil {
		return nil
	}
	return made.Of(tool, outputOf)
}

func outputOf(tool *mcp.Tool) (valid func(raw []byte) bool) {
	if tool.OutputSchema == nil {
		return func([]byte) bool { return true }
	}
	schema := resolved(tool.OutputSchema)
	if schema == nil {
		return nil
	}
	return func(raw []byte) bool {
		var v any
		return json.Unmarshal(raw, &v) == nil && schema.Validate(v) == nil
	}
}

// resolved returns what checks values against a schema, nil for what is none.
func resolved(schema any) *jsonschema.Resolved {
	s := JSONSchema(schema)
	if s == nil {
		return nil
	}
	r, err := s.Resolve(nil)
	if err != nil {
		return nil
	}
	return r
}

// JSONSchema reads a schema, which servers give as they like; nil for what is none.
func JSONSchema(schema any) *jsonschema.Schema {
	raw, err := json.Marshal(schema)
	s := &jsonschema.Schema{}
	if err != nil || json.Unmarshal(raw, s) != nil {
		return nil
	}
	return s
}
