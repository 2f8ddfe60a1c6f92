package mcptest

import (
	"encoding/json"

	"github.com/mcpchain/mcpchain/internal/conduct"
)

// Nasty returns arguments that a tool with this input schema does not expect, each as JSON:
// none, no object, unknown or doubled names, and each argument missing or replaced while
// the others are right, as far as the schema shows that. A schema is anything that
// [mcp.Tool.InputSchema] can be; nil means unknown. The same schema gives the same
// arguments in the same order.
func Nasty(schema any) []json.RawMessage { return conduct.Nasty(schema) }
