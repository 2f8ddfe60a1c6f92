package validate

import (
	"context"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/explain"
)

// promptFault returns what is wrong with the arguments of a prompt, nil when nothing is,
// or when the server does not say what they should be. The SDK checks nothing of it.
func (v *validator) promptFault(ctx context.Context, c *call.Call, req mcp.Request, next mcp.MethodHandler) *fault.Error {
	get, ok := req.(*mcp.GetPromptRequest)
	if v.SkipPrompts || !ok || get == nil || get.Params == nil {
		return nil
	}
	return guarded(func() *fault.Error {
		prompt, err := callOf(ctx, c, req).Prompt(next)
		if err != nil || len(prompt.Arguments) == 0 {
			return nil //nolint:nilerr // nothing to check against: the handler answers
		}
		report := v.explainPrompt(prompt, get.Params.Arguments)
		if report == nil {
			return nil
		}
		return v.fault(report, "")
	})
}

// explainPrompt explains the arguments with the schema that a tool with such
// arguments would have.
func (v *validator) explainPrompt(prompt *mcp.Prompt, args map[string]string) *explain.Report {
	properties, required := map[string]any{}, []string{}
	for _, a := range prompt.Arguments {
		if a == nil {
			continue
		}
		property := map[string]any{"type": "string"}
		if a.Description != "" {
			property["description"] = a.Description
		}
		properties[a.Name] = property
		if a.Required {
			required = append(required, a.Name)
		}
	}
	raw, err := json.Marshal(args)
	schema := v.schemas.get(map[string]any{
		"type": "object", "properties": properties, "required": required, "additionalProperties": !v.StrictPrompts,
	})
	compiled, failed := schema()
	if err != nil || failed != nil {
		return nil
	}
	if len(args) == 0 {
		raw = []byte("{}")
	}
	return compiled.Explain(raw, v.explain)
}
