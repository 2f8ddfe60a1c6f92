package explain

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHides(t *testing.T) {
	compile := func(text string) *Schema {
		s, err := Compile([]byte(text))
		require.NoError(t, err)
		return s
	}
	s := compile(`{"properties":{"a":{"properties":{"b":{"writeOnly":true}}},"l":{"items":{"anyOf":[{"type":"integer"},{"format":"password"}]}}}}`)
	hides := s.Hides([]byte(`{"a":{"b":{"c":1},"d":2},"l":[1,"x"],"m":3}`))
	for pointer, want := range map[string]bool{"": false, "/a": false, "/a/b": true, "/a/b/c": true, "/a/d": false, "/l": false, "/l/0": true, "/l/1": true, "/m": false, "/none": true, "/l/9": true} {
		require.Equal(t, want, hides(pointer), pointer)
	}
	require.True(t, s.Hides([]byte(`{"a":`))("/m"), "no JSON")
	s = compile(`{"properties":{"l":{"items":{"type":"integer"}},"z":{"writeOnly":true}}}`)
	require.True(t, s.Hides([]byte(`{"l":[`+strings.Repeat(`"x",`, 2000)+`1],"z":3}`))("/z"), "the walk ends before it")
	require.True(t, compile(`{"writeOnly":true}`).Hides([]byte(`{"a":1}`))("/a"))
	require.False(t, compile(`{}`).Hides([]byte(`{"a":`))("/a"), "nothing is hidden")
}

// TestHashes: a caller cannot make up many values that look alike to uniqueItems,
// which would then compare each with each.
func TestHashes(t *testing.T) {
	blocks := []string{"[[]]", "[],[[[]]]", "[],[[],[]]", "{}", `{"":[]}`}
	seen := map[uint64]string{}
	for i := range 3125 {
		item := "[[]"
		for n := i; len(item) < 60 && n > 0; n /= 5 {
			item += "," + blocks[n%5]
		}
		item += "]"
		d, broken := parse(item)
		require.Nil(t, broken)
		h := d.hash(0)
		if other, same := seen[h]; same && other != item {
			t.Fatalf("%s and %s have the same hash", item, other)
		}
		seen[h] = item
	}
	same := func(x, y string) {
		a, _ := parse(x)
		b, _ := parse(y)
		require.True(t, equal(a, 0, b, 0))
		require.Equal(t, a.hash(0), b.hash(0))
	}
	same(`{"a":1,"b":[1.0,{}]}`, `{"b":[1,{}],"a":10e-1}`)
}
