package validate

import (
	"context"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/explain"
)

// promptFault returns what is wrong with the arguments of a prompt, nil when nothing
// is, or when the server does not say what they should be. The SDK checks nothing of
// it, and the handler has not run yet.
func (r *room) promptFault(ctx context.Context, c *call.Call, req mcp.Request, next mcp.MethodHandler) *fault.Error {
	get, ok := req.(*mcp.GetPromptRequest)
	if r.SkipPrompts || !ok || get == nil || get.Params == nil {
		return nil
	}
	prompt := guarded(func() *mcp.Prompt {
		prompt, err := callOf(ctx, c, req).Prompt(next)
		if err != nil {
			return nil
		}
		return prompt
	})
	if prompt == nil || len(prompt.Arguments) == 0 || complete(prompt, get.Params.Arguments) {
		return nil
	}
	report := guarded(func() *explain.Report { return r.explainPrompt(prompt, get.Params.Arguments) })
	if report == nil {
		return nil
	}
	return r.fault(report)
}

// complete reports whether every required argument is there and every one that is
// there is declared.
func complete(prompt *mcp.Prompt, args map[string]string) bool {
	declared := 0
	for _, a := range prompt.Arguments {
		if a == nil {
			continue
		}
		_, ok := args[a.Name]
		if a.Required && !ok {
			return false
		}
		if ok {
			declared++
		}
	}
	return declared == len(args)
}

// explainPrompt explains the arguments with the schema that a tool with such
// arguments would have.
func (r *room) explainPrompt(prompt *mcp.Prompt, args map[string]string) *explain.Report {
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
	schema := r.schemas.get(map[string]any{
		"type": "object", "properties": properties, "required": required, "additionalProperties": false,
	})
	if err != nil || schema == nil {
		return nil
	}
	if len(args) == 0 {
		raw = []byte("{}")
	}
	return schema.explain(raw, r.explain)
}
