package adversary

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"text/template"

	"github.com/stretchr/testify/require"
)

// A corpus is what hostile requests are made of.
type corpus struct {
	requests, values *template.Template
	order, kinds     []string          // the names of the requests, and of the values
	found            map[string][]byte // what did harm once, by file
}

func readCorpus(t testing.TB) *corpus {
	t.Helper()
	c := &corpus{found: map[string][]byte{}}
	c.requests, c.order = readTemplates(t, "testdata/requests.txt")
	c.values, c.kinds = readTemplates(t, "testdata/values.txt")
	files, err := filepath.Glob("testdata/found/*.json")
	require.NoError(t, err)
	for _, file := range files {
		message, err := os.ReadFile(file)
		require.NoError(t, err)
		c.found[file] = bytes.TrimSuffix(message, []byte("\n"))
	}
	return c
}

func readTemplates(t testing.TB, file string) (all *template.Template, names []string) {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	all = template.New("").Delims("«", "»").Funcs(template.FuncMap{
		"rep":  func(n int, text string) string { return strings.Repeat(text, n) },
		"nest": func(n int, open, end string) string { return strings.Repeat(open, n) + "1" + strings.Repeat(end, n) },
		"many": func(n int, form string) string {
			items := make([]string, n)
			for i := range items {
				items[i] = strings.ReplaceAll(form, "%d", fmt.Sprint(i))
			}
			return strings.Join(items, ",")
		},
	})
	for i, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		if !strings.HasPrefix(line, "#") {
			names = append(names, fmt.Sprint(file, ":", i+1))
			_, err = all.New(names[len(names)-1]).Parse(line)
			require.NoError(t, err)
		}
	}
	return all, names
}

// render returns a request as the client would send it.
func (c *corpus) render(t testing.TB, name string, by *client) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, c.requests.ExecuteTemplate(&b, name, struct{ ID, Meta string }{by.nextID(), by.meta()}))
	return b.Bytes()
}

// value returns one of the hostile values.
func (c *corpus) value(t testing.TB, r *rand.Rand) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, c.values.ExecuteTemplate(&b, c.kinds[r.IntN(len(c.kinds))], nil))
	return b.Bytes()
}

// A span is where a value stands in a message; where it is a member of an object, the
// member begins at key.
type span struct{ key, start, end int }

// spans returns where the values stand that a message has below its own members.
func spans(message []byte) []span {
	var all []span
	type open struct {
		object bool
		s      span
		key    int // of the member that comes, -1 for none
	}
	stack := []open{}
	dec := json.NewDecoder(bytes.NewReader(message))
	dec.UseNumber()
	for {
		before := int(dec.InputOffset())
		token, err := dec.Token()
		if err != nil {
			return all
		}
		end := int(dec.InputOffset())
		start := before + len(message[before:end]) - len(bytes.TrimLeft(message[before:end], " ,:\t"))
		top := len(stack) - 1
		if delim, ok := token.(json.Delim); ok && (delim == '}' || delim == ']') {
			s := stack[top].s
			s.end = end
			stack = stack[:top]
			if top > 1 {
				all = append(all, s)
			}
			continue
		}
		if top >= 0 && stack[top].object && stack[top].key < 0 {
			stack[top].key = start
			continue
		}
		s := span{key: start, start: start, end: end}
		if top >= 0 && stack[top].object {
			s.key, stack[top].key = stack[top].key, -1
		}
		if delim, ok := token.(json.Delim); ok {
			stack = append(stack, open{object: delim == '{', s: s, key: -1})
		} else if top > 0 {
			all = append(all, s)
		}
	}
}

// mutate returns the message with something else in it.
func (c *corpus) mutate(t testing.TB, r *rand.Rand, message []byte) []byte {
	t.Helper()
	for range 1 + r.IntN(3) {
		all := spans(message)
		if len(all) == 0 {
			return message
		}
		at := all[r.IntN(len(all))]
		have := message[at.start:at.end]
		var with []byte
		switch r.IntN(8) {
		case 0: // a member, or an item, once or twice more
			more := string(message[at.key:at.end])
			message = splice(message, at.key, at.end, []byte(strings.Repeat(more+",", 1+r.IntN(2))+more))
			continue
		case 1: // another name
			if at.key < at.start {
				name, err := json.Marshal(string(bytes.Trim(c.value(t, r), `"`)))
				require.NoError(t, err)
				message = splice(message, at.key, at.start, append(name, ':'))
			}
			continue
		case 2: // another value of this message
			other := all[r.IntN(len(all))]
			with = message[other.start:other.end]
		case 3: // deeper
			with = fmt.Appendf(nil, `[%s]`, have)
		case 4: // longer
			if have[0] == '"' && len(have) < 1<<12 {
				with = []byte(`"` + strings.Repeat(string(have[1:len(have)-1]), 1+r.IntN(20)) + `"`)
			}
		case 5: // one byte, which leaves JSON behind as often as not
			at := r.IntN(len(message))
			message = bytes.Clone(message)
			message[at] ^= 1 << r.IntN(8)
			continue
		}
		if with == nil {
			with = c.value(t, r)
		}
		if len(message)+len(with) < 1<<18 {
			message = splice(message, at.start, at.end, with)
		}
	}
	return message
}

func splice(message []byte, start, end int, with []byte) []byte {
	return append(append(bytes.Clone(message[:start]), with...), message[end:]...)
}

func TestSpansAreValues(t *testing.T) {
	message := []byte(`{"id":1,"params":{"a": [1, {"b":"x"}],"c":null}}`)
	var got []string
	for _, s := range spans(message) {
		got = append(got, string(message[s.key:s.end]))
	}
	require.Equal(t, []string{`1`, `"b":"x"`, `{"b":"x"}`, `"a": [1, {"b":"x"}]`, `"c":null`}, got)
}

// TestMutationsDiffer requires that mutation changes messages, and leaves enough of
// them such that a server answers.
func TestMutationsDiffer(t *testing.T) {
	c, r := readCorpus(t), rand.New(rand.NewPCG(1, 2))
	by := &client{version: current, prefix: "m"}
	changed, answered := 0, 0
	const n = 300
	for range n {
		message := c.render(t, c.order[r.IntN(len(c.order))], by)
		mutated := c.mutate(t, r, message)
		if !bytes.Equal(message, mutated) {
			changed++
		}
		if id, _ := legal(mutated); id != "" {
			answered++
		}
	}
	require.Greater(t, changed, n*3/4)
	require.Greater(t, answered, n/2)
}
