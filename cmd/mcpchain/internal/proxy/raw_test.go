package proxy

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMerge(t *testing.T) {
	for _, one := range []struct{ name, raw, from, to, want string }{
		{"nothing changed", `{"a" : 1,"x":2}`, `{"a":1}`, `{"a":1}`, `{"a" : 1,"x":2}`},
		{"a member", `{"a":1,"x":2}`, `{"a":1}`, `{"a":3}`, `{"a":3,"x":2}`},
		{"a new member", `{"a":1,"x":2}`, `{"a":1}`, `{"a":1,"b":3}`, `{"a":1,"b":3,"x":2}`},
		{"a member less", `{"a":1,"b":2,"x":2}`, `{"a":1,"b":2}`, `{"a":1}`, `{"a":1,"x":2}`},
		{"what the SDK adds itself", `{"a":1}`, `{"a":1,"type":"t"}`, `{"a":2,"type":"t"}`, `{"a":2}`},
		{"deeper", `{"a":{"b":1,"x":2},"c":[{"d":1,"y":3}]}`, `{"a":{"b":1},"c":[{"d":1}]}`, `{"a":{"b":5},"c":[{"d":6}]}`, `{"a":{"b":5,"x":2},"c":[{"d":6,"y":3}]}`},
		{"an item less", `[{"name":"a","x":1},{"name":"b","x":2}]`, `[{"name":"a"},{"name":"b"}]`, `[{"name":"b"}]`, `[{"name":"b","x":2}]`},
		{"items changed and one more", `[{"name":"a","x":1},{"name":"b","x":2}]`, `[{"name":"a"},{"name":"b"}]`, `[{"name":"new"},{"name":"a","m":1},{"name":"b","m":1}]`,
			`[{"name":"new"},{"name":"a","m":1,"x":1},{"name":"b","m":1,"x":2}]`},
		{"the beginning of a list", `[{"n":1,"x":1},{"n":2,"x":2}]`, `[{"n":1},{"n":2}]`, `[{"n":1}]`, `[{"n":1,"x":1}]`},
		{"another kind", `{"a":1}`, `{"a":1}`, `[1]`, `[1]`},
		{"a list that the SDK read otherwise", `[1,2]`, `[1]`, `[3]`, `[3]`},
	} {
		require.JSONEq(t, one.want, string(merge([]byte(one.raw), []byte(one.from), []byte(one.to))), one.name)
	}
}
