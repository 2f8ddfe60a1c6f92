package front

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/headers"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/rpc"
)

// tools is what is known of the arguments that stand in headers, too. The mutex of the session guards it.
type tools struct {
	headers headers.Tools
	listed  bool          // all tools are known
	asked   time.Time     // when the server was asked for them last
	asking  chan struct{} // closed when it has answered; nil if it is not asked
}

// learn notes what the server has listed.
func (t *tools) learn(asked, answer *rpc.Message) {
	cursor := asked.Text("params", "cursor")
	t.headers.Learn(cursor, answer.Result)
	if cursor == "" {
		t.listed = answer.Value("result", "nextCursor") == nil
	}
}

// differs says how the headers of a call of a tool differ from its arguments, "" if they do not. The server is
// asked for its tools if they are not known, and before a call is refused: they may have changed.
func (s *session) differs(req *http.Request, m *rpc.Message) string {
	listed, why := s.compared(req.Header, m)
	if listed && why == "" || !s.relist(req.Context()) {
		return why
	}
	_, why = s.compared(req.Header, m)
	return why
}

// compared says the same of what is known, and whether that is all.
func (s *session) compared(header http.Header, m *rpc.Message) (listed bool, why string) {
	name, _ := headers.Decoded(header.Get("Mcp-Name")) // which was compared
	s.mu.Lock()
	listed = s.tools.listed
	bound := s.tools.headers.Of(name)
	s.mu.Unlock()
	if listed && len(bound) == 0 {
		return true, ""
	}
	var args map[string]json.RawMessage
	if raw := m.Value("params", "arguments"); raw != nil && rpc.Unmarshal(raw, &args) != nil {
		return listed, ""
	}
	if len(args) == 0 && !repeats(header) {
		return true, "" // there is nothing to compare
	}
	for _, b := range bound {
		if why = b.Mismatch(header, args); why != "" {
			return listed, why
		}
	}
	return listed, ""
}

// repeats reports whether a header repeats an argument.
func repeats(header http.Header) bool {
	for name := range header {
		if strings.HasPrefix(name, headers.Param) {
			return true
		}
	}
	return false
}

// The bounds of asking a server for its tools: clients whose headers are wrong must not make it busy.
const (
	askAgain = time.Second
	askLimit = 10 * time.Second
	maxPages = 50
)

// relist asks the server for its tools, unless it was asked a moment ago, and reports whether it was asked. Those
// who come meanwhile wait for the same answer.
func (s *session) relist(ctx context.Context) bool {
	s.mu.Lock()
	asking := s.tools.asking
	if asking == nil && time.Since(s.tools.asked) < askAgain {
		s.mu.Unlock()
		return false
	}
	if asking == nil {
		asking = make(chan struct{})
		s.tools.asking, s.tools.asked = asking, time.Now()
		go s.list(asking) //nolint:gosec // others wait for the same answer
	}
	s.mu.Unlock()
	select {
	case <-asking:
	case <-ctx.Done():
	}
	return true
}

// list asks the server for all pages of its tools. answer notes what it says. One that does not say it is not
// asked before each call.
func (s *session) list(asking chan struct{}) {
	ctx, cancel := context.WithTimeout(context.Background(), askLimit)
	defer cancel()
	cursor := ""
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.tools.asking, s.tools.asked = nil, time.Now()
		s.tools.listed = true
		close(asking)
	}()
	for range maxPages {
		params := map[string]any{"_meta": json.RawMessage(ownMeta)}
		if cursor != "" {
			params["cursor"] = cursor
		}
		raw, _ := json.Marshal(params) //nolint:errchkjson // texts
		page := s.ask(ctx, s.authorization, "tools/list", raw)
		if page == nil {
			return
		}
		if cursor = page.Text("result", "nextCursor"); cursor == "" {
			return
		}
	}
}
