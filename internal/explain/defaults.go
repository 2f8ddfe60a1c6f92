package explain

import (
	"bytes"
	"errors"
	"fmt"
)

// Defaults returns args with the defaults of the schema filled in, as the SDK
// does it for typed tools (ApplyDefaults of github.com/google/jsonschema-go): for
// properties that are missing and not required, also in objects that are there
// or come to be by that; not behind references, in lists or in the forms of a
// choice. Absent arguments become an object, and what is no object stays as it is.
//
// What is there keeps its order and its numbers as they are written; a name that
// was sent twice stays once, with its last value. The arguments need not be
// valid by the schema; it is an error when they are not JSON.
func (s *Schema) Defaults(args []byte) ([]byte, error) {
	if blank(args) {
		args = []byte("{}")
	}
	if !s.defaults {
		return args, nil
	}
	d, broken := parse(string(args))
	if broken != nil {
		if broken.rule != ruleJSON {
			return nil, errors.New("explain: the arguments are nested too deeply or too large")
		}
		return nil, fmt.Errorf("explain: the arguments are not valid JSON: %s, at byte %d", broken.what, broken.offset)
	}
	if d.values[0].kind != kindObject {
		return args, nil
	}
	var b bytes.Buffer
	b.Grow(len(args) + len(args)/2)
	s.fill(&b, d, 0, 0)
	return b.Bytes(), nil
}

// fill writes the value at with the defaults of the schema that is written at raw.
func (s *Schema) fill(b *bytes.Buffer, d *doc, at, raw int32) {
	properties, ok := s.raw.member(raw, "properties")
	if d.values[at].kind != kindObject || s.raw.values[raw].kind != kindObject || !ok {
		d.write(b, at)
		return
	}
	required := s.requiredAt(raw)
	b.WriteByte('{')
	first := true
	begin := func(name string) {
		if !first {
			b.WriteByte(',')
		}
		first = false
		writeString(b, name)
		b.WriteByte(':')
	}
	has := make(map[string]bool, d.values[at].count)
	for c := range d.children(at) {
		name := d.values[c].name
		has[name] = true
		begin(name)
		if sub, ok := s.raw.member(properties, name); ok && !required[name] {
			s.fill(b, d, c, sub)
		} else {
			d.write(b, c)
		}
	}
	for sub := range s.raw.children(properties) {
		name := s.raw.values[sub].name
		if has[name] || required[name] {
			continue
		}
		if value, ok := s.defaultAt(sub); ok {
			begin(name)
			s.fill(b, s.raw, value, sub)
		} else if s.hasDefaults(sub) {
			begin(name)
			s.fill(b, emptyObject, 0, sub)
		}
	}
	b.WriteByte('}')
}

var emptyObject, _ = parse("{}")

func (s *Schema) requiredAt(raw int32) map[string]bool {
	names := map[string]bool{}
	if list, ok := s.raw.member(raw, "required"); ok {
		for c := range s.raw.children(list) {
			names[s.raw.values[c].text] = true
		}
	}
	return names
}

// defaultAt finds the default of the schema that is written at raw.
func (s *Schema) defaultAt(raw int32) (int32, bool) {
	if s.raw.values[raw].kind != kindObject {
		return none, false
	}
	return s.raw.member(raw, "default")
}

// hasDefaults reports whether a schema, or a property in it, has a default.
func (s *Schema) hasDefaults(raw int32) bool {
	if _, ok := s.defaultAt(raw); ok {
		return true
	}
	if s.raw.values[raw].kind != kindObject {
		return false
	}
	if properties, ok := s.raw.member(raw, "properties"); ok {
		for c := range s.raw.children(properties) {
			if s.hasDefaults(c) {
				return true
			}
		}
	}
	return false
}
