package explain_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/internal/explain"
)

const (
	draft4    = `"$schema":"http://json-schema.org/draft-04/schema#",`
	draft6    = `"$schema":"http://json-schema.org/draft-06/schema#",`
	draft7    = `"$schema":"http://json-schema.org/draft-07/schema#",`
	draft2019 = `"$schema":"https://json-schema.org/draft/2019-09/schema",`
	draft2020 = `"$schema":"https://json-schema.org/draft/2020-12/schema",`
)

// TestDrafts: each draft has its own keywords, and its own meaning of some.
func TestDrafts(t *testing.T) {
	for _, c := range []struct{ schema, args, want string }{
		{`{` + draft4 + `"properties":{"n":{"minimum":1,"exclusiveMinimum":true}}}`, `{"n":1}`, "Argument 'n' expected a number greater than 1, but received 1."},
		{`{` + draft4 + `"properties":{"n":{"maximum":1,"exclusiveMaximum":true}}}`, `{"n":1}`, "Argument 'n' expected a number less than 1, but received 1."},
		{`{` + draft4 + `"properties":{"n":{"maximum":1,"exclusiveMaximum":false}}}`, `{"n":1}`, ""},
		{`{` + draft4 + `"definitions":{"a":{"id":"#here","type":"integer"}},"properties":{"n":{"$ref":"#here"}}}`, `{"n":"x"}`, "Argument 'n' expected an integer, but received 'x'."},
		{`{` + draft4 + `"id":"https://a.example/s","definitions":{"a":{"id":"t","type":"integer"}},"properties":{"n":{"$ref":"https://a.example/t"}}}`, `{"n":"x"}`, "Argument 'n' expected an integer, but received 'x'."},
		{`{` + draft4 + `"properties":{"n":{"const":1,"contains":false,"propertyNames":false,"if":true,"then":false}}}`, `{"n":{"a":2}}`, ""},
		{`{` + draft4 + `"properties":{"d":{"format":"date"}}}`, `{"d":"x"}`, "Argument 'd' expected a date such as 2026-01-31, but received 'x'."},
		{`{` + draft4 + `"additionalProperties":false,"properties":{"l":{"items":[{"type":"integer"}],"additionalItems":false}}}`, `{"l":[1,2]}`, "Argument 'l' expected a list of at most 1 item, but received a list with 2 items."},

		{`{"$schema":"https://example.com/ours","properties":{"n":{"$schema":"draft-07","type":"integer"}}}`, `{"n":"x"}`, "Argument 'n' expected an integer, but received 'x'."},
		{`{` + draft4 + `"properties":{"n":{"$schema":"https://example.com/ours","minimum":1,"exclusiveMinimum":true}}}`, `{"n":1}`, "Argument 'n' expected a number greater than 1, but received 1."},

		{`{` + draft6 + `"properties":{"n":{"exclusiveMinimum":1}}}`, `{"n":1}`, "Argument 'n' expected a number greater than 1, but received 1."},
		{`{` + draft6 + `"properties":{"n":{"const":1}}}`, `{"n":2}`, "Argument 'n' expected 1, but received 2."},
		{`{` + draft6 + `"properties":{"n":{"if":true,"then":false}}}`, `{"n":2}`, ""},
		{`{` + draft6 + `"propertyNames":{"maxLength":1}}`, `{"nn":2}`, "Argument 'nn' has a name that is not allowed: a name must be a string of at most 1 character."},
		{`{` + draft6 + `"properties":{"l":{"contains":{"type":"integer"}}}}`, `{"l":["a"]}`, "Argument 'l' expected a list with at least 1 item that is an integer, but received one without any."},
		{`{` + draft6 + `"dependencies":{"a":["b"],"c":{"required":["d"]}}}`, `{"a":1,"c":1}`, "2 things are wrong.\n- Argument 'b' is required when 'a' is sent.\n- Argument 'd' is required when 'c' is sent."},

		{`{` + draft7 + `"properties":{"n":{"if":{"minimum":1},"then":{"type":"integer"}}}}`, `{"n":1.5}`, "Argument 'n' expected an integer, but received 1.5."},
		{`{` + draft7 + `"definitions":{"a":{"$id":"#here","type":"integer"}},"properties":{"n":{"$ref":"#here","maximum":1}}}`, `{"n":2}`, ""},
		{`{` + draft7 + `"properties":{"n":{"items":[{"type":"integer"}],"additionalItems":{"type":"string"}}}}`, `{"n":[1,2]}`, "Argument 'n[1]' expected a string, but received 2. Send it in quotes: \"2\"."},
		{`{` + draft7 + `"properties":{"n":{"items":{"type":"integer"},"additionalItems":false}}}`, `{"n":[1,2]}`, ""},
		{`{` + draft7 + `"dependentRequired":{"a":["b"]},"unevaluatedProperties":false,"properties":{"l":{"prefixItems":[false],"contains":{},"minContains":5}}}`, `{"a":1,"l":[1]}`, ""},

		{`{` + draft7 + `"properties":{"l":{"contains":{"const":3},"items":[{}],"additionalItems":false,"maxItems":1}}}`, `{"l":[1,2]}`, "2 things are wrong.\n- Argument 'l' expected a list with at least 1 item that is 3, but received one without any.\n- Argument 'l' expected a list of at most 1 item, but received a list with 2 items."},

		{`{` + draft2019 + `"$recursiveAnchor":true,"properties":{"a":{"$recursiveRef":"#"},"n":{"type":"integer"}},"unevaluatedProperties":false}`, `{"a":{"a":{"n":"x"}}}`, "Argument 'a.a.n' expected an integer, but received 'x'."},
		{`{` + draft2019 + `"$id":"https://a.example/strict","$recursiveAnchor":true,"$ref":"tree","unevaluatedProperties":false,
			"$defs":{"tree":{"$id":"tree","$recursiveAnchor":true,"properties":{"next":{"$recursiveRef":"#"}}}}}`, `{"next":{"net":{}}}`, "Argument 'next.net' is unknown. Did you mean 'next'?"},
		{`{` + draft2019 + `"$id":"https://a.example/lax","$ref":"tree","unevaluatedProperties":false,
			"$defs":{"tree":{"$id":"tree","$recursiveAnchor":true,"properties":{"next":{"$recursiveRef":"#"}}}}}`, `{"next":{"net":{}}}`, ""},
		{`{` + draft2019 + `"dependentSchemas":{"a":{"required":["b"]}},"dependentRequired":{"a":["c"]}}`, `{"a":1}`, "2 things are wrong.\n- Argument 'b' is required when 'a' is sent.\n- Argument 'c' is required when 'a' is sent."},
		{`{` + draft2019 + `"properties":{"l":{"items":[true],"unevaluatedItems":false}}}`, `{"l":[1,2]}`, "Argument 'l' expected a list of at most 1 item, but received a list with 2 items."},
		{`{` + draft2019 + `"properties":{"d":{"format":"date"},"l":{"contains":true,"minContains":2}}}`, `{"d":"x","l":[1]}`, "Argument 'l' expected a list with at least 2 items that are what is asked for, but received one with 1 of them."},

		{`{` + draft2020 + `"properties":{"l":{"prefixItems":[true],"items":false},"m":{"items":{"type":"integer"}}}}`, `{"l":[1,2],"m":[]}`, "Argument 'l' expected a list of at most 1 item, but received a list with 2 items."},
		{`{` + draft2020 + `"$id":"https://a.example/strict","$dynamicAnchor":"node","$ref":"tree","unevaluatedProperties":false,
			"$defs":{"tree":{"$id":"tree","$dynamicAnchor":"node","properties":{"next":{"$dynamicRef":"#node"}}}}}`, `{"next":{"net":{}}}`, "Argument 'next.net' is unknown. Did you mean 'next'?"},
		{`{"$defs":{"old":{"id":"https://a.example/old",` + draft4 + `"minimum":1,"exclusiveMinimum":true}},"properties":{"n":{"$ref":"https://a.example/old"}}}`, `{"n":1}`, "Argument 'n' expected a number greater than 1, but received 1."},
		{`{"$defs":{"old":{"$id":"https://a.example/old",` + draft7 + `"items":[{"type":"integer"}]}},"properties":{"l":{"$ref":"https://a.example/old"}}}`, `{"l":["a"]}`, "Argument 'l[0]' expected an integer, but received 'a'."},
	} {
		s, err := explain.Compile([]byte(c.schema))
		require.NoError(t, err, c.schema)
		report := s.Explain([]byte(c.args), false)
		require.Equal(t, c.want, report.Text(), c.schema)
	}
}

// TestReferencesToNothing: a schema that takes nothing may stand at one place and be meant at another.
func TestReferencesToNothing(t *testing.T) {
	for schema, cases := range map[string]map[string]string{
		`{"$ref":"#/$defs/a/items","$defs":{"a":{"items":false}}}`: {`{}`: "The arguments are not allowed."},
		`{"properties":{"x":{"$ref":"#/$defs/a/items"},"l":{"items":{"$ref":"#/$defs/a/items"}}},"$defs":{"a":{"items":false}}}`: {
			`{"x":1}`: "Argument 'x' is not allowed.", `{"l":[1]}`: "Argument 'l[0]' is not allowed.",
		},
		`{"$ref":"#/$defs/a/unevaluatedProperties","$defs":{"a":{"unevaluatedProperties":false}}}`: {`[1]`: "The arguments are not allowed."},
		`{"items":{"$ref":"#/$defs/a/unevaluatedProperties"},"properties":{"x":{"$ref":"#/$defs/a/unevaluatedProperties"}},"$defs":{"a":{"unevaluatedProperties":false}}}`: {
			`[1]`: "Argument '[0]' is not allowed.",
		},
		`{"items":{"$ref":"#/$defs/a/additionalProperties"},"properties":{"x":{"$ref":"#/$defs/a/additionalProperties"}},"$defs":{"a":{"additionalProperties":false}}}`: {
			`[1]`: "Argument '[0]' is not allowed.", `{"x":1}`: "Argument 'x' is not allowed.",
		},
	} {
		for args, want := range cases {
			require.Equal(t, want, mustCompile(t, schema).Explain([]byte(args), false).Text(), "%s\n%s", schema, args)
		}
	}
}

// TestSchemasOfSchemas: arguments may be schemas themselves, by the draft's own schema or a part of it.
func TestSchemasOfSchemas(t *testing.T) {
	for _, c := range []struct{ ref, args, want string }{
		{"https://json-schema.org/draft/2020-12/schema", `{"properties":{"a":{"type":"text"}}}`, "Argument 's.properties.a.type' expected a type or list of types, but received 'text'."},
		{"https://json-schema.org/draft/2020-12/schema", `{"minLength":-1}`, "Argument 's.minLength' expected an integer of at least 0, but received -1."},
		{"https://json-schema.org/draft/2020-12/schema#", `{"$defs":{"a":{"allOf":[]}}}`, "Argument 's.$defs.a.allOf' expected a list of schemas, but received an empty list."},
		{"http://json-schema.org/draft-07/schema#", `{"$defs":{"a":{"allOf":[]}},"items":[{}]}`, ""},
		{"http://json-schema.org/draft-07/schema#/definitions/nonNegativeInteger", `1.0`, ""},
		{"http://json-schema.org/draft-07/schema#/definitions/nonNegativeInteger", `1.5`, "Argument 's' expected an integer of at least 0, but received 1.5."},
		{"http://json-schema.org/draft-07/schema#/properties/title", `1`, `Argument 's' expected a string, but received 1. Send it in quotes: "1".`},
		{"http://json-schema.org/draft-07/schema#/definitions/simpleTypes", `["string"]`, "Argument 's' expected a type, but received a list with 1 item."},
		{"http://json-schema.org/draft-07/schema#/definitions/simpleTypes", `"string"`, ""},
		{"http://json-schema.org/draft-04/schema#", `true`, "Argument 's' expected a schema, which is an object, but received true."},
		{"http://json-schema.org/draft-04/schema#", `{"exclusiveMinimum":true}`, "Argument 's.exclusiveMinimum' expected a limit beside 'minimum', but received true."},
	} {
		s := mustCompile(t, `{"properties":{"s":{"$ref":"`+c.ref+`"}}}`)
		report := s.Explain([]byte(`{"s":`+c.args+`}`), false)
		require.Equal(t, c.want, report.Text(), c.ref+c.args)
	}
}

// TestCompileNamesThePlace: what is no schema is refused, with where that is.
func TestCompileNamesThePlace(t *testing.T) {
	for schema, want := range map[string]string{
		`{"properties":{"a":{"items":[{}]}}}`:                 "#/properties/a/items must be a schema, which is an object or a boolean",
		`{"$defs":{"unused":{"type":"integr"}}}`:              "#/$defs/unused/type must be a type or list of types",
		`{"type":["string","string"]}`:                        "#/type must be a type or list of types",
		`{"type":[]}`:                                         "#/type must be a type or list of types",
		`{"required":["a","a"]}`:                              "#/required must be a list of different strings",
		`{"required":[1]}`:                                    "#/required must be a list of different strings",
		`{"required":"a"}`:                                    "#/required must be a list of different strings",
		`{` + draft4 + `"required":[]}`:                       "#/required must be a list of different strings",
		`{` + draft4 + `"properties":{"a":true}}`:             "#/properties/a must be a schema, which is an object",
		`{` + draft4 + `"exclusiveMaximum":true}`:             "#/exclusiveMaximum must be a limit beside 'maximum'",
		`{` + draft6 + `"exclusiveMaximum":true}`:             "#/exclusiveMaximum must be a number",
		`{` + draft7 + `"enum":[]}`:                           "#/enum must be a list of different values",
		`{"enum":1}`:                                          "#/enum must be a list",
		`{"anyOf":{}}`:                                        "#/anyOf must be a list of schemas",
		`{"anyOf":[]}`:                                        "#/anyOf must be a list of schemas",
		`{"oneOf":[{},null]}`:                                 "#/oneOf/1 must be a schema, which is an object or a boolean",
		`{"minLength":-1}`:                                    "#/minLength must be an integer of at least 0",
		`{"minLength":1.5}`:                                   "#/minLength must be an integer of at least 0",
		`{"multipleOf":0}`:                                    "#/multipleOf must be a number above 0",
		`{"uniqueItems":1}`:                                   "#/uniqueItems must be a boolean",
		`{"pattern":1}`:                                       "#/pattern must be a string",
		`{"description":["a"]}`:                               "#/description must be a string",
		`{"examples":{}}`:                                     "#/examples must be a list",
		`{"writeOnly":"yes"}`:                                 "#/writeOnly must be a boolean",
		`{"properties":[]}`:                                   "#/properties must be an object",
		`{"dependentRequired":{"a/b":"c"}}`:                   "#/dependentRequired/a~1b must be a list of different strings",
		`{"dependencies":{"a":1}}`:                            "#/dependencies/a must be a schema, which is an object or a boolean",
		`{"$anchor":"1"}`:                                     "#/$anchor must be a name of an anchor",
		`{"$id":"a#b"}`:                                       "#/$id must be a URI without a fragment",
		`{"$ref":":"}`:                                        "#/$ref must be a reference to a URI",
		`{"$vocabulary":{"x":1}}`:                             "#/$vocabulary/x must be a boolean",
		`{"$defs":{"a":{"$anchor":"x"},"b":{"$anchor":"x"}}}`: `#/$defs/a and #/$defs/b have the same anchor "x"`,
		`{"$defs":{"a":{"$id":"https://a.example"},"b":{"$id":"https://a.example"}}}`: "#/$defs/a and #/$defs/b have the same $id",
		`{"$schema":"http://json-schema.org/draft-03/schema#"}`:                       "#/$schema names no draft that is known: http://json-schema.org/draft-03/schema#",
		`{"$ref":"#/properties/a/0","properties":{"a":{"enum":[1]}}}`:                 "refers to #/properties/a/0, where there is nothing",
		`{"$ref":"#/properties/a/enum/0","properties":{"a":{"enum":[1]}}}`:            "#/properties/a/enum/0 must be a schema, which is an object or a boolean",
		`{"$ref":"#/x/00","x":[{}]}`:                                                  "where there is nothing",
		`{"$ref":"http://json-schema.org/draft-07/schema#/definitions/nothing"}`:      "outside of it",
	} {
		_, err := explain.Compile([]byte(schema))
		require.ErrorContains(t, err, want, schema)
	}
}
