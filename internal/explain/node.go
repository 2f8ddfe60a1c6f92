package explain

import (
	"math/big"
	"regexp"
)

// A node is one schema, ready to be walked: everything that does not depend on
// the arguments is worked out when it is made.
type node struct {
	id       int32
	always   int8 // 1: everything is valid, -1: nothing is
	draft    int
	resource *node // the schema that this one's $id is of

	// Refinements of the walk.
	cyclic bool // may come back to itself without going down in the arguments
	forks  bool // applies more than one schema to a value, or to one in it, so that a recursive one multiplies
	tracks bool // has unevaluatedProperties or unevaluatedItems
	hidden bool // what it describes must not be shown, by itself or by what applies in place

	notes annotations
	said  *string // the phrase for it, once it has been made

	types    kind // 0 for any
	enum     []literal
	constant *literal
	format   *format

	// In place.
	ref          *node
	dynamic      *dynamic
	allOf        []*node
	anyOf, oneOf *choice
	not          *node
	condition    *node
	then         *node
	otherwise    *node
	onlyName     string // the name that a simple condition asks for
	onlyWhen     string // the condition in words, "'country' is 'US'"; "" when it is not simple
	onlyUnless   string // and its opposite
	dependents   []dependent

	// Numbers.
	minimum, maximum, above, below *limit
	multiple                       *big.Rat
	multipleText                   string

	// Texts. A negative length is none.
	minLength, maxLength int
	pattern              *regexp.Regexp
	patternText          string

	// Lists. A negative count is none.
	minItems, maxItems       int
	unique                   bool
	prefix                   []*node
	items                    *node // of those after prefix
	itemsRule                string
	contains                 *node
	minContains, maxContains int
	unevaluatedItems         *node

	// Objects.
	minProps, maxProps int
	required           []string
	props              map[string]*property
	order              []*property // as the schema declares them; without those that are only required
	patterns           []patternProps
	additional         *node
	names              *node
	unevaluatedProps   *node
}

// annotations are what a schema says for people.
type annotations struct {
	title, description string
	examples           []literal
	fallback           *literal // the default
}

// A property is a name that a schema knows.
type property struct {
	name     string
	node     *node // nil when the name is only required
	order    int   // the place in the schema
	required int   // the place in required, -1 for none
}

type patternProps struct {
	pattern *regexp.Regexp // nil for one that is not checked
	text    string
	node    *node
}

// A dependent is what holds when an object has a name.
type dependent struct {
	rule     string
	name     string
	required []string
	node     *node
}

// A dynamic is a $dynamicRef or $recursiveRef: where it leads depends on the way
// that led to it.
type dynamic struct {
	anchor string // of a $dynamicRef, "" for one that is like a $ref
	target *node
}

// A literal is a value that stands in a schema.
type literal struct {
	doc *doc
	raw string // JSON without needless space
}

// A choice is an anyOf or a oneOf.
type choice struct {
	rule     string
	branches []*node
	// by is the name of the property that tells the branches apart, and tags the
	// values of it that each of them takes; "" when there is none.
	by   string
	tags [][]literal
	// sets are the required names of each branch when the branches ask for
	// nothing else, nil otherwise.
	sets [][]string
}

const none = -1
