package listform

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/classify"
	"github.com/mcpchain/mcpchain/internal/words"
)

// A sibling is the definition of the list form of a tool, or why there is none.
type sibling struct {
	tool *mcp.Tool
	err  error
}

func (f *Form) sibling(tool *mcp.Tool) sibling {
	return f.made.Of(tool, func(tool *mcp.Tool) (s sibling) {
		s.tool, s.err = f.define(tool)
		return s
	})
}

func (f *Form) define(tool *mcp.Tool) (*mcp.Tool, error) {
	input, err := f.InputSchema(tool.InputSchema)
	if err != nil {
		return nil, err
	}
	sibling := *tool
	sibling.Name, sibling.InputSchema, sibling.OutputSchema = f.As, input, f.Output()
	sibling.Meta = maps.Clone(tool.Meta)
	sibling.Icons = slices.Clone(tool.Icons)
	if tool.Title != "" {
		sibling.Title = tool.Title + " (list)"
	}
	if tool.Annotations != nil {
		annotations := *tool.Annotations
		if annotations.Title != "" {
			annotations.Title += " (list)"
		}
		sibling.Annotations = &annotations
	}
	if sibling.Description = f.Description; sibling.Description == "" {
		sibling.Description = fmt.Sprintf("Does what %s does for each of several '%s', at most %d. "+
			"The answer says which succeeded, which failed and why, and what to send again.", f.Tool, f.Items, f.MaxItems)
		if tool.Description != "" {
			sibling.Description += "\n" + f.Tool + ": " + tool.Description
		}
	}
	return &sibling, nil
}

// schema is a JSON schema, or a part of one, with its members still encoded.
type schema map[string]json.RawMessage

// InputSchema derives the schema of the arguments of the list form. It takes a schema
// in any form that the SDK does.
func (f *Form) InputSchema(of any) (json.RawMessage, error) {
	raw, err := classify.JSON(of)
	if err != nil {
		return nil, fmt.Errorf("batch: the input schema of %s is not JSON: %w", f.Tool, err)
	}
	var root, properties schema
	if json.Unmarshal(raw, &root) != nil || root == nil || json.Unmarshal(root["properties"], &properties) != nil || properties[f.Item] == nil {
		return nil, fmt.Errorf("batch: %s has no argument '%s' in its input schema; correct List.Item", f.Tool, f.Item)
	}
	if properties[f.Items] != nil {
		return nil, fmt.Errorf("batch: %s has an argument '%s' already; choose another List.Items", f.Tool, f.Items)
	}
	properties[f.Items] = f.listSchema(properties[f.Item])
	delete(properties, f.Item)

	var required []string
	if json.Unmarshal(root["required"], &required) != nil {
		required = nil
	}
	required = slices.DeleteFunc(required, func(name string) bool { return name == f.Item })
	root["required"] = words.Encode(append(required, f.Items))
	root["properties"] = words.Encode(properties)
	f.forget(root)
	// References to the item's schema get its new place.
	was, is := words.Encode(f.Item), words.Encode(f.Items)
	old, fresh := `"#/properties/`+string(was[1:len(was)-1]), `"#/properties/`+string(is[1:len(is)-1])+"/items"
	out := bytes.ReplaceAll(words.Encode(root), []byte(old+`"`), []byte(fresh+`"`))
	return bytes.ReplaceAll(out, []byte(old+"/"), []byte(fresh+"/")), nil
}

// listSchema is the schema of the list of items.
func (f *Form) listSchema(item json.RawMessage) json.RawMessage {
	var members schema
	if json.Unmarshal(item, &members) == nil && members != nil {
		delete(members, "x-mcp-header") // a header has one value
		delete(members, "default")
		item = words.Encode(members)
	}
	list := schema{
		"type": words.Encode("array"), "items": item, "minItems": words.Encode(1), "maxItems": words.Encode(f.MaxItems),
		"description": words.Encode(fmt.Sprintf("The values of '%s' for %s.", f.Item, f.Tool)),
	}
	return words.Encode(list)
}

// forget removes the examples, and the rules over several arguments that mention the
// item: each item is checked against them in a call of its own.
func (f *Form) forget(root schema) {
	name := words.Encode(f.Item)
	for _, group := range [][]string{
		{"allOf"}, {"anyOf"}, {"oneOf"}, {"not"}, {"if", "then", "else"}, {"dependentRequired"}, {"dependentSchemas"}, {"dependencies"},
		{"propertyNames"}, {"minProperties"}, {"maxProperties"}, {"examples"}, {"default"},
	} {
		for _, key := range group {
			if bytes.Contains(root[key], name) {
				for _, key := range group {
					delete(root, key)
				}
			}
		}
	}
}
