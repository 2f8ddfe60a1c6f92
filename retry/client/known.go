package client

import (
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/failure"
	"github.com/mcpchain/mcpchain/internal/table"
	"github.com/mcpchain/mcpchain/internal/wire"
)

// knownTools remembers what a second call of a tool does, from the lists that a client asks
// for. It requests no list itself, because the server is failing at that moment. A list holds
// until the client asks for another: its model also uses the last one, and most clients ask
// once. Its zero value is empty. It is safe for concurrent use.
type knownTools struct {
	mu       sync.Mutex // guards sessions
	sessions table.Weak[mcp.ClientSession, sessionTools]
}

// sessionTools are the tools of a session by name. A tool is Keyed if it writes and the
// server keeps idempotency keys for it.
type sessionTools map[string]failure.Safety

// The bounds of what is remembered. A tool that is not known is not called twice.
const (
	maxTools = 1000 // of one session
	maxName  = 256  // bytes of the name of a tool
)

// safety returns what the last list says about a second call of a tool.
func (k *knownTools) safety(req mcp.Request, tool string) failure.Safety {
	session, _ := req.GetSession().(*mcp.ClientSession)
	k.mu.Lock()
	defer k.mu.Unlock()
	s, _ := k.sessions.Get(session)
	return s[tool]
}

// learn takes in one page of a list; the first one replaces what was known.
func (k *knownTools) learn(req mcp.Request, page *mcp.ListToolsResult) {
	session, _ := req.GetSession().(*mcp.ClientSession)
	if session == nil {
		return
	}
	params, _ := paramsOf(req).(*mcp.ListToolsParams)
	k.mu.Lock()
	defer k.mu.Unlock()
	s, known := k.sessions.Get(session)
	if !known || params == nil || params.Cursor == "" {
		s = sessionTools{}
		k.sessions.Set(session, s)
	}
	for _, t := range page.Tools {
		if t == nil || len(t.Name) > maxName || len(s) >= maxTools {
			continue
		}
		safety := failure.SafetyOf(t.Annotations)
		if kept, _ := t.Meta[wire.KeyKey].(bool); kept {
			safety = max(safety, failure.Keyed)
		}
		s[strings.Clone(t.Name)] = safety
	}
}
