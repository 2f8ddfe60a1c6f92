package task

import (
	"slices"
	"strconv"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/kept"
	"github.com/mcpchain/mcpchain/internal/wire"
	"github.com/mcpchain/mcpchain/internal/words"
)

// sentence writes a call of a tool of this package.
func sentence(tool, id string) string { return tool + ` {"id":` + strconv.Quote(id) + `}` }

// text returns an answer of a tool of this package.
func (r *request) text(text string) *mcp.CallToolResult {
	res := call.NewResult(r.CallToolRequest)
	res.Content = []mcp.Content{&mcp.TextContent{Text: text}}
	return res
}

// A state is what a text says of a call that runs.
type state struct {
	tool, id string
	began    time.Time
	progress progress
	usual    time.Duration // zero if unknown
	only     bool          // the same call gets the same ID
	stopped  bool          // by task_cancel
	stops    bool          // task_cancel is offered
}

// state returns the state of a run of this server.
func (r *run) state() state {
	s := state{tool: r.req.Params.Name, id: r.id, began: r.began, only: r.only, stops: !r.t.taken[1].Load()}
	r.mu.Lock()
	s.progress, s.stopped = r.progress, r.stopped
	r.mu.Unlock()
	const enough = 3
	if u, _ := r.t.usual.Get(r.owner + "\x00" + s.tool); u.seen >= enough {
		seen := slices.Clone(u.last[:min(u.seen, len(u.last))])
		slices.Sort(seen)
		s.usual = seen[len(seen)/2]
	}
	return s
}

// handle returns the handle. again says that the caller has repeated the call.
func (r *run) handle(req *mcp.CallToolRequest, again bool) *mcp.CallToolResult {
	s := r.state()
	text := s.text(true)
	if again {
		text = "The same call runs already, and was not run again. " + text
	}
	res := call.NewResult(req)
	res.Content = []mcp.Content{&mcp.TextContent{Text: text}}
	res.Meta = mcp.Meta{wire.TaskKey: s.machine()}
	if r.output {
		res.StructuredContent = map[string]any{handleMember: map[string]any{"id": s.id, "text": text}}
	}
	return res
}

// stillRunning is the answer of task_result for a call that runs.
func (t *tasks) stillRunning(r *request, rec kept.Record) *mcp.CallToolResult {
	s := state{tool: rec.Tool, id: r.id, began: rec.Began, progress: progress{text: rec.Said}}
	if r.here != nil {
		s = r.here.state()
	}
	res := r.text(s.text(false))
	res.Meta = mcp.Meta{wire.TaskKey: s.machine()}
	return res
}

func (s state) machine() map[string]any {
	m := map[string]any{"id": s.id, "tool": s.tool, "status": "running", "started_at": s.began.UTC().Format(time.RFC3339)}
	if s.progress.text != "" {
		m["progress"] = s.progress.text
	}
	return m
}

// When to ask again: about when the call usually ends, within these bounds.
const (
	soonest = 5 * time.Second
	later   = 30 * time.Second
	latest  = time.Minute
)

// text says how far the call is, and what to do.
func (s state) text(first bool) string {
	lasts := time.Since(s.began)
	text := "Still running: " + words.Quote(s.tool, maxSaid) + " has not finished after " + words.Since(lasts)
	if s.stopped {
		text += ". It was told to stop."
	} else {
		text += ", and goes on."
	}
	if s.progress.text != "" {
		text += " Its last progress: " + words.Ended(s.progress.text)
	}
	pause := later
	if s.usual > 0 && !s.stopped {
		text += " Such calls usually take " + words.Since(s.usual) + "."
		if left := s.usual - lasts; left > 0 {
			pause = min(max(left, soonest), latest)
		}
	}
	text += "\nNext: go on with other work. In about " + words.Wait(pause) + ", call " + sentence(resultTool, s.id) + " for the answer."
	if !first {
		return text
	}
	again := "a second call may do the work twice"
	if s.only {
		again = "the same call gets this ID, and nothing is run"
	}
	text += "\nDo not call " + words.Quote(s.tool, maxSaid) + " again for it: " + again + "."
	if s.stops {
		text += "\nTo stop it, call " + sentence(cancelTool, s.id) + "."
	}
	return text
}
