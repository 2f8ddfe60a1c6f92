// Package secrets tells which arguments of a tool are secrets, by its schema.
package secrets

import (
	"encoding/json"
	"strings"
	"unicode"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/safe"
	"github.com/mcpchain/mcpchain/internal/scrub"
	"github.com/mcpchain/mcpchain/internal/table"
)

// A Schema is what the schema of a tool's arguments says of names. It does not change.
type Schema struct {
	// Unsure says that the schema cannot be read, or does not tell which names are secret.
	Unsure bool

	all      bool            // the arguments are secrets, whatever their names
	declared map[string]bool // of the top level
	known    map[string]bool // names of properties anywhere in the schema, folded
	secret   map[string]bool // what is a secret by the schema or by its name, wherever it stands, by its folded name
}

// Declares reports whether arguments may have the name on their top level.
func (s *Schema) Declares(name string) bool { return s.declared[name] }

// Secret reports whether the schema declares a secret under the name, or under another
// spelling of it, anywhere: it errs towards hiding, and needs no validator.
func (s *Schema) Secret(name string) bool { return s.secret[folded(name)] }

// Asks reports whether the tool asks for a secret under the name. If the schema is not
// known, a name that says secret counts as asked for.
func (s *Schema) Asks(name string) bool {
	return s.all || s.Secret(name) || s.Unsure && scrub.SecretName(name)
}

// Without hides the secrets in a value that JSON was decoded into, which it may change:
// the members that the schema declares as secrets, and lists and objects under a name that
// says so, and under one that the schema does not have and that is the misspelt name of a secret.
// If the schema is not known, only the names in the value are left.
func (s *Schema) Without(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for name, member := range v {
			if s.hides(name, member) {
				v[name] = scrub.Redacted
			} else {
				v[name] = s.Without(member)
			}
		}
	case []any:
		for i, e := range v {
			v[i] = s.Without(e)
		}
	case nil:
	default:
		if s.Unsure {
			return scrub.Redacted
		}
	}
	return value
}

func (s *Schema) hides(name string, member any) bool {
	switch member.(type) {
	case nil:
		return false
	case bool:
	default:
		if !s.known[folded(name)] && scrub.Misspelt(name) {
			return true
		}
	}
	switch member.(type) {
	case map[string]any, []any:
		return s.Unsure || s.Secret(name) || scrub.SecretName(name)
	default:
		return s.Unsure || s.Secret(name)
	}
}

// Schemas keeps what was read of the arguments' schemas. The zero value is ready for use.
type Schemas struct {
	read table.Weak[mcp.Tool, *Schema]
}

// None is the Schema of what has none, and whose values are no secrets for that: the arguments of a prompt.
var None = &Schema{}

// unknown is the Schema of a tool that nobody knows.
var unknown = &Schema{Unsure: true}

// Of returns the Schema of a tool, which is nil if nobody knows it.
func (k *Schemas) Of(tool *mcp.Tool) *Schema {
	if tool == nil {
		return unknown
	}
	return k.read.Of(tool, func(tool *mcp.Tool) *Schema { return schemaOf(tool.InputSchema) })
}

// The bounds of a schema that is read.
const (
	maxSchemaDepth  = 32
	maxSchemaNodes  = 10_000
	maxSchemaRounds = 8
)

// schemaOf reads a schema as a tool has it.
func schemaOf(schema any) *Schema {
	root, ok := schema.(map[string]any)
	if !ok {
		raw, err := safe.JSON(schema)
		if err != nil || json.Unmarshal(raw, &root) != nil || root == nil {
			return unknown
		}
	}
	r := schemaReader{root: root, led: map[string]bool{}, Schema: Schema{declared: map[string]bool{}, known: map[string]bool{}, secret: map[string]bool{}}}
	if properties, ok := root["properties"].(map[string]any); ok {
		for name := range properties {
			r.declared[name] = true
		}
	}
	// A reference may lead back to itself. Each round takes what the round before found there, until nothing changes.
	for range maxSchemaRounds {
		r.found, r.nodes, r.begun = false, 0, map[string]bool{}
		if r.read(root, 0) {
			r.Unsure, r.all = true, !r.Unsure
		}
		if r.Unsure || !r.found {
			return &r.Schema
		}
	}
	return unknown
}

type schemaReader struct {
	root  map[string]any
	nodes int
	begun map[string]bool // references that were followed in this round
	led   map[string]bool // those that lead to a secret
	found bool            // there is one more of them
	Schema
}

// read notes the names of secret properties below a schema. It reports whether the value
// that the schema is for is secret itself, or holds secrets that have no name of their own.
func (r *schemaReader) read(schema any, depth int) (secret bool) {
	if r.nodes++; r.nodes > maxSchemaNodes || depth > maxSchemaDepth {
		r.Unsure = true
		return true
	}
	s, ok := schema.(map[string]any)
	if !ok {
		return false
	}
	secret = saysSecret(s)
	for keyword, v := range s {
		switch keyword {
		case "properties":
			members, _ := v.(map[string]any)
			for name, member := range members {
				r.known[folded(name)] = true
				if r.read(member, depth+1) || scrub.SecretName(name) && !counts(name, member) {
					r.secret[folded(name)] = true
				}
			}
		case "$ref", "$dynamicRef", "$recursiveRef":
			secret = r.follow(v, depth) || secret
		case "$id":
			r.Unsure = r.Unsure || depth > 0 // references below it are not from the root
		case "const", "default", "enum", "examples", "required": // values, and no schemas
		case "$defs", "definitions": // the names in it count, wherever it is used
			r.readAll(v, depth+1)
		default: // "items", "anyOf", "patternProperties", and what nobody knows
			secret = r.readAll(v, depth+1) || secret
		}
	}
	return secret
}

// readAll reads a schema, schemas by name, or a list of them.
func (r *schemaReader) readAll(v any, depth int) (secret bool) {
	list, ok := v.([]any)
	if !ok {
		return r.read(v, depth)
	}
	for _, e := range list {
		secret = r.read(e, depth) || secret
	}
	return secret
}

// follow reads the schema that a reference leads to, once in a round. If there is none, it
// is not known what is secret.
func (r *schemaReader) follow(ref any, depth int) (secret bool) {
	pointer, _ := ref.(string)
	if r.begun[pointer] {
		return r.led[pointer]
	}
	r.begun[pointer] = true
	path, local := strings.CutPrefix(pointer, "#")
	var at any = r.root
	for name := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		if members, ok := at.(map[string]any); ok && path != "" {
			at = members[strings.NewReplacer("~1", "/", "~0", "~").Replace(name)]
		}
	}
	if _, found := at.(map[string]any); !local || !found {
		r.Unsure = true
		return true
	}
	if r.read(at, depth+1) && !r.led[pointer] {
		r.led[pointer], r.found = true, true
	}
	return r.led[pointer]
}

// counts reports whether a schema is for a boolean or for a number of tokens. Neither is a
// secret, whatever its name is.
func counts(name string, schema any) bool {
	s, _ := schema.(map[string]any)
	return s["type"] == "boolean" || (s["type"] == "integer" || s["type"] == "number") && strings.HasSuffix(strings.ToLower(name), "tokens")
}

// saysSecret reports whether a schema says that its value is a secret: by the format
// "password", by writeOnly, by its title, or by an extension such as "x-sensitive".
func saysSecret(s map[string]any) bool {
	if s["format"] == "password" || s["writeOnly"] == true {
		return true
	}
	if title, _ := s["title"].(string); scrub.SecretName(title) {
		return true
	}
	for keyword, v := range s {
		if v == true && strings.HasPrefix(keyword, "x-") && (strings.Contains(keyword, "secret") || strings.Contains(keyword, "sensitive")) {
			return true
		}
	}
	return false
}

// folded returns one form for all names that encoding/json takes for the same name: it
// ignores their case.
func folded(name string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
			least = min(least, other)
		}
		return least
	}, name)
}
