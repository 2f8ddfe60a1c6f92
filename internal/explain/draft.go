package explain

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// latest is the draft of a schema that names none.
const latest = 2020

// drafts are the addresses of the drafts' own schemas, without the scheme.
var drafts = map[string]int{
	"json-schema.org/draft-04/schema":      4,
	"json-schema.org/draft-06/schema":      6,
	"json-schema.org/draft-07/schema":      7,
	"json-schema.org/draft/2019-09/schema": 2019,
	"json-schema.org/draft/2020-12/schema": 2020,
	"json-schema.org/schema":               latest,
}

// draftAt returns the draft whose own schema stands at an address, 0 if none does.
func draftAt(address string) int {
	_, name, _ := strings.Cut(strings.TrimSuffix(address, "#"), "://")
	return drafts[name]
}

// A shape is what a keyword, or a part of a draft's own schema, may be.
type shape int

const (
	noShape shape = iota // no keyword
	shapeAnything
	shapeText
	shapeAbsolute  // URI
	shapeReference // to a URI
	shapeIdentity  // a reference without a fragment
	shapeAnchor
	shapeBoolean
	shapeNumber
	shapePositive // number
	shapeCount
	shapeList
	shapeChoices // of enum in old drafts: some, each once
	shapeTypeName
	shapeTypeNames
	shapeTexts
	shapeSomeTexts
	shapeSchema
	shapeSchemaOrBool
	shapeSchemaOrList
	shapeSchemas
	shapeSchemaMap
	shapeTextMap // texts by names
	shapeDependencies
	shapeVocabulary
)

// A keyword is what some keywords may be in the drafts from one to another.
type keyword struct {
	names    string
	from, to int
	shape    shape
}

// keywords are those of all drafts. What is not among them says nothing.
var keywords = sync.OnceValue(func() map[string][]keyword {
	const newest = latest
	all := map[string][]keyword{}
	for _, k := range []keyword{
		{"title description format pattern", 4, newest, shapeText},
		{"$comment contentMediaType contentEncoding", 7, newest, shapeText},
		{"id $ref", 4, 4, shapeText},
		{"$id", 6, 7, shapeReference},
		{"$id", 2019, newest, shapeIdentity},
		{"$schema", 4, newest, shapeAbsolute},
		{"$ref", 6, newest, shapeReference},
		{"$recursiveRef", 2019, newest, shapeReference},
		{"$dynamicRef", 2020, newest, shapeReference},
		{"$anchor", 2019, newest, shapeAnchor},
		{"$recursiveAnchor", 2019, 2019, shapeBoolean},
		{"$recursiveAnchor $dynamicAnchor", 2020, newest, shapeAnchor},
		{"$vocabulary", 2019, newest, shapeVocabulary},
		{"default", 4, newest, shapeAnything},
		{"const", 6, newest, shapeAnything},
		{"examples", 7, newest, shapeList},
		{"readOnly writeOnly", 7, newest, shapeBoolean},
		{"deprecated", 2019, newest, shapeBoolean},
		{"uniqueItems", 4, newest, shapeBoolean},
		{"type", 4, newest, shapeTypeNames},
		{"enum", 4, 7, shapeChoices},
		{"enum", 2019, newest, shapeList},
		{"multipleOf", 4, newest, shapePositive},
		{"minimum maximum", 4, newest, shapeNumber},
		{"exclusiveMinimum exclusiveMaximum", 4, 4, shapeBoolean},
		{"exclusiveMinimum exclusiveMaximum", 6, newest, shapeNumber},
		{"minLength maxLength minItems maxItems minProperties maxProperties", 4, newest, shapeCount},
		{"minContains maxContains", 2019, newest, shapeCount},
		{"required", 4, 4, shapeSomeTexts},
		{"required", 6, newest, shapeTexts},
		{"dependentRequired", 2019, newest, shapeTextMap},
		{"dependencies", 4, newest, shapeDependencies},
		{"definitions properties patternProperties", 4, newest, shapeSchemaMap},
		{"$defs dependentSchemas", 2019, newest, shapeSchemaMap},
		{"allOf anyOf oneOf", 4, newest, shapeSchemas},
		{"prefixItems", 2020, newest, shapeSchemas},
		{"items", 4, 2019, shapeSchemaOrList},
		{"items", 2020, newest, shapeSchema},
		{"additionalItems additionalProperties", 4, 4, shapeSchemaOrBool},
		{"additionalItems", 6, 2019, shapeSchema},
		{"not", 4, newest, shapeSchema},
		{"additionalProperties contains propertyNames", 6, newest, shapeSchema},
		{"if then else", 7, newest, shapeSchema},
		{"unevaluatedItems unevaluatedProperties contentSchema", 2019, newest, shapeSchema},
	} {
		for name := range strings.FieldsSeq(k.names) {
			all[name] = append(all[name], k)
		}
	}
	return all
})

// shapeOf returns what a keyword may be in a draft.
func shapeOf(name string, draft int) shape {
	for _, k := range keywords()[name] {
		if k.from <= draft && draft <= k.to {
			return k.shape
		}
	}
	return noShape
}

// partShape returns the shape of a part of a draft's own schema, by its JSON Pointer.
func partShape(pointer string, draft int) shape {
	switch name := pointer[strings.LastIndex(pointer, "/")+1:]; {
	case pointer == "":
		return shapeSchema
	case strings.HasPrefix(pointer, "/properties/"):
		return shapeOf(name, draft)
	case name == "nonNegativeInteger", name == "nonNegativeIntegerDefault0", name == "positiveInteger", name == "positiveIntegerDefault0":
		return shapeCount
	case name == "stringArray":
		return shapeOf("required", draft)
	case name == "schemaArray":
		return shapeSchemas
	case name == "simpleTypes":
		return shapeTypeName
	default:
		return noShape
	}
}

// A misshape is a part of a schema that is none.
type misshape struct {
	at   []string
	want string
}

func (e *misshape) Error() string { return "#" + pointerTo(e.at) + " must be " + e.want }

// A surveyor looks at all schemas in a value.
type surveyor struct {
	// visit is called for each schema that is an object, before those inside of it, with its place,
	// and returns the draft by which it is read. The error errKnown is for one that was visited before.
	visit func(schema map[string]any, at []string, draft int) (int, error)
	at    []string // the place that is looked at
}

func (s *surveyor) wrong(want string) error { return &misshape{slices.Clone(s.at), want} }

// inside checks what a name or an index leads to.
func (s *surveyor) inside(step string, want shape, v any, draft int) error {
	s.at = append(s.at, step)
	err := s.check(want, v, draft)
	s.at = s.at[:len(s.at)-1]
	return err
}

var errKnown = errors.New("was visited before")

// shapesInside are those of the members of objects.
var shapesInside = map[shape]shape{shapeSchemaMap: shapeSchema, shapeTextMap: shapeTexts, shapeDependencies: shapeSchema, shapeVocabulary: shapeBoolean}

var needsPlace = map[string]string{"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"} // in draft 4

// schema reports what is wrong with a schema.
func (s *surveyor) schema(v any, draft int) (err error) {
	object, ok := v.(map[string]any)
	if _, isBool := v.(bool); isBool && draft > 4 {
		return nil
	} else if !ok {
		if draft == 4 {
			return s.wrong("a schema, which is an object")
		}
		return s.wrong("a schema, which is an object or a boolean")
	}
	if draft, err = s.visit(object, s.at, draft); err != nil {
		if errors.Is(err, errKnown) {
			return nil
		}
		return err
	}
	for _, name := range sortedNames(object) {
		if err = s.inside(name, shapeOf(name, draft), object[name], draft); err != nil {
			return err
		}
		if other := needsPlace[name]; draft == 4 && other != "" && object[other] == nil {
			return &misshape{append(slices.Clip(s.at), name), "a limit beside " + quoted(other)}
		}
	}
	return nil
}

// check reports what is wrong with a value that should be of a shape.
func (s *surveyor) check(want shape, v any, draft int) error {
	wrong := func(ok bool, want string) error {
		if ok {
			return nil
		}
		return s.wrong(want)
	}
	str, isText := v.(string)
	n, isNumber := v.(json.Number)
	items, isList := v.([]any)
	object, isObject := v.(map[string]any)
	_, isBool := v.(bool)
	differ := func() bool { return isList && len(newLiterals(items...).keys) == len(items) }
	switch want {
	case shapeText:
		return wrong(isText, "a string")
	case shapeAbsolute:
		return wrong(isText && isURI(str), "a URI")
	case shapeReference:
		return wrong(isText && isURIReference(str), "a reference to a URI")
	case shapeIdentity:
		return wrong(isText && isURIReference(str) && !strings.Contains(strings.TrimSuffix(str, "#"), "#"), "a URI without a fragment")
	case shapeAnchor:
		return wrong(isText && isAnchor(str), "a name of an anchor")
	case shapeBoolean:
		return wrong(isBool, "a boolean")
	case shapeNumber:
		return wrong(isNumber, "a number")
	case shapePositive:
		return wrong(isNumber && rat(n).Sign() > 0, "a number above 0")
	case shapeCount:
		return wrong(isNumber && isInteger(n) && rat(n).Sign() >= 0, "an integer of at least 0")
	case shapeList:
		return wrong(isList, "a list")
	case shapeChoices:
		return wrong(len(items) > 0 && differ(), "a list of different values")
	case shapeTypeName:
		return wrong(kindNamed(v) != 0, "a type")
	case shapeTypeNames:
		if isText {
			items, isList = []any{str}, true
		}
		return wrong(len(items) > 0 && differ() && !slices.ContainsFunc(items, func(v any) bool { return kindNamed(v) == 0 }), "a type or list of types")
	case shapeTexts, shapeSomeTexts:
		return wrong((want == shapeTexts || len(items) > 0) && differ() && len(textsOf(v)) == len(items), "a list of different strings")
	case shapeSchemaOrBool:
		if isBool {
			return nil
		}
		return s.schema(v, draft)
	case shapeSchema:
		return s.schema(v, draft)
	case shapeSchemaOrList, shapeSchemas:
		if want == shapeSchemaOrList && !isList {
			return s.schema(v, draft)
		}
		for i, item := range items {
			if err := s.inside(strconv.Itoa(i), shapeSchema, item, draft); err != nil {
				return err
			}
		}
		return wrong(len(items) > 0, "a list of schemas")
	case shapeSchemaMap, shapeTextMap, shapeDependencies, shapeVocabulary:
		for _, name := range sortedNames(object) {
			inner := shapesInside[want]
			if _, isList := object[name].([]any); isList && want == shapeDependencies {
				inner = shapeOf("required", draft)
			}
			if err := s.inside(name, inner, object[name], draft); err != nil {
				return err
			}
		}
		return wrong(isObject, "an object")
	default:
		return nil
	}
}

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

func isAnchor(name string) bool {
	return only(name, letters+digits+"-._:") && !strings.ContainsAny(name[:1], digits+"-.:")
}

// whole returns a count of a schema, nil if there is none.
func whole(v any) *int {
	n, ok := v.(json.Number)
	if !ok || !isInteger(n) {
		return nil
	}
	counted := math.MaxInt
	if big := rat(n).Num(); big.IsInt64() && big.Int64() < math.MaxInt {
		counted = int(big.Int64())
	}
	return &counted
}
