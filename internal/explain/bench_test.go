package explain_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/internal/explain"
)

// order is a tool of eight arguments.
const order = `{
	"type": "object",
	"properties": {
		"sku": {"type": "string", "pattern": "^[A-Z]{3}-[0-9]+$"},
		"quantity": {"type": "integer", "minimum": 1, "maximum": 10},
		"color": {"enum": ["red", "green", "blue"]},
		"express": {"type": "boolean"},
		"note": {"type": "string", "maxLength": 20},
		"tags": {"type": "array", "items": {"type": "string"}, "maxItems": 3},
		"address": {"type": "object", "properties": {"city": {"type": "string"}, "zip": {"type": "string", "minLength": 5}}, "required": ["city"]},
		"discount": {"type": "number", "multipleOf": 0.5}
	},
	"required": ["sku", "quantity"],
	"additionalProperties": false
}`

const (
	goodOrder = `{"sku":"ABC-1","quantity":3,"color":"red","express":true,"note":"as soon as can be","tags":["a","b"],"address":{"city":"Bern","zip":"30000"},"discount":1.5}`
	badOrder  = `{"sku":"abc","quantity":"five","colour":"red","express":"yes","note":"much longer than it is allowed","tags":["a",2],"address":{"zip":"3"},"discount":1.3}`
)

func BenchmarkCompile(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		_, err := explain.Compile(json.RawMessage(order))
		require.NoError(b, err)
	}
}

func BenchmarkExplainEight(b *testing.B) {
	s, err := explain.Compile(json.RawMessage(order))
	require.NoError(b, err)
	args := []byte(badOrder)
	require.GreaterOrEqual(b, s.Explain(args, false).Total, 8)
	b.ReportAllocs()
	for b.Loop() {
		s.Explain(args, false)
	}
}

func BenchmarkExplainValid(b *testing.B) {
	s, err := explain.Compile(json.RawMessage(order))
	require.NoError(b, err)
	args := []byte(goodOrder)
	require.Nil(b, s.Explain(args, false))
	b.ReportAllocs()
	for b.Loop() {
		s.Explain(args, false)
	}
}
