package explain

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mcpchain/mcpchain/internal/safe"
)

const (
	// maxValues bounds a schema: every object, list, text and number in it counts.
	maxValues = 100_000
	// maxSchemas bounds the objects in it, each of which may be a schema: the
	// library that resolves them takes time by the square of their number.
	maxSchemas = 10_000
	// maxSchemaExponent bounds the numbers in it. No reader of JSON has larger ones.
	maxSchemaExponent = 400
	// place is the address of a schema that does not name itself.
	place = "https://schema.invalid/arguments"
)

// Schema is a compiled JSON Schema. It never changes and may be used
// concurrently.
type Schema struct {
	root     *node
	raw      *doc // the schema as it was written
	anchors  map[*node]map[string]*node
	known    map[string]name // the names of its properties
	dynamic  bool            // has a reference that depends on the way to it
	hides    bool            // has something that must not be shown
	defaults bool            // has a default
}

// Compile makes a Schema of anything that marshals to a JSON Schema: bytes of
// JSON, a map, a bool, a struct. The draft is 2020-12 unless "$schema" names
// another one. References lead to places in the schema itself or to the drafts'
// own schemas: nothing is read from a file or a network.
//
// A pattern that regexp cannot read, such as one that looks ahead, is not
// checked. The error is for the log: it may quote the schema.
func Compile(schema any) (_ *Schema, err error) {
	defer func() {
		if p := recover(); p != nil { // a stranger's MarshalJSON, or a schema that the compiler did not expect
			err = fmt.Errorf("explain: compiling the schema panicked: %s", safe.Value(p))
		}
	}()
	text, err := schemaJSON(schema)
	if err != nil {
		return nil, err
	}
	raw, broken := parse(text)
	if broken != nil && broken.rule != ruleJSON {
		return nil, errors.New("explain: the schema is nested too deeply or too large")
	}
	if broken != nil {
		return nil, fmt.Errorf("explain: the schema is not valid JSON: %s, at byte %d", broken.what, broken.offset)
	}
	if err := checkSize(raw); err != nil {
		return nil, err
	}
	b := builder{raw: raw, nodes: map[*jsonschema.Schema]*node{}, schema: &Schema{raw: raw}}
	root, err := b.compile(raw.plain(0))
	if err != nil {
		return nil, fmt.Errorf("explain: %w", err)
	}
	if b.schema.root, err = b.node(root); err != nil {
		return nil, fmt.Errorf("explain: %w", err)
	}
	b.finish()
	return b.schema, nil
}

func schemaJSON(schema any) (string, error) {
	switch s := schema.(type) {
	case nil:
		return "", errors.New("explain: the schema is nil")
	case []byte:
		return string(s), nil
	case json.RawMessage:
		return string(s), nil
	}
	text, err := json.Marshal(schema)
	if err != nil {
		return "", fmt.Errorf("explain: the schema cannot be marshalled: %w", err)
	}
	return string(text), nil
}

func checkSize(raw *doc) error {
	if len(raw.values) > maxValues {
		return fmt.Errorf("explain: the schema has %d values, more than %d", len(raw.values), maxValues)
	}
	objects := 0
	for i := range raw.values {
		v := &raw.values[i]
		if v.kind == kindObject {
			if objects++; objects > maxSchemas {
				return fmt.Errorf("explain: the schema has more than %d objects in it", maxSchemas)
			}
		}
		if v.kind != kindNumber {
			continue
		}
		if d := parseDecimal(v.text); len(v.text) > maxDigits || d.point > maxSchemaExponent || d.point < -maxSchemaExponent {
			return fmt.Errorf("explain: the number %.40s in the schema is out of range", v.text)
		}
	}
	return nil
}

// refuse is a loader that loads nothing.
type refuse struct{}

func (refuse) Load(url string) (any, error) {
	return nil, fmt.Errorf("the schema refers to %s, which is outside of it", url)
}

// compile lets the library resolve what refers to what.
func (b *builder) compile(schema any) (*jsonschema.Schema, error) {
	compiled, err := b.compileAt(schema)
	if err == nil {
		return compiled, nil
	}
	object, ok := schema.(map[string]any)
	if _, names := object["$schema"].(string); !ok || !names {
		return nil, err
	}
	// A draft that nobody knows is most likely one of those that are known.
	delete(object, "$schema")
	if compiled, e := b.compileAt(object); e == nil {
		return compiled, nil
	}
	return nil, err
}

func (b *builder) compileAt(schema any) (*jsonschema.Schema, error) {
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat() // whether a format counts is decided when it is checked
	c.UseLoader(refuse{})
	c.UseRegexpEngine(regexpEngine)
	for _, f := range otherFormats {
		c.RegisterFormat(f)
	}
	b.compiler = c
	if err := c.AddResource(place, schema); err != nil {
		return nil, err
	}
	return c.Compile(place)
}

// plain returns the value at i as encoding/json would decode it with numbers
// left as they are.
func (d *doc) plain(i int32) any {
	v := &d.values[i]
	switch v.kind {
	case kindBoolean:
		return v.text == "true"
	case kindNumber:
		return json.Number(v.text)
	case kindString:
		return v.text
	case kindArray:
		list := make([]any, 0, v.count)
		for c := range d.children(i) {
			list = append(list, d.plain(c))
		}
		return list
	case kindObject:
		object := make(map[string]any, v.count)
		for c := range d.children(i) {
			object[d.values[c].name] = d.plain(c)
		}
		return object
	default:
		return nil
	}
}

// children yields the places of what is in the container at i.
func (d *doc) children(i int32) func(func(int32) bool) {
	return func(yield func(int32) bool) {
		end := d.values[i].next
		for c := i + 1; c < end; c = d.values[c].next {
			if !d.values[c].dead && !yield(c) {
				return
			}
		}
	}
}

// member finds a member by its name.
func (d *doc) member(i int32, name string) (int32, bool) {
	for c := range d.children(i) {
		if d.values[c].name == name {
			return c, true
		}
	}
	return none, false
}
