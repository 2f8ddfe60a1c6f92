// Package owner finds the caller of a call, for middlewares that remember or count something for each
// caller: limits, keys, failed calls. It is not a part of a Call.
package owner

import (
	"cmp"
	"context"
	"crypto/rand"
	"log/slog"
	"os"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/safe"
	"github.com/mcpchain/mcpchain/internal/table"
)

// A Finder finds the caller of a call. The zero value takes the authenticated user, the session or the
// connection. All methods may be called concurrently.
type Finder struct {
	// Func is the user's own function. It returns "" for an unknown caller. Nil means that there is
	// none.
	Func func(ctx context.Context, req mcp.Request) string

	// Option is the name of Func in records, such as "limit.Options.Owner". Empty means
	// "Options.Owner".
	Option string

	// Logger receives the records. Nil means the Logger of the call.
	Logger *slog.Logger

	panicked, unknown atomic.Bool // recorded once already
}

// Principal returns the name of the caller: the result of Func, or the authenticated user if there is no
// Func. It is "" if the caller is unknown or Func panics. For an item of a list Func gets the request of
// the list: the item's own request lacks its header and its _meta.
func (f *Finder) Principal(ctx context.Context, req mcp.Request) (name string) {
	if f.Func == nil {
		return call.User(req)
	}
	if c := call.FromContext(ctx); c != nil {
		for list := c.Parent(); list != nil; list = list.Parent() {
			req = list.Request()
		}
	}
	if p, panicked := safe.Call(func() { name = f.Func(ctx, req) }, nil); panicked {
		f.once(ctx, &f.panicked, slog.LevelError, f.option()+" panicked; the caller has no identity", slog.String("panic", safe.Value(p)))
	}
	return name
}

// Of returns a name for the caller that no other caller has, "" if the caller is unknown. It is the
// principal, else the ID of the session, else the connection if the call does not come over HTTP.
func (f *Finder) Of(ctx context.Context, req mcp.Request) string {
	if safe.Nil(req) {
		return ""
	}
	name := f.Principal(ctx, req)
	switch {
	case f.Func != nil:
		return prefixed("own:", name)
	case name != "":
		return "user:" + name
	}
	if id := call.SessionID(req); id != "" {
		return "session:" + id
	}
	return prefixed("connection:", Connection(req))
}

// Unknown records, once, the consequence of an unknown caller.
func (f *Finder) Unknown(ctx context.Context, level slog.Level, message string) {
	f.once(ctx, &f.unknown, level, message+" or set "+f.option())
}

func (f *Finder) option() string { return cmp.Or(f.Option, "Options.Owner") }

func (f *Finder) once(ctx context.Context, said *atomic.Bool, level slog.Level, message string, attrs ...slog.Attr) {
	if said.Load() || said.Swap(true) {
		return
	}
	call.Notice(ctx, f.Logger, level, message, attrs...)
}

func prefixed(prefix, name string) string {
	if name == "" {
		return ""
	}
	return prefix + name
}

// OverStdio reports whether a request came from the client that started this process: unlike over
// HTTP, it has neither a header nor a session with an ID, and the standard input is a pipe or a
// socket. In a process that was started this way, a connection in memory looks the same.
func OverStdio(req mcp.Request) bool {
	if safe.Nil(req) || safe.Nil(req.GetSession()) || call.SessionID(req) != "" {
		return false
	}
	if extra := req.GetExtra(); extra != nil && (extra.Header != nil || extra.TokenInfo != nil) {
		return false
	}
	info, err := os.Stdin.Stat()
	return err == nil && info.Mode()&(os.ModeNamedPipe|os.ModeSocket) != 0
}

// connections are the names of connections. The whole process shares them, so that all middlewares
// give a connection the same name.
var connections table.Weak[mcp.ServerSession, string]

// Connection returns a random name for the connection of a request, which lasts as long as the
// connection. It is "" over HTTP, where a server makes a session for each request and a proxy may
// lead many callers through one connection.
func Connection(req mcp.Request) string {
	session, _ := req.GetSession().(*mcp.ServerSession)
	if extra := req.GetExtra(); session == nil || (extra != nil && (extra.Header != nil || extra.TokenInfo != nil)) {
		return ""
	}
	return connections.Of(session, func(*mcp.ServerSession) string { return rand.Text() })
}
