package validate

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// places know where the values of the arguments stand, for errors that say what is
// wrong and not where, or where in the names of a Go struct.
type places struct {
	text   []byte // JSON
	args   any    // as decoded, numbers as they were written
	schema map[string]any

	inputSchema *inputSchema
}

// maxSearched bounds the arguments that are searched, in bytes: such an error is
// most often about something short.
const maxSearched = 1 << 20

func newPlaces(args []byte, s *inputSchema) *places {
	p := &places{text: args, schema: s.tree(), inputSchema: s}
	if len(args) > maxSearched {
		return p
	}
	dec := json.NewDecoder(bytes.NewReader(args))
	dec.UseNumber()
	if dec.Decode(&p.args) != nil {
		p.args = nil
	}
	return p
}

// A path is the way to a value: names of objects' members and indexes of arrays.
type path []any // string or int

// field writes the path as a model does: items[1].sku.
func (p path) field() string {
	var b strings.Builder
	for _, step := range p {
		switch step := step.(type) {
		case int:
			b.WriteString("[" + strconv.Itoa(step) + "]")
		case string:
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(step)
		}
	}
	return b.String()
}

// pointer writes the path as a JSON Pointer (RFC 6901).
func (p path) pointer() string {
	var b strings.Builder
	for _, step := range p {
		b.WriteByte('/')
		switch step := step.(type) {
		case int:
			b.WriteString(strconv.Itoa(step))
		case string:
			b.WriteString(pointerEscaper.Replace(step))
		}
	}
	return b.String()
}

var pointerEscaper = strings.NewReplacer("~", "~0", "/", "~1")

// find returns the path of the only scalar for which a function reports true, nil
// when there is none or more than one.
func (p *places) find(is func(scalar any) bool) path {
	var found path
	count := 0
	walk(p.args, nil, func(at path, scalar any) bool {
		if is(scalar) {
			found = slices.Clone(at)
			count++
		}
		return count < 2
	})
	if count != 1 {
		return nil
	}
	return found
}

// walk visits every scalar, and reports false when visit did.
func walk(v any, at path, visit func(path, any) bool) bool {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			if !walk(member, append(at, name), visit) {
				return false
			}
		}
	case []any:
		for i, item := range v {
			if !walk(item, append(at, i), visit) {
				return false
			}
		}
	default:
		return visit(at, v)
	}
	return true
}

// resolve returns the path for names of a Go struct, which it compares with the
// members of the arguments, and where they lack one, with the properties of the
// schema; present reports whether the arguments have it.
func (p *places) resolve(names path) (at path, value any, present, ok bool) {
	value, present = p.args, p.args != nil
	schema := p.schema
	for _, step := range names {
		switch step := step.(type) {
		case int:
			list, isList := value.([]any)
			if !present || !isList || step < 0 || step >= len(list) {
				return nil, nil, false, false
			}
			value = list[step]
			schema, _ = schema["items"].(map[string]any)
			at = append(at, step)
		case string:
			object, _ := value.(map[string]any)
			properties, _ := schema["properties"].(map[string]any)
			name, inArgs := sameName(step, object)
			if !inArgs {
				var known bool
				if name, known = sameName(step, properties); !known {
					return nil, nil, false, false
				}
			}
			value, present = object[name], inArgs
			schema, _ = properties[name].(map[string]any)
			at = append(at, name)
		}
	}
	return at, value, present, len(at) > 0
}

// sameName finds the member whose name is the given one, or is it but for case and
// what separates words: UserID is user_id.
func sameName(name string, object map[string]any) (string, bool) {
	if _, ok := object[name]; ok {
		return name, true
	}
	if len(object) > maxMembers {
		return "", false
	}
	folded, found := folder.Replace(strings.ToLower(name)), ""
	for have := range object {
		if folder.Replace(strings.ToLower(have)) == folded && (found == "" || have < found) {
			found = have
		}
	}
	return found, found != ""
}

// maxMembers bounds the members that are compared with a name: a struct has fewer.
const maxMembers = 1000

var folder = strings.NewReplacer("_", "", "-", "", " ", "")

// secret reports whether the schema says that a value must not be shown.
func (p *places) secret(pointer string) bool {
	return p.inputSchema.hides(pointer)
}

// declares reports whether the schema says of a place that values of this kind are
// wanted there.
func (p *places) declares(at path, value any) bool {
	schema := p.schema
	for _, step := range at {
		switch step := step.(type) {
		case int:
			schema, _ = schema["items"].(map[string]any)
		case string:
			properties, _ := schema["properties"].(map[string]any)
			schema, _ = properties[step].(map[string]any)
		}
	}
	kind := kindOf(value)
	is := func(name any) bool { return name == kind || kind == "number" && name == "integer" }
	if several, ok := schema["type"].([]any); ok {
		return slices.ContainsFunc(several, is)
	}
	return is(schema["type"])
}
