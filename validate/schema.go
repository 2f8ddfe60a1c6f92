package validate

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/explain"
)

// maxText bounds the schemas that are kept, of all servers together, by the bytes of their texts: each
// counts under its text, under every pointer to it and under every other form of its text. That is room for 5,000 typed tools of 400 bytes.
// Compiled, a byte takes 30 to 80; a schema that takes more than 30 counts as a longer one.
const (
	maxText     = 6 << 20
	bytesOfText = 30
)

// schemas keeps compiled schemas, so that each is compiled once. Their key is their content: a tool that gets another
// schema gets another entry.
type schemas struct {
	mu   sync.Mutex
	kept map[any]entry // by hash, also of the text as it is listed, and by pointer: the SDK never changes a schema that it serves
	text int           // bytes of all that are kept
}

// An entry is a schema that is kept.
type entry struct {
	compile
	text int // its bytes
}

type compile func() (*explain.Schema, error)

// get returns the entry for a schema as a tool lists it, nil for one that is not JSON.
func (c *schemas) get(listed any) compile {
	var short any // a key for which the schema need not be written as JSON, nil for none
	switch s := listed.(type) {
	case *jsonschema.Schema:
		if s != nil {
			short = s
		}
	case json.RawMessage:
		short = sha256.Sum256(s)
	}
	c.mu.Lock()
	known := c.kept[short] // never nil's
	c.mu.Unlock()
	if known.compile != nil {
		return known.compile
	}
	text, err := json.Marshal(listed)
	if err != nil || string(text) == "null" {
		return nil
	}
	hash := sha256.Sum256(text)
	c.mu.Lock()
	defer c.mu.Unlock()
	if known = c.kept[hash]; known.compile == nil {
		known = entry{text: len(text)}
		known.compile = sync.OnceValues(func() (*explain.Schema, error) {
			schema, err := explain.Compile(text)
			if err == nil && schema.Size()/bytesOfText > len(text) {
				c.mu.Lock()
				defer c.mu.Unlock()
				c.keep(hash, entry{known.compile, schema.Size() / bytesOfText})
			}
			return schema, err
		})
		c.keep(hash, known)
	}
	if short != nil {
		c.keep(short, known)
	}
	return known.compile
}

// keep puts an entry in the place of any other of its key, and forgets others if there is no room.
func (c *schemas) keep(key any, s entry) {
	if c.kept == nil {
		c.kept = map[any]entry{}
	}
	c.text -= c.kept[key].text
	delete(c.kept, key)
	if s.text > maxText {
		return
	}
	for other, forgotten := range c.kept {
		if c.text+s.text <= maxText {
			break
		}
		c.text -= forgotten.text
		delete(c.kept, other)
	}
	c.kept[key] = s
	c.text += s.text
}

// callOf returns the Call to ask for the definition of the tool or the prompt that a request names. A middleware
// outside may have put another name into the request.
func callOf(ctx context.Context, c *call.Call, req mcp.Request) *call.Call {
	if call.Target(req) == c.Target() {
		return c
	}
	return c.Below(ctx, "lookup", req)
}

// byTool runs refuses with the tool of a call. A remembered tool may have changed: before it refuses a call, the
// server is asked, and refuses runs again.
func byTool(c *call.Call, next mcp.MethodHandler, refuses func(*mcp.Tool, error) bool) {
	if tool, remembered := c.Server().Remembered(next); !remembered || refuses(tool, nil) {
		refuses(c.Server().ToolNow(next))
	}
}

// schemaOf returns the input schema of a tool that was looked up. With an error it returns a stand-in. A single
// wrapped handler has no server to ask.
func (v *validator) schemaOf(found *mcp.Tool, err error) (*explain.Schema, error) {
	if err != nil {
		return anyObject(), err
	}
	s := guarded(func() compile { return v.schemas.get(found.InputSchema) })
	if s == nil {
		return hiding(), errors.New("the input schema is not JSON")
	}
	schema, err := s()
	if err != nil {
		schema = hiding()
	}
	return schema, err
}

// anyObject takes what every tool takes. hiding stands for a schema that cannot be compiled, and hides all values.
var (
	anyObject = constant(`{"type":"object"}`)
	hiding    = constant(`{"type":"object","writeOnly":true}`)
)

func constant(schema string) func() *explain.Schema {
	return sync.OnceValue(func() *explain.Schema {
		s, _ := explain.Compile([]byte(schema)) // which is one
		return s
	})
}
