package probe

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/internal/ask"
)

func TestNastyArguments(t *testing.T) {
	schema := map[string]any{
		"type": "object",
		"properties": map[string]any{
			"when":   map[string]any{"type": "string", "format": "date"},
			"color":  map[string]any{"enum": []string{"red"}},
			"long":   map[string]any{"type": "string", "minLength": 3},
			"flag":   map[string]any{"type": []string{"null", "boolean"}},
			"list":   map[string]any{"type": "array", "minItems": 2, "items": map[string]any{"type": "number", "exclusiveMinimum": 4}},
			"inner":  map[string]any{"type": "object", "required": []string{"n"}, "properties": map[string]any{"n": map[string]any{"type": "integer", "maximum": -3}}},
			"either": map[string]any{"anyOf": []any{map[string]any{"const": "a"}}},
			"given":  map[string]any{"type": "integer", "default": 9},
			"shown":  map[string]any{"type": "string", "examples": []string{"e"}},
		},
	}
	all := nasty(ask.JSONSchema(schema))
	require.Equal(t, all, nasty(ask.JSONSchema(schema)), "the same each time")
	var sampled struct{ When, Color, Long, Flag, List, Inner, Either, Given, Shown any }
	require.NoError(t, json.Unmarshal(all[5], &sampled))
	require.JSONEq(t, `{"When":"2026-01-31","Color":"red","Long":"xxx","Flag":true,"List":[5,5],"Inner":{"n":-3},"Either":"a","Given":9,"Shown":"e"}`,
		string(raw(sampled)))
	seen := map[string]bool{}
	for _, arguments := range all {
		require.True(t, json.Valid(arguments), "%s", arguments)
		require.Less(t, len(arguments), 1<<16)
		seen[string(arguments)] = true
	}
	require.Greater(t, len(seen), 9*20)
	require.NotEmpty(t, nasty(&jsonschema.Schema{}))
	wide := map[string]any{}
	for i := range 100 {
		wide[fmt.Sprint(i)] = map[string]any{"type": "string"}
	}
	require.Less(t, len(nasty(ask.JSONSchema(map[string]any{"type": "object", "properties": wide}))), 1000)
}

func TestInsides(t *testing.T) {
	for _, text := range []string{
		"goroutine 7 [running]:", "main.go:12", "runtime error: index out of range",
		"    at add (file:///srv/app/index.js:12:7)", "at async Object.call (/srv/app/index.js:1:2)", "at node:internal/process:1:2", `at C:\app\x.js:3:4`,
		"Traceback (most recent call last):", `File "/srv/app.py", line 12, in add`, `File \"/srv/app.py\", line 12`,
		"at com.example.Sum.add(Sum.java:12)", "thread 'main' panicked at src/main.rs:4:5", "app.rb:12:in `add'", "at Sum.Add(Int32 a) in /src/Sum.cs:line 12",
	} {
		require.True(t, insides.MatchString(text), text)
	}
	for _, text := range []string{"at 12:30 we close", "look at line 5", "File \"x.txt\" is missing", "meet at noon (see /a/b)", "it panicked", "go: 12"} {
		require.False(t, insides.MatchString(text), text)
	}
}
