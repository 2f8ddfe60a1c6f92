package client

import (
	"context"
	"maps"
	"strings"
	"sync"
	"time"
	"weak"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/classify"
	"github.com/mcpchain/mcpchain/internal/wire"
)

// knownTools remembers which tools of which sessions may be called twice, from the
// lists that a client asks for, because a server that is just failing is not the one
// to ask for a list. Its zero value is empty. It is safe for concurrent use.
type knownTools struct {
	mu       sync.Mutex
	sessions map[weak.Pointer[mcp.ClientSession]]*sessionTools
}

// sessionTools is guarded by the mutex of its knownTools.
type sessionTools struct {
	tools   map[string]classify.Safety // Keyed where the tool writes and the server keeps idempotency keys
	learned time.Time                  // when the list began
	asked   time.Time                  // when it was last asked for here
	asking  chan struct{}              // closed when the answer is there; nil when nobody is asking
}

// The bounds of what is asked for and remembered. A tool that is not known is not
// called twice.
const (
	maxSessions = 64
	maxTools    = 1000 // of one session
	maxName     = 256  // bytes of the name of a tool
	maxCursor   = 4096 // bytes
	maxPages    = 20
	lookUpTime  = 5 * time.Second // for all pages
	maxAge      = time.Hour       // what is older is asked for again: a tool may have changed
	askEvery    = time.Minute     // how often at most
)

// repeatable reports whether a tool is known to be one that may be called twice, and
// asks the server for its list when nothing is known. Of several callers one asks and
// the others wait, none of them longer than limit.
func (k *knownTools) repeatable(ctx context.Context, limit time.Duration, tool string, req mcp.Request, next mcp.MethodHandler) bool {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	session, _ := req.GetSession().(*mcp.ClientSession)
	for {
		yes, asking, mine := k.look(session, tool)
		switch {
		case asking == nil:
			return yes
		case mine: // in a goroutine: what stands inside may not heed the context
			go k.ask(ctx, session, req, next, asking)
		}
		select {
		case <-asking:
		case <-ctx.Done():
			return false
		}
	}
}

// look reports whether a tool is known to be one that may be called twice. When
// nothing is known and it is time to ask, it returns a channel that is closed when the
// answer is there, and whether it is the caller who asks.
func (k *knownTools) look(session *mcp.ClientSession, tool string) (yes bool, asking chan struct{}, mine bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	s, now := k.of(session), time.Now()
	if safety, known := s.tools[tool]; known && now.Sub(s.learned) < maxAge {
		return safety >= classify.Idempotent, nil, false
	}
	switch recently := now.Sub(s.asked); {
	case s.asking != nil && recently < lookUpTime:
		return false, s.asking, false
	case s.asking != nil || recently < askEvery: // who asked waits in vain
		return false, nil, false
	}
	s.asked, s.asking = now, make(chan struct{})
	return false, s.asking, true
}

// ask asks the server for its tools, page by page, and closes asking when it is done.
func (k *knownTools) ask(ctx context.Context, session *mcp.ClientSession, req mcp.Request, next mcp.MethodHandler, asking chan struct{}) {
	defer func() {
		_ = recover() // this goroutine is ours, and what stands inside may panic
		k.mu.Lock()
		defer k.mu.Unlock()
		if s := k.of(session); s.asking == asking { // else it was forgotten meanwhile
			s.asking = nil
		}
		close(asking)
	}()
	meta, cursor, seen := call.ProtocolMeta(req), "", 0
	for range maxPages {
		list := &mcp.ClientRequest[mcp.Params]{Session: session, Params: &mcp.ListToolsParams{Meta: meta, Cursor: cursor}}
		res, err := next(ctx, call.MethodListTools, list)
		page, ok := res.(*mcp.ListToolsResult)
		if err != nil || !ok || page == nil || ctx.Err() != nil {
			return
		}
		k.learn(list, page)
		seen += len(page.Tools)
		if page.NextCursor == "" || page.NextCursor == cursor || len(page.NextCursor) > maxCursor || seen >= maxTools {
			return
		}
		cursor = page.NextCursor
	}
}

// learn takes in one page of a list; the first one replaces what was known.
func (k *knownTools) learn(req mcp.Request, page *mcp.ListToolsResult) {
	session, _ := req.GetSession().(*mcp.ClientSession)
	params, _ := paramsOf(req).(*mcp.ListToolsParams)
	k.mu.Lock()
	defer k.mu.Unlock()
	s := k.of(session)
	if params == nil || params.Cursor == "" || s.tools == nil {
		s.tools, s.learned = make(map[string]classify.Safety, min(len(page.Tools), maxTools)), time.Now()
	}
	for _, t := range page.Tools {
		if t == nil || len(t.Name) > maxName || len(s.tools) >= maxTools {
			continue
		}
		safety := classify.SafetyOf(t.Annotations)
		if kept, _ := t.Meta[wire.KeyKey].(bool); kept {
			safety = max(safety, classify.Keyed)
		}
		s.tools[strings.Clone(t.Name)] = safety
	}
}

// keeps reports whether a tool is known to be one that writes and for which the server
// keeps idempotency keys. Nothing is asked for.
func (k *knownTools) keeps(req mcp.Request, tool string) bool {
	session, _ := req.GetSession().(*mcp.ClientSession)
	k.mu.Lock()
	defer k.mu.Unlock()
	s := k.sessions[weak.Make(session)]
	return s != nil && s.tools[tool] == classify.Keyed && time.Since(s.learned) < maxAge
}

// of returns what is known of the session's tools. The lock is held.
func (k *knownTools) of(session *mcp.ClientSession) *sessionTools {
	key := weak.Make(session)
	if s, ok := k.sessions[key]; ok {
		return s
	}
	if k.sessions == nil {
		k.sessions = map[weak.Pointer[mcp.ClientSession]]*sessionTools{}
	}
	if len(k.sessions) >= maxSessions {
		maps.DeleteFunc(k.sessions, func(key weak.Pointer[mcp.ClientSession], _ *sessionTools) bool { return key.Value() == nil })
	}
	for key := range k.sessions {
		if len(k.sessions) < maxSessions {
			break
		}
		delete(k.sessions, key) // any: it will be asked for again
	}
	s := &sessionTools{}
	k.sessions[key] = s
	return s
}
