package call

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/safe"
	"github.com/mcpchain/mcpchain/internal/table"
)

// The tools, prompts and resources of a server are read from the server itself, when they are
// needed, so that nothing has to be registered twice. These look-ups are not recorded.

// Lookup returns a context in which every Call that is opened is [Call.Quiet].
func Lookup(ctx context.Context) context.Context { return &Call{Context: ctx, quiet: true} }

// Tools yields the tools that the caller of this Call may list, page by page. It asks the opener's
// own handler, so that filters inside it apply. An error ends the sequence; there is one if the
// opener wraps a single handler, which cannot list anything.
func (c *Call) Tools() iter.Seq2[*mcp.Tool, error] { return tools.all(c) }

// Names returns the names that the method of this Call could be called with, in one list or more:
// the tools, the prompts, or the resources and their templates that the caller may list. The names
// of tools may be up to a second old, see [Call.Remembered]. Names are bounded in number, and empty
// if the whole list cannot be read. The caller must not write to them.
func (c *Call) Names() [][]string {
	switch c.method {
	case MethodCallTool:
		return c.toolNames()
	case MethodGetPrompt:
		return [][]string{prompts.names(c)}
	default:
		return [][]string{resources.names(c), templates.names(c)}
	}
}

// Tool returns the definition of the tool that is called. It asks next for its tools, or the
// opener's own handler if next is nil or a single handler, which has no list: the opener may stand
// around the server. Use it for what the caller reads about the tool that it has already called,
// not for other names. The error is [ErrNotListed] if the server does not list the tool.
//
// The definition may be up to a second old, see [Call.Remembered]. That a tool is not listed is
// never remembered.
func (c *Call) Tool(next Handler) (*mcp.Tool, error) {
	tool, rest := c.remembered(next)
	if tool != nil {
		return tool, nil
	}
	if rest != "" { // the pages in front of it are remembered
		if tool, err := c.find(next, rest, maxWork); err == nil {
			return tool, nil
		}
	}
	return c.ToolNow(next)
}

// Remembered returns the tool as the server listed it to the same caller within the last second. It
// does not ask the server.
func (c *Call) Remembered(next Handler) (*mcp.Tool, bool) {
	tool, _ := c.remembered(next)
	return tool, tool != nil
}

// ToolNow is [Call.Tool] without the memory, for callers that must not read an outdated definition,
// such as one whose call is refused: it always asks the server.
//
// It looks first on the page of the list where the tool stood the last time, so that a server of
// thousands of tools is asked for one page and not for all.
func (c *Call) ToolNow(next Handler) (*mcp.Tool, error) {
	tool, err := c.look(next)
	if _, one := safe.As[*OneHandlerError](err); one && next != nil {
		tool, err = c.look(nil)
	}
	return tool, err
}

func (c *Call) look(next Handler) (*mcp.Tool, error) {
	if c.by != nil {
		if page, _ := c.by.pages.Get(Target(c.req)); page != "" {
			if tool, err := c.find(next, page, onePage); err == nil {
				return tool, nil
			}
		}
	}
	return c.find(next, "", maxWork)
}

// find asks for the tool of this Call, from one page of the list on.
func (c *Call) find(next Handler, cursor string, work int) (found *mcp.Tool, err error) {
	name := Target(c.req)
	err = c.ask(next, cursor, work, func(p *page, cursor string) bool {
		if found = p.tool(name); found != nil {
			c.stands(name, cursor)
		}
		return found == nil
	})
	if err == nil && found == nil {
		err = ErrNotListed
	}
	return found, err
}

// ask requests the pages of the list of tools from a cursor on, and remembers each page before it
// yields it.
func (c *Call) ask(next Handler, cursor string, work int, yield func(p *page, cursor string) bool) error {
	key, sure := c.seat(next)
	asked := time.Since(epoch)
	return tools.pages(c, next, cursor, work, func(listed []*mcp.Tool, cursor, following string) bool {
		p := &page{listed: listed, following: following}
		if key.cursor = cursor; sure {
			p = c.by.remember(key, p, asked)
		} else {
			p.sort()
		}
		return yield(p, cursor)
	})
}

// pagesOfTools returns the pages of the list of tools that the caller may see, or saw within the
// last second, until there are enough. It may begin again after some pages.
func (c *Call) pagesOfTools(enough func(all []*page) bool) (all []*page, err error) {
	add := func(p *page, _ string) bool {
		all = append(all, p)
		return !enough(all)
	}
	rest, done := c.rememberedPages(nil, "", add)
	if done {
		return all, nil
	}
	if err = c.ask(nil, rest, maxWork, add); err != nil && rest != "" { // a cursor may not last
		all = nil
		err = c.ask(nil, "", maxWork, add)
	}
	return all, err
}

// toolNames returns the names of the tools that the caller may list.
func (c *Call) toolNames() (names [][]string) {
	n := 0
	all, err := c.pagesOfTools(func(all []*page) bool {
		if len(all) == 1 { // the first page, or the first one of a new beginning
			n = 0
		}
		n += len(all[len(all)-1].sorted)
		return n >= table.MaxNames
	})
	if err != nil {
		return nil
	}
	for _, p := range all {
		names = append(names, p.names())
	}
	return names
}

// stands notes on which page a tool stands. The first page is noted only to replace another one.
func (c *Call) stands(name, cursor string) {
	if c.by == nil || len(cursor) > maxCursor {
		return
	}
	if have, _ := c.by.pages.Get(name); have != cursor {
		c.by.pages.Put(name, cursor)
	}
}

// lookEvery is how often an unknown name may make us ask a server for its tools.
const lookEvery = time.Second

// MayLook reports whether a label may now ask the handlers behind the opener for their tools.
func (c *Call) MayLook() bool {
	if c.by == nil {
		return false
	}
	last, now := c.by.looked.Load(), time.Since(epoch)
	return (last == 0 || now-time.Duration(last) >= lookEvery) && c.by.looked.CompareAndSwap(last, int64(now))
}

// Prompt returns the definition of the prompt that the call names, as [Call.Tool] does for a tool.
func (c *Call) Prompt(next Handler) (*mcp.Prompt, error) {
	return prompts.find(c, next, Target(c.req))
}

var (
	// ErrNotListed is the error of [Call.Tool] and [Call.Prompt] if the server does not list the
	// tool or prompt.
	ErrNotListed = errors.New("middleware: the server does not list what is called")

	errNoServer = errors.New("middleware: this call has no server to ask")
	errTooLong  = errors.New("middleware: the list of the server has no end, or is too long to be looked through")
)

// The bounds of looking through a list. Each item is one unit of work, and each page costs some
// more, so that a server that invents cursors cannot keep us busy. That is 9,000 pages of one tool,
// or 100,000 tools.
const (
	maxWork   = 100_000
	ofPage    = 10
	ofNoItems = maxWork / 100 // an empty page costs that much more
	onePage   = 1             // the budget for one page

	maxCursor = 1 << 10 // the length of the longest cursor that is kept
)

// A listing is a list that a server has.
type listing[R interface {
	comparable
	mcp.Result
}, I any] struct {
	method  string
	request func(c *Call, cursor string) mcp.Request
	read    func(R) (items []*I, following string)
	name    func(*I) string
}

var (
	tools = listing[*mcp.ListToolsResult, mcp.Tool]{MethodListTools, func(c *Call, cursor string) mcp.Request {
		return onBehalf(c, &mcp.ListToolsParams{Meta: ProtocolMeta(c.req), Cursor: cursor})
	}, func(r *mcp.ListToolsResult) ([]*mcp.Tool, string) { return r.Tools, r.NextCursor }, func(i *mcp.Tool) string { return i.Name }}

	prompts = listing[*mcp.ListPromptsResult, mcp.Prompt]{MethodListPrompts, func(c *Call, cursor string) mcp.Request {
		return onBehalf(c, &mcp.ListPromptsParams{Meta: ProtocolMeta(c.req), Cursor: cursor})
	}, func(r *mcp.ListPromptsResult) ([]*mcp.Prompt, string) { return r.Prompts, r.NextCursor }, func(i *mcp.Prompt) string { return i.Name }}

	resources = listing[*mcp.ListResourcesResult, mcp.Resource]{MethodListResources, func(c *Call, cursor string) mcp.Request {
		return onBehalf(c, &mcp.ListResourcesParams{Meta: ProtocolMeta(c.req), Cursor: cursor})
	}, func(r *mcp.ListResourcesResult) ([]*mcp.Resource, string) { return r.Resources, r.NextCursor }, func(i *mcp.Resource) string { return i.URI }}

	templates = listing[*mcp.ListResourceTemplatesResult, mcp.ResourceTemplate]{MethodListResourceTemplates, func(c *Call, cursor string) mcp.Request {
		return onBehalf(c, &mcp.ListResourceTemplatesParams{Meta: ProtocolMeta(c.req), Cursor: cursor})
	}, func(r *mcp.ListResourceTemplatesResult) ([]*mcp.ResourceTemplate, string) {
		return r.ResourceTemplates, r.NextCursor
	}, func(i *mcp.ResourceTemplate) string { return i.URITemplate }}
)

// onBehalf returns a request in the session of the Call, for the same caller.
func onBehalf[P mcp.Params](c *Call, params P) mcp.Request {
	return &mcp.ServerRequest[P]{Session: c.serverSession(), Params: params, Extra: c.req.GetExtra()}
}

// all yields the whole list, as the caller may see it.
func (l *listing[R, I]) all(c *Call) iter.Seq2[*I, error] {
	return func(yield func(*I, error) bool) {
		err := l.each(c, nil, func(item *I) bool { return yield(item, nil) })
		if err != nil {
			yield(nil, err)
		}
	}
}

// Behind wraps the handler behind middlewares that only some calls pass. When a quiet Call lists
// tools or other items and the list does not pass these middlewares, the items that they add are
// left out: the caller cannot call them. Items that they remove stay removed. passes reports
// whether a call passes the middlewares.
func Behind(next Handler, passes func(method string, req mcp.Request) bool) Handler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		res, err := next(ctx, method, req)
		switch method {
		case MethodListTools, MethodListPrompts, MethodListResources, MethodListResourceTemplates:
			if c := FromContext(ctx); c != nil && c.quiet && c.method == method && !passes(method, req) {
				cold := c.lock()
				defer c.mu.Unlock()
				cold.past = res
			}
		}
		return res, err
	}
}

// without returns the items of a page that also stand in the list of the handler behind. behind is
// nil if no middleware could have added any; then it returns all items.
func (l *listing[R, I]) without(items []*I, behind mcp.Result) []*I {
	page, ok := behind.(R)
	var none R
	if !ok || page == none {
		return items
	}
	have := map[string]bool{}
	own, _ := l.read(page)
	for _, item := range own {
		if item != nil {
			have[l.name(item)] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(items), func(item *I) bool { return item != nil && !have[l.name(item)] })
}

// passed returns the list that [Behind] recorded for middlewares that the caller does not pass, nil
// for none.
func (c *Call) passed() mcp.Result {
	cold := c.lock()
	defer c.mu.Unlock()
	return cold.past
}

// names returns the names of the whole list, up to the number that a [table.Names] keeps.
func (l *listing[R, I]) names(c *Call) (names []string) {
	for item, err := range l.all(c) {
		if err != nil {
			return nil
		}
		if names = append(names, l.name(item)); len(names) == table.MaxNames {
			break
		}
	}
	return names
}

// find returns the item with a name.
func (l *listing[R, I]) find(c *Call, handler Handler, name string) (found *I, err error) {
	err = l.each(c, handler, func(item *I) bool {
		if l.name(item) == name {
			found = item
		}
		return found == nil
	})
	if err == nil && found == nil {
		err = ErrNotListed
	}
	return found, err
}

// each yields the items of the whole list.
func (l *listing[R, I]) each(c *Call, handler Handler, yield func(item *I) bool) error {
	return l.pages(c, handler, "", maxWork, func(items []*I, _, _ string) bool {
		for _, item := range items {
			if item != nil && !yield(item) {
				return false
			}
		}
		return true
	})
}

// pages requests the pages of the list from a cursor on, from handler, or from the opener's own
// handler if it is nil. It yields the items of each page, the page's cursor and that of the
// following page. Items may be nil. It fails if the work is used up before the last page, or if a
// cursor repeats.
func (l *listing[R, I]) pages(c *Call, handler Handler, cursor string, work int, yield func(items []*I, cursor, following string) bool) error {
	if handler == nil && c.by != nil {
		handler = c.by.self
	}
	if c.serverSession() == nil || handler == nil {
		return errNoServer
	}
	for seen, pages := cursor, 1; work > 0; pages++ {
		req := l.request(c, cursor)
		ask := &Call{Context: c, method: l.method, req: req, by: c.by, quiet: true, cold: &cold{parent: c}}
		res, err := handler(ask, l.method, req)
		if err != nil {
			return err
		}
		var none R
		page, ok := res.(R)
		if !ok || page == none {
			return fmt.Errorf("middleware: the server gave no list in answer to %s, but a %T", l.method, res)
		}
		items, following := l.read(page)
		if !yield(l.without(items, ask.passed()), cursor, following) {
			return nil
		}
		if following == "" || following == cursor {
			return nil
		}
		if cursor = following; cursor == seen {
			break
		}
		if pages&(pages-1) == 0 { // finds a cycle of any length
			seen = cursor
		}
		if work -= len(items) + ofPage; len(items) == 0 {
			work -= ofNoItems
		}
	}
	return errTooLong
}
