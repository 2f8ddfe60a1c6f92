package batch

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/mcpchain/mcpchain/fault"
)

// elementOptions are the options of a run of a list's elements.
func elementOptions(list List) *RunOptions[json.RawMessage] {
	var o RunOptions[json.RawMessage]
	if list.Run != nil {
		o = *list.Run
	}
	if o.KeyName == "" && !reserved[list.Item] {
		o.KeyName = list.Item
	}
	if o.Key == nil {
		o.Key = ownText
	}
	return &o
}

// ownText is the key of an item that is a string or a number: itself.
func ownText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	if number := json.Number(""); json.Unmarshal(raw, &number) == nil {
		return number.String()
	}
	return ""
}

// arguments are those of a call but for the item, as the beginning of a JSON object
// that ends with the name of the item.
type arguments []byte

func (a arguments) with(item json.RawMessage) json.RawMessage {
	args := make(json.RawMessage, 0, len(a)+len(item)+1)
	return append(append(append(args, a...), item...), '}')
}

// read reads the arguments of a call of the sibling. An error is the caller's.
func (f *form) read(raw json.RawMessage) ([]json.RawMessage, arguments, error) {
	expected := fmt.Sprintf("a list of 1 to %d values", f.MaxItems)
	wrong := func(field, expected, suggestion, message string, of ...any) ([]json.RawMessage, arguments, error) {
		return nil, nil, fault.Violations(fault.Violation{
			Field: field, Expected: expected, Message: fmt.Sprintf(message, of...), Suggestion: suggestion,
		})
	}
	if most := max(1<<20, f.MaxItems<<14); len(raw) > most {
		return wrong(f.Items, "", "Send fewer or shorter items in a call.",
			"The arguments are %d bytes long, and may be %d.", len(raw), most)
	}
	var args map[string]json.RawMessage
	if len(bytes.TrimSpace(raw)) > 0 && json.Unmarshal(raw, &args) != nil {
		return nil, nil, fault.New(fault.KindValidation, "the arguments are not a JSON object")
	}
	if _, ok := args[f.Item]; ok {
		return wrong(f.Item, "", "", "Argument '%s' does not belong here. Put its value into the list '%s'.", f.Item, f.Items)
	}
	list, ok := args[f.Items]
	if !ok {
		return nil, nil, fault.Invalid(f.Items, nil, expected)
	}
	var items []json.RawMessage
	if json.Unmarshal(list, &items) != nil || items == nil {
		received := decoded(list)
		e := fault.Invalid(f.Items, received, expected)
		if received != nil {
			e = e.Suggest("Send a list, even for one item.")
		}
		return nil, nil, e
	}
	switch n := len(items); {
	case n == 0:
		return wrong(f.Items, expected, "", "Argument '%s' expected %s, but received none.", f.Items, expected)
	case n > f.MaxItems:
		return wrong(f.Items, expected, fmt.Sprintf("Send them in calls of at most %d each.", f.MaxItems),
			"Argument '%s' expected %s, but received %d.", f.Items, expected, n)
	}
	for i, item := range items {
		items[i] = encode(item) // without white space, which is how duplicates are told
	}
	delete(args, f.Items)
	head := bytes.TrimSuffix(encode(args), []byte("}"))
	if len(args) == 0 {
		head = []byte("{")
	} else {
		head = append(head, ',')
	}
	return items, arguments(append(append(head, encode(f.Item)...), ':')), nil
}

// decoded returns the value of JSON that was read.
func decoded(raw json.RawMessage) (v any) {
	_ = json.Unmarshal(raw, &v)
	return v
}

// distinct returns the items that are run, and for each of all items the place of the
// one that stands for it; nil places are the items' own.
func (f *form) distinct(elements []json.RawMessage) (run []json.RawMessage, places []int) {
	if f.RunDuplicates || len(elements) == 1 {
		return elements, nil
	}
	seen := make(map[string]int, len(elements))
	places = make([]int, len(elements))
	run = make([]json.RawMessage, 0, len(elements))
	for i, e := range elements {
		place, again := seen[string(e)]
		if !again {
			place = len(run)
			seen[string(e)] = place
			run = append(run, e)
		}
		places[i] = place
	}
	if len(run) == len(elements) {
		return elements, nil
	}
	return run, places
}

// spread gives each of all items the outcome of the one that stands for it.
func spread(r *Result[any], elements []json.RawMessage, places []int) *Result[any] {
	if places == nil {
		return r
	}
	all := *r
	all.Items = make([]Item[any], len(elements))
	for i, place := range places {
		all.Items[i] = r.Items[place]
		all.Items[i].Index = i
	}
	all.send = func(i int) any { return elements[i] }
	all.count()
	return &all
}
