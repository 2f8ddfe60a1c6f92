package call

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// What the server of a Call offers is read from the server itself, when it is
// needed, so that nothing has to be registered twice. Nothing of it is recorded.

// Lookup returns a context in which what is opened is [Call.Quiet].
func Lookup(ctx context.Context) context.Context { return &Call{Context: ctx, quiet: true} }

// Tools yields the tools that the caller of this Call may list, page by page, by
// asking the opener's own handler, so that filters that stand inside it apply. An
// error ends it; there is one when the opener wraps a single handler, which
// cannot answer.
func (c *Call) Tools() iter.Seq2[*mcp.Tool, error] { return c.toolsFrom(c.outermost(), "", nil) }

// Prompts yields the prompts that the caller may list, as [Call.Tools] does.
func (c *Call) Prompts() iter.Seq2[*mcp.Prompt, error] { return c.promptsFrom(c.outermost()) }

// Resources yields the resources that the caller may list, as [Call.Tools] does.
func (c *Call) Resources() iter.Seq2[*mcp.Resource, error] {
	return func(yield func(*mcp.Resource, error) bool) {
		session := c.serverSession()
		pages(c, c.outermost(), MethodListResources, "", nil, func(cursor string) mcp.Request {
			params := &mcp.ListResourcesParams{Meta: ProtocolMeta(c.req), Cursor: cursor}
			return &mcp.ListResourcesRequest{Session: session, Params: params, Extra: c.req.GetExtra()}
		}, func(page *mcp.ListResourcesResult) ([]*mcp.Resource, string) { return page.Resources, page.NextCursor }, yield)
	}
}

// ResourceTemplates yields the templates of resources that the caller may list, as
// [Call.Tools] does.
func (c *Call) ResourceTemplates() iter.Seq2[*mcp.ResourceTemplate, error] {
	return func(yield func(*mcp.ResourceTemplate, error) bool) {
		session := c.serverSession()
		pages(c, c.outermost(), MethodListResourceTemplates, "", nil, func(cursor string) mcp.Request {
			params := &mcp.ListResourceTemplatesParams{Meta: ProtocolMeta(c.req), Cursor: cursor}
			return &mcp.ListResourceTemplatesRequest{Session: session, Params: params, Extra: c.req.GetExtra()}
		}, func(page *mcp.ListResourceTemplatesResult) ([]*mcp.ResourceTemplate, string) {
			return page.ResourceTemplates, page.NextCursor
		}, yield)
	}
}

// Tool returns the definition of the tool that is called, by asking next for its
// tools, or the opener's own handler when next is nil. It is for what the caller
// is told about the tool that it has called already, not for other names. The
// error is [ErrNotListed] when the tool is not among those that are listed.
func (c *Call) Tool(next Handler) (*mcp.Tool, error) {
	if next == nil {
		next = c.outermost()
	}
	name := Target(c.req)
	for tool, err := range c.toolsFrom(next, "", nil) {
		if err != nil {
			return nil, err
		}
		if tool.Name == name {
			return tool, nil
		}
	}
	return nil, ErrNotListed
}

// A Shelf finds tools as [Call.Tool] does, and looks at first on the page of the list where
// the tool stood the last time: a server of thousands of tools is asked for one page and not
// for all. What it returns is what the server lists now. The zero value is ready for use.
type Shelf struct {
	mu    sync.Mutex
	pages map[string]string // the cursors, by the names of tools
}

// Tool returns the definition of the tool that is called.
func (s *Shelf) Tool(c *Call, next Handler) (*mcp.Tool, error) {
	name := Target(c.req)
	s.mu.Lock()
	cursor := s.pages[name]
	s.mu.Unlock()
	if cursor != "" {
		for tool, err := range c.toolsFrom(next, cursor, func(string) bool { return false }) {
			if err == nil && tool.Name == name {
				return tool, nil
			}
		}
	}
	at := ""
	for tool, err := range c.toolsFrom(next, "", func(following string) bool { at = following; return true }) {
		if err != nil {
			return nil, err
		}
		if tool.Name == name {
			s.keep(name, at)
			return tool, nil
		}
	}
	return nil, ErrNotListed
}

// keep notes a page, of which the first needs no note.
func (s *Shelf) keep(name, cursor string) {
	if cursor == "" || len(cursor) > maxCursor {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pages == nil {
		s.pages = map[string]string{}
	}
	for other := range s.pages {
		if len(s.pages) < maxNames {
			break
		}
		delete(s.pages, other) // any one
	}
	s.pages[name] = cursor
}

// maxCursor is the length of the longest cursor that is kept.
const maxCursor = 1 << 10

// Prompt returns the definition of the prompt that is asked for, as [Call.Tool]
// does.
func (c *Call) Prompt(next Handler) (*mcp.Prompt, error) {
	if next == nil {
		next = c.outermost()
	}
	name := Target(c.req)
	for prompt, err := range c.promptsFrom(next) {
		if err != nil {
			return nil, err
		}
		if prompt.Name == name {
			return prompt, nil
		}
	}
	return nil, ErrNotListed
}

// ErrNotListed is the error of [Call.Tool] and [Call.Prompt] when the server does
// not list what is called.
var ErrNotListed = errors.New("middleware: the server does not list what is called")

// toolsFrom yields the tools from a cursor on. more is told the cursor of each further page,
// and reports whether it is wanted; nil wants all.
func (c *Call) toolsFrom(next Handler, from string, more func(cursor string) bool) iter.Seq2[*mcp.Tool, error] {
	return func(yield func(*mcp.Tool, error) bool) {
		session := c.serverSession()
		pages(c, next, MethodListTools, from, more, func(cursor string) mcp.Request {
			params := &mcp.ListToolsParams{Meta: ProtocolMeta(c.req), Cursor: cursor}
			return &mcp.ListToolsRequest{Session: session, Params: params, Extra: c.req.GetExtra()}
		}, func(page *mcp.ListToolsResult) ([]*mcp.Tool, string) { return page.Tools, page.NextCursor }, yield)
	}
}

func (c *Call) promptsFrom(next Handler) iter.Seq2[*mcp.Prompt, error] {
	return func(yield func(*mcp.Prompt, error) bool) {
		session := c.serverSession()
		pages(c, next, MethodListPrompts, "", nil, func(cursor string) mcp.Request {
			params := &mcp.ListPromptsParams{Meta: ProtocolMeta(c.req), Cursor: cursor}
			return &mcp.ListPromptsRequest{Session: session, Params: params, Extra: c.req.GetExtra()}
		}, func(page *mcp.ListPromptsResult) ([]*mcp.Prompt, string) { return page.Prompts, page.NextCursor }, yield)
	}
}

// outermost returns the opener's own handler, with which the call could be made again.
func (c *Call) outermost() Handler {
	if c.by == nil {
		return nil
	}
	return c.by.self
}

func (c *Call) serverSession() *mcp.ServerSession {
	if nilRequest(c.req) {
		return nil
	}
	session, _ := c.req.GetSession().(*mcp.ServerSession)
	return session
}

var errNoServer = errors.New("middleware: this call has no server to ask")

// maxPages bounds a list: a server that invents cursors must not keep us.
const maxPages = 100

// pages asks handler for every page of a list from a cursor on and yields its items.
func pages[R interface {
	comparable
	mcp.Result
}, I any](c *Call, handler Handler, method, cursor string, more func(cursor string) bool, request func(cursor string) mcp.Request, read func(R) ([]*I, string), yield func(*I, error) bool) {
	if c.serverSession() == nil || handler == nil {
		yield(nil, errNoServer)
		return
	}
	for range maxPages {
		req := request(cursor)
		ask := &Call{Context: c, method: method, req: req, by: c.by, quiet: true, cold: &cold{parent: c}}
		res, err := handler(ask, method, req)
		var none R
		page, ok := res.(R)
		switch {
		case err != nil:
			yield(nil, err)
			return
		case !ok || page == none:
			yield(nil, fmt.Errorf("middleware: the server gave no list in answer to %s, but a %T", method, res))
			return
		}
		items, following := read(page)
		for _, item := range items {
			if item != nil && !yield(item, nil) {
				return
			}
		}
		if following == "" || following == cursor || more != nil && !more(following) {
			return
		}
		cursor = following
	}
}

// ProtocolMeta returns what a request says about its protocol and its client, and what it says
// under more keys, for a request made on its behalf.
func ProtocolMeta(req mcp.Request, more ...string) mcp.Meta {
	if nilParams(req) {
		return nil
	}
	meta := maps.Clone(req.GetParams().GetMeta())
	maps.DeleteFunc(meta, func(key string, _ any) bool {
		return !strings.HasPrefix(key, "io.modelcontextprotocol/") && !slices.Contains(more, key)
	})
	return meta
}
