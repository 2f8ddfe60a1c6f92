package validate

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/call"
)

// promptFault returns what is wrong with the arguments of a prompt, nil for nothing. It checks them by the schema that
// a tool with such arguments would have. The SDK does not check them. missing says why the server could not say
// which arguments the prompt takes.
func (v *validator) promptFault(ctx context.Context, c *call.Call, req mcp.Request, next mcp.MethodHandler) (public *fault.Error, missing error) {
	public = guarded(func() *fault.Error {
		prompt, err := callOf(ctx, c, req).Server().Prompt(next)
		if err != nil {
			missing = err
			return nil //nolint:nilerr // nothing to check against: the handler answers
		}
		if len(prompt.Arguments) == 0 {
			return nil
		}
		properties, required := map[string]any{}, []string{}
		for _, a := range prompt.Arguments {
			if a != nil {
				properties[a.Name] = map[string]string{"type": "string", "description": a.Description}
				if a.Required {
					required = append(required, a.Name)
				}
			}
		}
		schema, err := v.schemas.get(map[string]any{
			"type": "object", "properties": properties, "required": required, "additionalProperties": !v.StrictPrompts,
		})()
		if err != nil {
			missing = err
			return nil //nolint:nilerr // as above
		}
		if report := schema.Explain(call.ArgumentsOf(req), v.HideReceived); report != nil {
			return faultOf(report, "")
		}
		return nil
	})
	return public, missing
}
