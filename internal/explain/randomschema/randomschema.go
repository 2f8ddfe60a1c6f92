// Package randomschema makes random JSON Schemas and values, for tests that compare what several
// validators say of them.
package randomschema

import (
	"math/rand/v2"
	"strconv"
	"strings"
)

// Canary is a secret that stands where nothing may be shown: below the name of a secret, in texts that
// are too long, and in texts that hold JSON.
const Canary = "kanari-9f3e"

// A Generator makes schemas and values.
type Generator struct {
	*rand.Rand
	draft   int
	targets []string // what a reference inside of a value may lead to
	same    []string // what one for the same value may lead to
	dynamic bool     // there is an anchor for dynamic references
}

// New returns a Generator that makes the same each time.
func New(seed, stream uint64) *Generator {
	return &Generator{Rand: rand.New(rand.NewPCG(seed, stream)), draft: 2020}
}

var names = []string{"a", "b", "color", "colour", "size", "password", "token", "x y"}

func (g *Generator) name() string { return names[g.IntN(len(names))] }

func (g *Generator) names() (some []string) {
	set := map[string]bool{}
	for range g.IntN(3) + 1 {
		set[g.name()] = true
	}
	for _, name := range names {
		if set[name] {
			some = append(some, name)
		}
	}
	return some
}

func one[T any](g *Generator, of ...T) T { return of[g.IntN(len(of))] }

// Value writes a JSON value. Below the name of a secret every text is the canary.
func (g *Generator) Value(depth int, secret bool) string {
	n := 8
	if depth == 0 {
		n = 6
	}
	switch g.IntN(n) {
	case 0:
		return "null"
	case 1:
		return one(g, "true", "false")
	case 2:
		return one(g, "0", "1", "-2", "3.5", "1.0", "1e2", "0.3", "12345678901234567890")
	case 3, 4:
		if secret {
			return `"` + Canary + `"`
		}
		return one(g, `""`, `"a"`, `"red"`, `"rde"`, `"2"`, `"é"`, `"2026-01-31"`, `"{\"a\":\"`+Canary+`\"}"`, `"`+strings.Repeat("long ", 15)+Canary+`"`)
	case 5, 6:
		members := []string{}
		for _, name := range g.names() {
			members = append(members, `"`+name+`":`+g.Value(max(0, depth-1), secret || name == "password" || name == "token"))
		}
		return "{" + strings.Join(members, ",") + "}"
	default:
		items := []string{}
		for range g.IntN(4) {
			items = append(items, g.Value(depth-1, secret))
		}
		return "[" + strings.Join(items, ",") + "]"
	}
}

// Schema makes a schema without references but to itself.
func (g *Generator) Schema(depth int) map[string]any {
	s := map[string]any{}
	for range g.IntN(3) + 1 {
		g.keyword(s, depth)
	}
	return s
}

const base = "https://schemas.example/"

// addresses are those of the drafts' own schemas.
var addresses = map[int]string{
	4: "http://json-schema.org/draft-04/schema#", 6: "http://json-schema.org/draft-06/schema#", 7: "http://json-schema.org/draft-07/schema#",
	2019: "https://json-schema.org/draft/2019-09/schema", 2020: "https://json-schema.org/draft/2020-12/schema",
}

// Document makes a schema of a draft (4, 6, 7, 2019 or 2020), with addresses, anchors and references
// of all kinds that the draft knows.
func (g *Generator) Document(draft, depth int) map[string]any {
	g.draft, g.dynamic = draft, g.IntN(2) == 0
	id, defs := "$id", "$defs"
	if draft < 2019 {
		defs = "definitions"
	}
	if draft == 4 {
		id = "id"
	}
	const count = 3
	ways := make([][]string, count)
	embedded := make([]bool, count)
	for i := range count {
		n := strconv.Itoa(i)
		ways[i] = []string{base + "root#/" + defs + "/d" + n}
		if embedded[i] = g.IntN(3) == 0; embedded[i] {
			ways[i] = []string{base + "at/" + n, "/at/" + n}
		}
		if draft >= 2019 || !embedded[i] {
			ways[i] = append(ways[i], one(g, ways[i]...))
		}
		g.targets = append(g.targets, ways[i]...)
	}
	g.targets = append(g.targets, base+"root")
	made := map[string]any{}
	for i := range count {
		g.same = nil
		for _, later := range ways[i+1:] {
			g.same = append(g.same, later...)
		}
		s := g.Schema(depth)
		if _, refers := s["$ref"]; refers && draft < 2019 {
			s = map[string]any{"allOf": []any{s}}
		}
		if embedded[i] {
			s[id] = base + "at/" + strconv.Itoa(i)
			g.anchor(s)
		}
		made["d"+strconv.Itoa(i)] = s
	}
	g.same = nil
	for _, way := range ways {
		g.same = append(g.same, way...)
	}
	root := g.Schema(depth)
	if _, refers := root["$ref"]; refers && draft < 2019 {
		root = map[string]any{"allOf": []any{root}}
	}
	root["$schema"], root[id], root[defs] = addresses[draft], base+"root", made
	g.anchor(root)
	return root
}

// anchor lets dynamic references lead to a schema that has an address.
func (g *Generator) anchor(s map[string]any) {
	switch {
	case !g.dynamic:
	case g.draft == 2020:
		s["$dynamicAnchor"] = "node"
	case g.draft == 2019:
		s["$recursiveAnchor"] = g.IntN(3) > 0
	}
}

// inside makes a schema for a value in the one that its keyword is for: it may refer to any other one.
func (g *Generator) inside(depth int) map[string]any {
	same := g.same
	g.same = g.targets
	s := g.Schema(depth)
	g.same = same
	if g.dynamic && g.IntN(4) == 0 {
		switch g.draft {
		case 2020:
			s["$dynamicRef"] = "#node"
		case 2019:
			s["$recursiveRef"] = "#"
		}
	}
	return s
}

func (g *Generator) schemas(depth int, schema func(int) map[string]any) []any {
	list := make([]any, g.IntN(2)+1)
	for i := range list {
		list[i] = schema(depth)
	}
	return list
}

func (g *Generator) properties(depth int) map[string]any {
	m := map[string]any{}
	for _, name := range g.names() {
		m[name] = g.inside(depth)
	}
	return m
}

func (g *Generator) keyword(s map[string]any, depth int) {
	n := 44
	if depth == 0 {
		n = 18
	}
	sub := depth - 1
	switch g.IntN(n) {
	case 0, 1, 2:
		s["type"] = one[any](g, "string", "integer", "number", "boolean", "object", "array", "null", []any{"string", "null"}, []any{"integer", "object"})
	case 3:
		s["enum"] = one(g, []any{"red", "green"}, []any{1, "a", nil}, []any{true, []any{}})
	case 4:
		s["const"] = one[any](g, "red", 1, map[string]any{"a": 1}, nil)
	case 5:
		s["minimum"] = g.IntN(4)
	case 6:
		s["maximum"] = g.IntN(4)
	case 7:
		g.exclusive(s, "exclusiveMinimum", "minimum", float64(g.IntN(8))/2)
	case 8:
		g.exclusive(s, "exclusiveMaximum", "maximum", g.IntN(4))
	case 9:
		s["multipleOf"] = one[any](g, 1, 2, 0.5, 0.1)
	case 10:
		s["minLength"] = g.IntN(3)
	case 11:
		s["maxLength"] = g.IntN(5)
	case 12:
		s["pattern"] = one(g, "^a", "e", "^[a-z]+$", "(?=a)a")
	case 13:
		s["format"] = one(g, "date", "email", "ipv4", "password", "unheard-of")
	case 14:
		s["minItems"], s["uniqueItems"] = g.IntN(3), g.IntN(2) == 0
	case 15:
		s["maxItems"] = g.IntN(3)
	case 16:
		s["minProperties"] = g.IntN(3)
	case 17:
		s["required"] = g.names()
	case 18, 19, 20, 21:
		s["properties"] = g.properties(sub)
	case 22, 23:
		s["additionalProperties"] = g.boolOr(sub, g.inside)
	case 24:
		s["patternProperties"] = map[string]any{"^c": g.inside(sub), "o": g.inside(sub)}
	case 25:
		s["propertyNames"] = g.inside(0)
	case 26:
		s["dependentRequired"] = map[string]any{g.name(): g.names()}
	case 27:
		s["dependentSchemas"] = map[string]any{g.name(): g.Schema(sub)}
	case 28:
		s["dependencies"] = map[string]any{g.name(): g.names(), "zz": g.Schema(sub)}
	case 29:
		if s["items"] = g.boolOr(sub, g.inside); g.draft < 2020 && g.IntN(2) == 0 {
			s["items"], s["additionalItems"] = g.schemas(sub, g.inside), g.boolOr(sub, g.inside)
		}
	case 30:
		s["prefixItems"] = g.schemas(sub, g.inside)
	case 31:
		s["contains"], s["minContains"], s["maxContains"] = g.inside(sub), g.IntN(3), g.IntN(3)+1
	case 32:
		s["unevaluatedItems"] = g.boolOr(sub, g.inside)
	case 33:
		s["unevaluatedProperties"] = g.boolOr(sub, g.inside)
	case 34:
		s["allOf"] = g.schemas(sub, g.Schema)
	case 35:
		s["anyOf"] = g.schemas(sub, g.Schema)
	case 36:
		s["oneOf"] = g.schemas(sub, g.Schema)
	case 37:
		s["not"] = g.Schema(sub)
	case 38:
		s["if"], s["then"], s["else"] = g.Schema(sub), g.Schema(sub), g.boolOr(sub, g.Schema)
	case 39:
		s["properties"] = map[string]any{g.name(): map[string]any{"$ref": "#"}} // not in place, where it would mean nothing
	case 40:
		s["writeOnly"] = true
	default:
		if g.same != nil {
			s["$ref"] = one(g, g.same...)
		}
	}
}

// exclusive writes a limit, which draft 4 has as a boolean beside another one.
func (g *Generator) exclusive(s map[string]any, exclusive, limit string, value any) {
	if g.draft == 4 {
		s[limit], value = value, true
	}
	s[exclusive] = value
}

// boolOr makes a schema that may be a boolean, but for draft 4.
func (g *Generator) boolOr(depth int, schema func(int) map[string]any) any {
	switch n := g.IntN(3); {
	case n == 2:
		return schema(depth)
	case g.draft > 4:
		return n == 1
	case n == 1:
		return map[string]any{}
	default:
		return map[string]any{"not": map[string]any{}}
	}
}
