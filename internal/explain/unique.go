package explain

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/mcpchain/mcpchain/internal/words"
)

// An extension is a check of ours in the place of one of the library's.
type extension func(ctx *jsonschema.ValidatorContext, v any)

func (e extension) Validate(ctx *jsonschema.ValidatorContext, v any) { e(ctx, v) }

// unique checks uniqueItems. The library's hash is the same for many lists that are not: [[],[]]
// and [[[]]]. A caller could make it compare each with each.
func (c *check) unique(ctx *jsonschema.ValidatorContext, v any) {
	list, _ := v.([]any)
	if len(list) < 2 {
		return
	}
	seen := make(map[string]int, len(list))
	var b words.Builder
	for i, item := range list {
		b.Reset()
		canonical(&b, item)
		c.spend(1 + b.Len()/32)
		if first, ok := seen[b.String()]; ok {
			ctx.AddError(&kind.UniqueItems{Duplicates: [2]int{first, i}})
			return
		}
		seen[b.String()] = i
	}
}

// naming checks propertyNames. The library does not copy the place of such an error, so that it
// may have changed when it is read.
func (c *check) naming(of *jsonschema.Schema) extension {
	return func(ctx *jsonschema.ValidatorContext, v any) {
		object, _ := v.(map[string]any)
		var names []string
		for name := range object {
			if of.Validate(name) != nil {
				c.spend(1)
				names = append(names, name)
			}
		}
		slices.Sort(names)
		for _, name := range names {
			ctx.AddError(&kind.PropertyNames{Property: name})
		}
	}
}

// canonical writes the same text for values that are the same by JSON Schema.
func canonical(b *words.Builder, v any) {
	switch v := v.(type) {
	case map[string]any:
		b.WriteByte('{')
		for _, name := range slices.Sorted(maps.Keys(v)) {
			b.WriteString(strconv.Quote(name))
			canonical(b, v[name])
		}
		b.WriteByte('}')
	case []any:
		b.WriteByte('[')
		for _, item := range v {
			canonical(b, item)
			b.WriteByte(',')
		}
		b.WriteByte(']')
	case string:
		b.WriteString(strconv.Quote(v))
	case json.Number:
		b.WriteString(rat(v).RatString())
	case bool:
		b.WriteString(strconv.FormatBool(v))
	default:
		b.WriteByte('n')
	}
}
