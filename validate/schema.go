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

// An inputSchema is the input schema of a tool, or what stands for the arguments of a
// prompt. It is compiled when it is first needed, by whoever needs it first.
type inputSchema struct {
	text []byte // JSON

	once     sync.Once
	compiled *explain.Schema // nil when there is no way to compile it
	err      error

	parsedOnce sync.Once
	parsed     map[string]any
}

func (s *inputSchema) compile() (*explain.Schema, error) {
	s.once.Do(func() {
		s.err = errors.New("the compiler panicked")
		s.compiled, s.err = explain.Compile(json.RawMessage(s.text))
	})
	return s.compiled, s.err
}

// explain returns what is wrong with the arguments, nil when nothing is or when
// nobody can say.
func (s *inputSchema) explain(args []byte, opts explain.Options) *explain.Report {
	compiled, err := s.compile()
	if err != nil {
		return nil
	}
	return compiled.Explain(args, opts)
}

// defaults returns the arguments with the defaults of the schema filled in.
func (s *inputSchema) defaults(args []byte) ([]byte, error) {
	compiled, err := s.compile()
	if err != nil {
		return nil, err
	}
	return compiled.Defaults(args)
}

// hides reports of a place in the arguments whether the schema says that its value must
// not be shown. What cannot be found out is hidden.
func (s *inputSchema) hides(pointer string) bool {
	if s == nil {
		return false
	}
	compiled, err := s.compile()
	return err != nil || compiled.Hides(pointer)
}

// tree returns the schema as a tree, nil when it is no object.
func (s *inputSchema) tree() map[string]any {
	if s == nil {
		return nil
	}
	s.parsedOnce.Do(func() {
		if json.Unmarshal(s.text, &s.parsed) != nil {
			s.parsed = nil
		}
	})
	return s.parsed
}

// maxSchemas bounds the schemas that are kept, of all servers together.
const maxSchemas = 256

// schemas keeps compiled schemas, so that each is compiled once. They are known by
// what stands in them: a tool that gets another schema gets another entry.
type schemas struct {
	mu        sync.Mutex
	byPointer map[*jsonschema.Schema]*inputSchema // the SDK never changes one that it serves
	byHash    map[[sha256.Size]byte]*inputSchema
}

// get returns the entry for a schema as a tool lists it, nil for one that is no
// JSON.
func (c *schemas) get(listed any) *inputSchema {
	pointer, _ := listed.(*jsonschema.Schema)
	if pointer != nil {
		c.mu.Lock()
		s := c.byPointer[pointer]
		c.mu.Unlock()
		if s != nil {
			return s
		}
	}
	text, err := json.Marshal(listed)
	if err != nil || string(text) == "null" {
		return nil
	}
	hash := sha256.Sum256(text)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byHash == nil {
		c.byPointer, c.byHash = map[*jsonschema.Schema]*inputSchema{}, map[[sha256.Size]byte]*inputSchema{}
	}
	s := c.byHash[hash]
	if s == nil {
		s = &inputSchema{text: text}
		makeRoom(c.byHash)
		c.byHash[hash] = s
	}
	if pointer != nil {
		makeRoom(c.byPointer)
		c.byPointer[pointer] = s
	}
	return s
}

// makeRoom forgets any one entry of a map that is full.
func makeRoom[K comparable](m map[K]*inputSchema) {
	if len(m) < maxSchemas {
		return
	}
	for k := range m {
		delete(m, k)
		return
	}
}

// lookups asks for the definition of a tool once for all the calls that fail at the
// same time in one session.
type lookups struct {
	mu      sync.Mutex
	running map[lookupKey]*lookup
}

// A lookupKey is what a definition may depend on: who asks, and for what.
type lookupKey struct {
	session mcp.Session
	tool    string
}

type lookup struct {
	done chan struct{}
	tool *mcp.Tool
	err  error
}

// tool returns the definition of the tool that is called.
func (l *lookups) tool(ctx context.Context, c *call.Call, req mcp.Request, next mcp.MethodHandler) (*mcp.Tool, error) {
	c = callOf(ctx, c, req)
	key := lookupKey{req.GetSession(), call.Target(req)}
	l.mu.Lock()
	other := l.running[key]
	if other == nil {
		mine := &lookup{done: make(chan struct{}), err: errors.New("validate: the lookup of a tool panicked")}
		if l.running == nil {
			l.running = map[lookupKey]*lookup{}
		}
		l.running[key] = mine
		l.mu.Unlock()
		defer func() {
			l.mu.Lock()
			delete(l.running, key)
			l.mu.Unlock()
			close(mine.done)
		}()
		mine.tool, mine.err = c.Tool(next)
		return mine.tool, mine.err
	}
	l.mu.Unlock()
	select {
	case <-other.done:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if other.err != nil {
		return c.Tool(next) // who asked may have given up, or may not list what this call may
	}
	return other.tool, nil
}

// callOf returns the Call to ask for the definition of what a request names, which is
// not what the caller named where a middleware outside has put another name.
func callOf(ctx context.Context, c *call.Call, req mcp.Request) *call.Call {
	if call.Target(req) == call.Target(c.Request()) {
		return c
	}
	return c.Below(ctx, "lookup", req)
}

// schemaOf returns the input schema of the tool that is called. The error says why it
// cannot be had: a single wrapped handler has no server to ask.
func (v *validator) schemaOf(ctx context.Context, c *call.Call, req mcp.Request, next mcp.MethodHandler) (*inputSchema, error) {
	found, err := v.lookups.tool(ctx, c, req, next)
	if err != nil {
		return nil, err
	}
	s := guarded(func() *inputSchema { return v.schemas.get(found.InputSchema) })
	if s == nil {
		return nil, errors.New("the input schema is no JSON")
	}
	_, err = s.compile()
	return s, err
}

// anyObject is what every tool takes.
var anyObject = &inputSchema{text: []byte(`{"type":"object"}`)}
