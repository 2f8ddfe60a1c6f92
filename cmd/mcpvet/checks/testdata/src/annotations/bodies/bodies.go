// Package bodies has handlers that say themselves what they do.
package bodies

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"

	"github.com/mcpchain/mcpchain/mask"
	"github.com/mcpchain/mcpchain/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type in struct {
	A, B int
	Name string
}

type result = mcp.CallToolResult

var (
	calls   int
	counter atomic.Int64
	notes   = map[string]string{}
	db      *sql.DB
	hook    func() string
)

func divide(_ context.Context, _ *mcp.CallToolRequest, in in) (*result, any, error) {
	if in.B == 0 {
		in.B = 1
	}
	quotients := map[string]int{}
	quotients["q"] = in.A / in.B
	quotients["q"]++
	var text strings.Builder
	fmt.Fprint(&text, quotients)
	return nil, quotients, nil
}

func note(_ context.Context, req *mcp.CallToolRequest, in *in) (*result, any, error) {
	in.Name = strings.TrimSpace(in.Name)
	raw, err := os.ReadFile("/srv/notes/" + in.Name)
	if err != nil {
		return nil, nil, fmt.Errorf("note %q: %w", in.Name, err)
	}
	out := &output{}
	out.Text = string(raw)
	return nil, out, json.Unmarshal(raw, out)
}

type output struct{ Text string }

func page(ctx context.Context, _ *mcp.CallToolRequest, in in) (*result, any, error) {
	return nil, fetch(in.Name), nil
}

func fetch(url string) string {
	resp, err := http.Get(url)
	if err != nil {
		return ""
	}
	defer resp.Body.Close()
	return resp.Status
}

func rows(ctx context.Context, _ *mcp.CallToolRequest, in in) (*result, any, error) {
	_, err := db.QueryContext(ctx, "SELECT name FROM notes WHERE id = ?", in.A)
	return nil, nil, err
}

func anySQL(ctx context.Context, _ *mcp.CallToolRequest, in in) (*result, any, error) {
	_, err := db.QueryContext(ctx, in.Name)
	return nil, nil, err
}

func returning(ctx context.Context, _ *mcp.CallToolRequest, in in) (*result, any, error) {
	_, err := db.QueryContext(ctx, "DELETE FROM notes RETURNING name")
	return nil, nil, err
}

func counts(_ context.Context, _ *mcp.CallToolRequest, in in) (*result, any, error) {
	calls++
	return nil, calls, nil
}

func counts2(_ context.Context, _ *mcp.CallToolRequest, in in) (*result, any, error) {
	return nil, counter.Add(1), nil
}

func keeps(_ context.Context, _ *mcp.CallToolRequest, in in) (*result, any, error) {
	notes[in.Name] = "kept"
	return nil, nil, nil
}

func forgets(_ context.Context, _ *mcp.CallToolRequest, in in) (*result, any, error) {
	delete(notes, in.Name)
	return nil, nil, nil
}

func changes(_ context.Context, _ *mcp.CallToolRequest, in in) (*result, any, error) {
	held := notes
	held[in.Name] = "kept"
	return nil, nil, nil
}

func calling(_ context.Context, _ *mcp.CallToolRequest, in in) (*result, any, error) {
	return nil, hook(), nil
}

func pod(_ context.Context, _ *mcp.CallToolRequest, in in) (*result, any, error) {
	return nil, nil, exec.Command("kubectl", "debug", in.Name).Run()
}

func made(prefix string) mcp.ToolHandler {
	total := 0
	_ = total
	return func(context.Context, *mcp.CallToolRequest) (*result, error) {
		text, err := os.ReadFile(prefix)
		return &result{Content: []mcp.Content{&mcp.TextContent{Text: string(text)}}}, err
	}
}

func counting() mcp.ToolHandler {
	total := 0
	return func(context.Context, *mcp.CallToolRequest) (*result, error) {
		total++
		return nil, nil
	}
}

type notebook struct{ last string }

func (n *notebook) show(context.Context, *mcp.CallToolRequest) (*result, error) {
	text, err := os.ReadFile(n.last)
	return &result{Content: []mcp.Content{&mcp.TextContent{Text: string(text)}}}, err
}

func (n *notebook) keep(context.Context, *mcp.CallToolRequest) (*result, error) {
	n.last = "kept"
	return &result{}, nil
}

func register(s *mcp.Server, n *notebook) {
	mcp.AddTool(s, &mcp.Tool{Name: "note"}, note)                                                        // want `tool "note" only reads, as its handler says, but has no Annotations`
	mcp.AddTool(s, &mcp.Tool{Name: "page"}, page)                                                        // want `tool "page" only reads, as its handler says`
	mcp.AddTool(s, &mcp.Tool{Name: "rows"}, rows)                                                        // want `tool "rows" only reads, as its handler says`
	s.AddTool(&mcp.Tool{Name: "made"}, made("x"))                                                        // want `tool "made" only reads, as its handler says`
	s.AddTool(&mcp.Tool{Name: "last"}, n.show)                                                           // want `tool "last" only reads, as its handler says`
	s.AddTool(&mcp.Tool{Name: "wrapped"}, middleware.Tool(n.show, mask.New(nil)))                        // want `tool "wrapped" only reads, as its handler says`
	s.AddTool(&mcp.Tool{Name: "literal"}, func(context.Context, *mcp.CallToolRequest) (*result, error) { // want `tool "literal" only reads, as its handler says`
		_, err := os.Stat("x")
		return &result{}, err
	})

	// Not one of these: what only computes may be a draft, and the name or the body says, or may
	// hide, that it writes.
	mcp.AddTool(s, &mcp.Tool{Name: "divide"}, divide) // want `13 tools of this package have no Annotations, tool "divide" is the first`
	s.AddTool(&mcp.Tool{Name: "send_last"}, n.show)
	s.AddTool(&mcp.Tool{Name: "keep"}, n.keep)
	s.AddTool(&mcp.Tool{Name: "get_kept"}, n.keep)
	s.AddTool(&mcp.Tool{Name: "counting"}, counting())
	mcp.AddTool(s, &mcp.Tool{Name: "query"}, anySQL)
	mcp.AddTool(s, &mcp.Tool{Name: "get_deleted"}, returning)
	mcp.AddTool(s, &mcp.Tool{Name: "count_calls"}, counts)
	mcp.AddTool(s, &mcp.Tool{Name: "counts2"}, counts2)
	mcp.AddTool(s, &mcp.Tool{Name: "changes"}, changes)
	mcp.AddTool(s, &mcp.Tool{Name: "calling"}, calling)
	mcp.AddTool(s, &mcp.Tool{Name: "get_report"}, pod)
	mcp.AddTool(s, &mcp.Tool{Name: "keeps"}, keeps)
	mcp.AddTool(s, &mcp.Tool{Name: "delete_last"}, forgets)
}
