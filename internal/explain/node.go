package explain

import (
	"encoding/json"
	"math"
	"regexp"
	"strconv"

	"github.com/google/jsonschema-go/jsonschema"
)

// A node is one schema: what it asks of a value, and what is known of it for the words.
type node struct {
	*jsonschema.Schema
	pointer string // its place in the whole schema
	base    *node  // the schema at which references in it start
	weight  int    // what it costs to look at an object, beside its members
	quoted  int    // the bytes of the values that it names

	always     *bool // for true, false and {}: whether it takes a value
	types      kind
	takenTypes kind            // of the values that it may take, whatever they are
	values     []any           // that const or enum names, nil if there is neither
	keys       map[string]bool // of these values
	pattern    *pattern
	ref        *node
	prefix     []*node
	items      *node // for what is behind the prefix
	members    map[string]*node
	order      []string // the names of members, as they were declared
	patterns   []part
	additional *node // additionalProperties
	allOf      []*node
	anyOf      *fork
	oneOf      *fork
	test       *node // if
	then       *node
	otherwise  *node
	rest       []part // of keywords that are left to the validator
	rare       bool   // there is another one of these keywords

	parts   []part   // the schemas that it is made of
	up      *node    // the schema that it is written in, nil for the root
	as      part     // what it is to that one
	reach   []*node  // the schemas that apply with it, itself first; at most maxKnown
	when    []string // the conditions under which it applies
	hidden  bool     // what it applies to must not be shown
	reached *node    // whose reach found it last
	state   int      // whether it leads back to itself for the same value
	phrase  *string
}

// A part is one of the schemas that another one is made of.
type part struct {
	*node
	keyword string
	name    string   // of the property
	pattern *pattern // of the names of patternProperties
	inside  bool     // it is for a value inside the one that the whole is for
}

// applies reports whether a part says something of the value that the whole is for.
func (p *part) applies() bool { return !p.inside && p.keyword != "if" && p.keyword != "not" }

// A pattern is a regular expression of a schema.
type pattern struct {
	*regexp.Regexp
	instructions int // about as many as its program has
}

// A kind is a set of the types that JSON values have.
type kind uint8

const (
	aString kind = 1 << iota
	anInteger
	aNumber
	aBoolean
	aList
	anObject
	aNull
)

// kinds are the names of the types, in the order in which they are listed.
var kinds = [...]string{"string", "integer", "number", "boolean", "array", "object", "null"}

const anyKind = aString | anInteger | aNumber | aBoolean | aList | anObject | aNull

// typesTaken returns the types of the values that a schema may take. Those of the schemas that it is made of for the
// same value are known.
func (n *node) typesTaken() kind {
	if n.always != nil {
		if *n.always {
			return anyKind
		}
		return 0
	}
	taken, either := anyKind, map[string]kind{}
	if n.types != 0 {
		taken = n.types
	}
	if taken&aNumber != 0 {
		taken |= anInteger
	}
	for _, p := range n.parts {
		switch p.keyword {
		case "$ref", "allOf":
			taken &= p.takenTypes
		case "anyOf", "oneOf":
			either[p.keyword] |= p.takenTypes
		}
	}
	for _, kinds := range either {
		taken &= kinds
	}
	return taken
}

// kindNamed returns the type of a name, 0 if there is none.
func kindNamed(name string) kind {
	for i, text := range kinds {
		if name == text {
			return 1 << i
		}
	}
	return 0
}

// kindOf returns the type of a value; that of every number is aNumber.
func kindOf(v any) kind {
	switch v.(type) {
	case string:
		return aString
	case json.Number, float64:
		return aNumber
	case bool:
		return aBoolean
	case []any:
		return aList
	case map[string]any:
		return anObject
	default:
		return aNull
	}
}

// has reports whether a value is of one of the types.
func (k kind) has(v any) bool {
	of := kindOf(v)
	if of == aNumber && k&(aNumber|anInteger) == anInteger {
		return isInteger(float(v))
	}
	return k&of != 0
}

// float returns a number as the validator takes it. Those of a schema are read so already. One that is too large
// for a float64 is taken for the largest.
func float(v any) float64 {
	f, _ := v.(float64)
	if n, ok := v.(json.Number); ok {
		f, _ = n.Float64()
	}
	return max(-math.MaxFloat64, min(f, math.MaxFloat64))
}

func isInteger(f float64) bool {
	_, rest := math.Modf(f)
	return rest == 0
}

// appendKey writes the same key for values that are the same for the validator, and only for these.
func appendKey(to []byte, v any) []byte {
	switch v := v.(type) {
	case map[string]any:
		to = append(to, '{')
		for _, name := range sortedNames(v) {
			to = appendKey(appendKey(to, name), v[name])
		}
		return append(to, '}')
	case []any:
		to = append(to, '[')
		for _, item := range v {
			to = appendKey(to, item)
		}
		return append(to, ']')
	case string:
		to = append(strconv.AppendInt(append(to, '"'), int64(len(v)), 10), ':')
		return append(to, v...)
	case json.Number:
		return appendKey(to, float(v))
	case float64:
		return append(strconv.AppendFloat(to, v+0, 'g', -1, 64), ',') // 0 is the same as -0
	case bool:
		return append(strconv.AppendBool(to, v), ',')
	default:
		return append(to, 'n')
	}
}
