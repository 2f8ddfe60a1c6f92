package task

import (
	"encoding/json"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/safe"
)

// handleMember is the member of a structured answer that is a handle.
const handleMember = "still_running"

// ours are the tools that the middleware adds.
var ours = []*mcp.Tool{
	{
		Name:        resultTool,
		Description: "Returns the answer of a call that was still running. Waits for it for a while, then says how far it is.",
		InputSchema: idSchema, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true},
	},
	{
		Name:        cancelTool,
		Description: "Stops a call that is still running.",
		InputSchema: idSchema, Annotations: &mcp.ToolAnnotations{IdempotentHint: true},
	},
}

// anID describes their argument.
const anID = "the ID that the answer of the call gave"

var idSchema = json.RawMessage(`{"type":"object","properties":{"id":{"type":"string","description":"` + anID + `"}},"required":["id"],"additionalProperties":false}`)

// listed returns a list with the tools of this package on its last page, and with output schemas that allow a handle.
// If the server has a task_result of its own, the list stays as it is.
// A server that lists nothing gets no tools.
func (t *tasks) listed(req mcp.Request, res mcp.Result) mcp.Result {
	list, ok := res.(*mcp.ListToolsResult)
	asked, _ := req.(*mcp.ListToolsRequest)
	if !ok || list == nil || len(list.Tools) == 0 && (asked == nil || asked.Params == nil || asked.Params.Cursor == "") {
		return res
	}
	cp := *list
	cp.Tools = make([]*mcp.Tool, len(list.Tools), len(list.Tools)+len(ours))
	for i, tool := range list.Tools {
		if cp.Tools[i] = tool; tool == nil {
			continue
		}
		for i, one := range ours {
			switch {
			case tool.Name != one.Name:
			case tool.Description == one.Description:
				return res // another middleware of this package has changed it
			default:
				t.taken[i].Store(true)
			}
		}
		if tool.OutputSchema != nil && t.counts(tool.Name) {
			cp.Tools[i] = t.schemas.Of(tool, allowing)
		}
	}
	if t.taken[0].Load() {
		return res
	}
	for i, one := range ours {
		if list.NextCursor == "" && !t.taken[i].Load() {
			cp.Tools = append(cp.Tools, one)
		}
	}
	return &cp
}

// plain are the keywords of an output schema that stay true when its required members become one of two forms.
var plain = []string{"type", "properties", "required", "additionalProperties", "title", "description", "$schema", "$id", "$defs", "definitions", "examples", "$comment", "default"}

// allowing returns a copy of a tool whose output may be a handle. An output schema that cannot be changed so is
// left out: then any answer is legal.
func allowing(tool *mcp.Tool) *mcp.Tool {
	cp := *tool
	cp.OutputSchema = nil
	raw, err := safe.JSON(tool.OutputSchema)
	var schema map[string]json.RawMessage
	if err != nil || json.Unmarshal(raw, &schema) != nil {
		return &cp
	}
	for keyword := range schema {
		if !slices.Contains(plain, keyword) {
			return &cp
		}
	}
	properties := map[string]json.RawMessage{}
	if raw := schema["properties"]; raw != nil && json.Unmarshal(raw, &properties) != nil {
		return &cp
	}
	if _, taken := properties[handleMember]; taken {
		return &cp
	}
	properties[handleMember] = json.RawMessage(`{"type":"object","description":"in the place of the answer, if the call is still running","properties":{"id":{"type":"string"},"text":{"type":"string"}},"required":["id","text"]}`)
	all, err := json.Marshal(properties)
	if err != nil {
		return &cp
	}
	schema["properties"] = all
	if required := schema["required"]; required != nil {
		delete(schema, "required")
		schema["anyOf"] = json.RawMessage(`[{"required":` + string(required) + `},{"required":["` + handleMember + `"]}]`)
	}
	if raw, err = json.Marshal(schema); err == nil {
		cp.OutputSchema = json.RawMessage(raw)
	}
	return &cp
}
