// Package secrets reads from a tool's schema which of its arguments are secrets.
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

// A Schema holds what the schema of a tool's arguments says about names. It does not change.
type Schema struct {
	// Unsure means that the schema cannot be read, or does not show which names are secret.
	Unsure bool

	all      bool            // the arguments are secrets, whatever their names
	declared map[string]bool // the names of the top level
	known    map[string]bool // names of properties anywhere in the schema, folded
	secret   map[string]bool // the folded names of secrets, by the schema or by the name itself, at any depth
}

// Declares reports whether arguments may have the name on their top level.
func (s *Schema) Declares(name string) bool { return s.declared[name] }

// Secret reports whether the schema declares a secret with this name, or with another spelling of
// it, at any depth. It errs towards hiding, and needs no validator.
func (s *Schema) Secret(name string) bool { return s.secret[folded(name)] }

// Asks reports whether the tool asks for a secret under this name. If the schema is unknown, every
// name of a secret counts as asked for.
func (s *Schema) Asks(name string) bool {
	return s.all || s.Secret(name) || s.Unsure && scrub.SecretName(name)
}

// Without hides the secrets in a value that JSON was decoded into; it may change the value. It
// hides the members that the schema declares as secrets, lists and objects whose name is that of a
// secret, and members whose name is not in the schema but is a misspelt name of a secret. If the
// schema is unknown, it hides every value, so that only the names are left.
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
	secret := s.Unsure || s.Secret(name)
	switch member.(type) {
	case nil:
		return false
	case bool:
		return secret
	case map[string]any, []any:
		secret = secret || scrub.SecretName(name)
	}
	return secret || !s.known[folded(name)] && scrub.Misspelt(name)
}

// Schemas caches the Schema of each tool. The zero value is ready for use.
type Schemas struct {
	read table.Weak[mcp.Tool, *Schema]
}

// None is for the arguments of a prompt, which have no schema and are not secret for that reason.
var None = &Schema{}

// unknown is the Schema of an unknown tool.
var unknown = &Schema{Unsure: true}

// Of returns the Schema of a tool, which is nil if it is unknown.
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

// schemaOf reads a schema of any Go type.
func schemaOf(schema any) *Schema {
	root, ok := schema.(map[string]any)
	if !ok {
		raw, err := safe.JSON(schema)
		if err != nil || json.Unmarshal(raw, &root) != nil || root == nil {
			return unknown
		}
	}
	r := schemaReader{root: root, led: map[string]bool{}, Schema: Schema{declared: map[string]bool{}, known: map[string]bool{}, secret: map[string]bool{}}}
	properties, _ := root["properties"].(map[string]any)
	for name := range properties {
		r.declared[name] = true
	}
	// A reference may lead back to itself. Each round uses what the round before found, until
	// nothing changes.
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
	begun map[string]bool // references that this round has followed
	led   map[string]bool // those that lead to a secret
	found bool            // this round has found one more
	Schema
}

// read notes the names of secret properties below a schema. It reports whether the schema's own
// value is secret, or holds secrets without a name of their own.
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
			r.Unsure = r.Unsure || depth > 0 // references below it are not relative to the root
		case "const", "default", "enum", "examples", "required": // values, not schemas
		case "$defs", "definitions": // its names count, wherever the definitions are used
			r.readAll(v, depth+1)
		default: // "items", "anyOf", "patternProperties", and unknown keywords
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

// follow reads the schema that a reference leads to, once in a round. If there is none, the Schema
// becomes Unsure.
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

// counts reports whether a schema is for a boolean or for a number of tokens. Neither is a secret,
// whatever its name is.
func counts(name string, schema any) bool {
	s, _ := schema.(map[string]any)
	return s["type"] == "boolean" || (s["type"] == "integer" || s["type"] == "number") && strings.HasSuffix(strings.ToLower(name), "tokens")
}

// saysSecret reports whether a schema declares its value as a secret: by the format "password", by
// writeOnly, by its title, or by an extension such as "x-sensitive".
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

// folded returns one form for all names that encoding/json treats as the same: it ignores case.
func folded(name string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
			least = min(least, other)
		}
		return least
	}, name)
}
