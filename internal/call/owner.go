package call

import (
	"context"
	"crypto/rand"
	"runtime"
	"strings"
	"sync"
	"weak"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/safe"
)

// Owners says who makes a call, for middlewares that remember something of their
// callers from one call to the next. All methods may be called concurrently.
type Owners struct {
	// Func is the user's own function; "" means that it does not know. Nil means
	// that there is none.
	Func func(ctx context.Context, req mcp.Request) string
}

// Of returns a name for the caller that no other caller has, "" when nobody knows
// who it is: what the user's function says, or else the authenticated principal, or
// the session's ID, or the connection where it does not come by HTTP. A function
// that panics does not know.
func (o Owners) Of(ctx context.Context, req mcp.Request) string {
	if safe.Nil(req) {
		return ""
	}
	if o.Func != nil {
		return prefixed("own:", o.ask(ctx, req))
	}
	extra := req.GetExtra()
	if extra != nil && extra.TokenInfo != nil && extra.TokenInfo.UserID != "" {
		return "user:" + extra.TokenInfo.UserID
	}
	if id := SessionID(req); id != "" {
		return "session:" + id
	}
	return prefixed(connectionPrefix, Connection(req))
}

const connectionPrefix = "connection:"

// OfConnection reports whether a name that [Owners.Of] returned is that of a
// connection, which no other process knows.
func OfConnection(owner string) bool { return strings.HasPrefix(owner, connectionPrefix) }

func prefixed(prefix, name string) string {
	if name == "" {
		return ""
	}
	return prefix + name
}

func (o Owners) ask(ctx context.Context, req mcp.Request) (name string) {
	defer func() {
		if recover() != nil {
			name = ""
		}
	}()
	return o.Func(ctx, req)
}

// SessionID returns the ID of the session of a request, "" where it has none: over
// stdio, in memory, and over HTTP since 2026-07-28.
func SessionID(req mcp.Request) string {
	if session, _ := req.GetSession().(*mcp.ServerSession); session != nil {
		return session.ID()
	}
	return ""
}

// connections are the names of connections. They are the process's, so that all
// middlewares call a connection the same; without the table, a server over stdio
// could not tell whose a key or a handle is. A connection that is gone leaves nothing.
var connections = struct {
	sync.Mutex
	names map[weak.Pointer[mcp.ServerSession]]string
}{names: map[weak.Pointer[mcp.ServerSession]]string{}}

// Connection returns a random name for the connection of a request, which lasts as
// long as it does, and "" over HTTP: there a server makes a session for each
// request, and a proxy may lead many callers through one.
func Connection(req mcp.Request) string {
	session, _ := req.GetSession().(*mcp.ServerSession)
	if extra := req.GetExtra(); session == nil || (extra != nil && (extra.Header != nil || extra.TokenInfo != nil)) {
		return ""
	}
	connections.Lock()
	defer connections.Unlock()
	key := weak.Make(session)
	name, ok := connections.names[key]
	if !ok {
		name = rand.Text()
		connections.names[key] = name
		runtime.AddCleanup(session, forgetConnection, key)
	}
	return name
}

func forgetConnection(key weak.Pointer[mcp.ServerSession]) {
	connections.Lock()
	defer connections.Unlock()
	delete(connections.names, key)
}
