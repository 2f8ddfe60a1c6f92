package call

import (
	"encoding/json"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"

	"github.com/mcpchain/mcpchain/internal/safe"
	"github.com/mcpchain/mcpchain/internal/scrub"
)

const (
	// maxNames is how many tools a catalog knows at most.
	maxNames = 4096
	// lookEvery is how often names that are not known may have a server asked for its tools.
	lookEvery = time.Second
	// fresh is how long what was read of a schema holds.
	fresh = time.Minute
)

// A catalog knows the tools of the servers whose calls pass one middleware, so that the
// name that a caller sends can be told from one that it invented. It asks the server
// seldom, and what it holds is bounded, whatever callers send.
type catalog struct {
	entries sync.Map // of *entry by name
	count   atomic.Int32
}

// An entry is what is known of a tool. Its fields do not change.
type entry struct {
	read time.Duration // when its schema was read, zero if it was not
	arguments
}

// arguments says which arguments may be recorded.
type arguments struct {
	declared map[string]bool // of the top level
	secret   map[string]bool // what the schema says is secret, wherever it stands, by its folded name
	unsure   bool            // the schema does not tell which names are secret
}

// known returns what is known of the name, nil if it is none of the server's.
func (k *catalog) known(name string) *entry {
	e, _ := k.entries.Load(name)
	known, _ := e.(*entry)
	return known
}

// add makes a name known, unless there is no room for it.
func (k *catalog) add(name string, e *entry) bool {
	if _, have := k.entries.Load(name); have {
		if e.read != 0 {
			k.entries.Store(name, e)
		}
		return true
	}
	if len(name) > maxName || k.count.Load() >= maxNames {
		return false
	}
	if _, have := k.entries.LoadOrStore(name, e); !have {
		k.count.Add(1)
	}
	return true
}

// find returns what is known of the tool that is called, nil if it is none of the
// server's. schema asks for its schema, too. A server is asked by one call at a time, at
// most once in lookEvery: until then a new name is not known.
func (k *catalog) find(c *Call, schema bool) *entry {
	name := Target(c.req)
	now := time.Since(epoch)
	have := k.known(name)
	if have != nil && (!schema || have.read != 0 && now-have.read < fresh) || !c.by.mayLook(now) {
		return have
	}
	for tool, err := range c.Tools() {
		if err != nil {
			if _, one := safe.As[*OneHandlerError](err); one && have == nil { // the SDK found the handler by this name
				k.add(name, &entry{})
			}
			break
		}
		e := &entry{}
		if schema {
			e.read, e.arguments = now, secretsOf(tool.InputSchema)
		}
		k.add(tool.Name, e)
	}
	return k.known(name)
}

// mayLook reports whether the handlers behind the opener may be asked for their tools now.
func (o *opener) mayLook(now time.Duration) bool {
	if o == nil {
		return false
	}
	last := o.looked.Load()
	return (last == 0 || now-time.Duration(last) >= lookEvery) && o.looked.CompareAndSwap(last, int64(now))
}

// The bounds of a schema that is read.
const (
	maxSchemaDepth = 32
	maxSchemaNodes = 10_000
)

// secretsOf reads which arguments a schema says are secret. It errs towards hiding: a
// name that is secret in one place is hidden in all.
func secretsOf(schema any) arguments {
	root, ok := schema.(map[string]any)
	if !ok {
		raw, err := safe.JSON(schema)
		if err != nil || json.Unmarshal(raw, &root) != nil || root == nil {
			return arguments{unsure: true}
		}
	}
	r := schemaReader{root: root, followed: map[string]bool{}, arguments: arguments{declared: map[string]bool{}, secret: map[string]bool{}}}
	if properties, ok := root["properties"].(map[string]any); ok {
		for name := range properties {
			r.declared[name] = true
		}
	}
	if r.read(root, 0) {
		r.unsure = true
	}
	return r.arguments
}

type schemaReader struct {
	root     map[string]any
	nodes    int
	followed map[string]bool // whether what a reference leads to is secret
	arguments
}

// read notes the names of secret properties below a schema. It reports whether the value
// that the schema is for is secret itself, or a list of such values.
func (r *schemaReader) read(schema any, depth int) (secret bool) {
	if r.nodes++; r.nodes > maxSchemaNodes || depth > maxSchemaDepth {
		r.unsure = true
		return true
	}
	s, ok := schema.(map[string]any)
	if !ok {
		return false
	}
	secret = SaysSecret(s)
	for keyword, v := range s {
		switch keyword {
		case "properties":
			members, _ := v.(map[string]any)
			for name, member := range members {
				if r.read(member, depth+1) || scrub.SecretName(name) {
					r.secret[folded(name)] = true
				}
			}
		case "patternProperties", "dependentSchemas":
			members, _ := v.(map[string]any)
			for _, member := range members {
				r.unsure = r.read(member, depth+1) && keyword == "patternProperties" || r.unsure
			}
		case "additionalProperties", "unevaluatedProperties":
			r.unsure = r.read(v, depth+1) || r.unsure
		case "items", "unevaluatedItems", "contains", "not", "if", "then", "else":
			secret = r.read(v, depth+1) || secret
		case "prefixItems", "allOf", "anyOf", "oneOf":
			list, _ := v.([]any)
			for _, e := range list {
				secret = r.read(e, depth+1) || secret
			}
		case "$ref", "$dynamicRef":
			secret = r.follow(v, depth) || secret
		}
	}
	return secret
}

// follow reads what a reference leads to, once. Where that is not known, nobody knows what
// is secret.
func (r *schemaReader) follow(ref any, depth int) (secret bool) {
	pointer, _ := ref.(string)
	if secret, known := r.followed[pointer]; known {
		return secret
	}
	r.followed[pointer] = false // while it is read, for one that leads to itself
	path, local := strings.CutPrefix(pointer, "#")
	var at any = r.root
	for name := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		if members, ok := at.(map[string]any); ok && path != "" {
			at = members[strings.NewReplacer("~1", "/", "~0", "~").Replace(name)]
		}
	}
	if _, found := at.(map[string]any); !local || !found {
		r.unsure = true
		return true
	}
	r.followed[pointer] = r.read(at, depth+1)
	return r.followed[pointer]
}

// SaysSecret reports whether a schema says that its value is a secret: by the format
// "password", by writeOnly, by its title, or by an extension such as "x-sensitive".
func SaysSecret(s map[string]any) bool {
	if s["format"] == "password" || s["writeOnly"] == true {
		return true
	}
	if title, _ := s["title"].(string); scrub.SecretName(title) {
		return true
	}
	for keyword, v := range s {
		if v == true && strings.HasPrefix(keyword, "x-") && (strings.Contains(keyword, "secret") || strings.Contains(keyword, "sensitive")) {
			return true
		}
	}
	return false
}

// folded returns the form of a name that all have that encoding/json takes for it,
// whatever their case.
func folded(name string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
			least = min(least, other)
		}
		return least
	}, name)
}
