package explain

import (
	"encoding/json"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// A node is one schema: what it asks of a value, and what is known of it for the words.
type node struct {
	pointer  string // its place in the whole schema
	draft    int
	resource *resource
	always   *bool // for true, false and {}: whether it takes a value
	shape    shape // for a draft's own schema, or a part of it: what it takes

	ref        *node
	references []*leading

	types           kind
	constant, enum  *literals
	format          *format
	minLength       *int
	maxLength       *int
	pattern         *pattern
	minimum         *big.Rat
	maximum         *big.Rat
	above, below    *big.Rat // the exclusive limits
	multipleOf      *big.Rat
	minItems        *int
	maxItems        *int
	unique          bool
	prefix          []*node
	items           *node // for what is behind the prefix
	contains        *node
	minContains     *int
	maxContains     *int
	unseenItems     *node // unevaluatedItems
	minProperties   *int
	maxProperties   *int
	required        []string
	dependencies    []dependency
	members         map[string]*node
	order           []string // the names of members, as they were declared
	patterns        []part
	additional      *node // additionalProperties
	names           *node // propertyNames
	unseen          *node // unevaluatedProperties
	allOf           []*node
	anyOf, oneOf    *fork
	not             *node
	test            *node // if
	then, otherwise *node

	description string
	examples    []any
	writeOnly   bool

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
	name    string   // of the property or condition
	pattern *pattern // of the names of patternProperties
	inside  bool     // it is for a value inside the one that the whole is for
}

// A leading is a reference.
type leading struct {
	to        *node
	anchor    string // it leads to the outermost schema around that has this anchor, if it is not ""
	recursive bool   // it leads to the outermost schema around that says so
}

// A dependency is what an object must have, or be, if it has a name.
type dependency struct {
	name     string
	rule     string
	required []string
	schema   *node
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

// kindNamed returns the type of a name, 0 if there is none.
func kindNamed(name any) kind {
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
	case json.Number:
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
		n, _ := v.(json.Number)
		return isInteger(n)
	}
	return k&of != 0
}

func isInteger(n json.Number) bool {
	return !strings.ContainsAny(string(n), ".eE") || rat(n).IsInt()
}

// literals are the values that const or enum names.
type literals struct {
	values []any
	keys   map[string]bool
}

func newLiterals(values ...any) *literals {
	l := &literals{values, make(map[string]bool, len(values))}
	for _, v := range values {
		l.keys[string(appendKey(nil, v))] = true
	}
	return l
}

// appendKey writes the same key for values that are the same by JSON Schema, and only for these.
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
		if _, small := wholeNumber(v); small && v != "-0" {
			return append(append(to, v...), ',')
		}
		return append(append(to, rat(v).RatString()...), ',')
	case bool:
		return append(strconv.AppendBool(to, v), ',')
	default:
		return append(to, 'n')
	}
}

// wholeNumber returns a number that is written as a short integer.
func wholeNumber(n json.Number) (whole int64, ok bool) {
	if len(n) > 18 {
		return 0, false
	}
	whole, err := strconv.ParseInt(string(n), 10, 64)
	return whole, err == nil
}

// compare compares a number with a limit.
func compare(n json.Number, limit *big.Rat) int {
	if whole, ok := wholeNumber(n); ok && limit.IsInt() && limit.Num().IsInt64() {
		switch other := limit.Num().Int64(); {
		case whole < other:
			return -1
		case whole > other:
			return 1
		default:
			return 0
		}
	}
	return rat(n).Cmp(limit)
}

// divisible reports whether a number is a multiple of another one.
func divisible(n json.Number, by *big.Rat) bool {
	if whole, ok := wholeNumber(n); ok && by.IsInt() && by.Num().IsInt64() {
		return whole%by.Num().Int64() == 0
	}
	return new(big.Rat).Quo(rat(n), by).IsInt()
}

// dividesRounded reports what divisible does for a validator that computes with float64, as that of the SDK
// does: for it 0.3 is no multiple of 0.1.
func dividesRounded(n json.Number, by *big.Rat) bool {
	value, _ := n.Float64()
	step, _ := by.Float64()
	_, rest := math.Modf(value / step)
	return rest == 0
}
