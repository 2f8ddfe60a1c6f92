package listform

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/unclear"
	"github.com/mcpchain/mcpchain/internal/words"
)

// Read reads the arguments of a call of the sibling. It returns the items, and head: the
// arguments for the call of one item up to its value, which [Arguments] takes. An error is the caller's fault.
func (f *Form) Read(raw json.RawMessage) (items []json.RawMessage, head []byte, err error) {
	expected := fmt.Sprintf("a list of 1 to %d values", f.MaxItems)
	wrong := func(field, expected, suggestion, message string, of ...any) error {
		return fault.Violations(fault.Violation{
			Field: field, Expected: expected, Message: fmt.Sprintf(message, of...), Suggestion: suggestion,
		})
	}
	if most := max(1<<20, f.MaxItems<<14); len(raw) > most {
		return nil, nil, wrong(f.Items, "", "Send fewer or shorter items in a call.",
			"The arguments are %d bytes long, and may be %d.", len(raw), most)
	}
	if e := unclear.Refusal(raw); e != nil { // the calls of the items would be made of one reading
		return nil, nil, e
	}
	var args map[string]json.RawMessage
	if len(bytes.TrimSpace(raw)) > 0 && json.Unmarshal(raw, &args) != nil {
		return nil, nil, fault.New(fault.KindValidation, "the arguments are not a JSON object")
	}
	if _, ok := args[f.Item]; ok {
		return nil, nil, wrong(f.Item, "", "", "Argument '%s' does not belong here. Put its value into the list '%s'.", f.Item, f.Items)
	}
	list, ok := args[f.Items]
	if !ok {
		return nil, nil, fault.Violations(fault.Violation{Field: f.Items, Rule: "required", Expected: expected})
	}
	if json.Unmarshal(list, &items) != nil || items == nil {
		var received any
		_ = json.Unmarshal(list, &received) // nil if it is not JSON
		e := fault.Invalid(f.Items, received, expected)
		if received != nil {
			e = e.Suggest("Send a list, even for one item.")
		}
		return nil, nil, e
	}
	switch n := len(items); {
	case n == 0:
		return nil, nil, wrong(f.Items, expected, "", "Argument '%s' expected %s, but received an empty list.", f.Items, expected)
	case n > f.MaxItems:
		return nil, nil, wrong(f.Items, expected, fmt.Sprintf("Send them in calls of at most %d each.", f.MaxItems),
			"Argument '%s' expected %s, but received a list with %d items.", f.Items, expected, n)
	}
	for i, item := range items {
		items[i] = words.Encode(item) // without white space
	}
	delete(args, f.Items)
	if head = bytes.TrimSuffix(words.Encode(args), []byte("}")); len(args) > 0 {
		head = append(head, ',')
	}
	return items, append(append(head, words.Encode(f.Item)...), ':'), nil
}

// Arguments returns the arguments for the call of one item. They begin with head.
func Arguments(head []byte, item json.RawMessage) json.RawMessage {
	return slices.Concat(head, item, []byte("}"))
}
