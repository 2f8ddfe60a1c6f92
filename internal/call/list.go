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

// What the server of a Call offers is read from the server itself, when it is
// needed, so that nothing has to be registered twice. Nothing of it is recorded.

// Lookup returns a context in which what is opened is [Call.Quiet].
func Lookup(ctx context.Context) context.Context { return &Call{Context: ctx, quiet: true} }

// Tools yields the tools that the caller of this Call may list, page by page, by
// asking the opener's own handler, so that filters that stand inside it apply. An
// error ends it; there is one when the opener wraps a single handler, which
// cannot answer.
func (c *Call) Tools() iter.Seq2[*mcp.Tool, error] { return tools.all(c) }

// Names returns the names of what the method of this Call could be called for, in one list or more: the
// tools, the prompts, or the resources and their templates that the caller may list. Those of tools may be
// what the caller was told up to a second ago, see [Call.Remembered]. They are bounded, and empty where a
// list cannot be had whole. They must not be written to.
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

// Tool returns the definition of the tool that is called, by asking next for its
// tools, or the opener's own handler when next is nil or a single handler, which has
// no list: the opener may stand around the server. It is for what the caller
// is told about the tool that it has called already, not for other names. The
// error is [ErrNotListed] when the tool is not among those that are listed.
//
// What it returns may be what the server listed up to a second ago, see [Call.Remembered]. That it
// is not listed is never remembered.
func (c *Call) Tool(next Handler) (*mcp.Tool, error) {
	tool, rest := c.remembered(next)
	if tool != nil {
		return tool, nil
	}
	if rest != "" { // the pages in front of it are known
		if tool, err := c.find(next, rest, maxWork); err == nil {
			return tool, nil
		}
	}
	return c.ToolNow(next)
}

// Remembered returns what the server told the same caller of the tool within the last second.
// Nothing is asked.
func (c *Call) Remembered(next Handler) (*mcp.Tool, bool) {
	tool, _ := c.remembered(next)
	return tool, tool != nil
}

// ToolNow is [Call.Tool] for who must not be told what was true a moment ago, such as a caller
// whose call is refused: it always asks.
//
// It looks at first on the page of the list where the tool stood the last time: a server of
// thousands of tools is asked for one page and not for all. What it returns is what the server
// lists now.
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

// find asks for the tool of this Call, from a page of the list on.
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

// ask asks for the pages of the list of tools from a cursor on, and remembers all that it yields.
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

// pagesOfTools returns the pages of the list of tools that the caller may see, or was told of within the
// last second, until there are enough. It may begin again after some.
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
		if len(all) == 1 { // it begins, or begins again
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

// stands notes on which page a tool stands. The first needs no note, but where there is another one.
func (c *Call) stands(name, cursor string) {
	if c.by == nil || len(cursor) > maxCursor {
		return
	}
	if have, _ := c.by.pages.Get(name); have != cursor {
		c.by.pages.Put(name, cursor)
	}
}

// lookEvery is how often names that are not known may have a server asked for its tools.
const lookEvery = time.Second

// MayLook reports whether the handlers behind the opener may be asked for their tools now, for
// a label.
func (c *Call) MayLook() bool {
	if c.by == nil {
		return false
	}
	last, now := c.by.looked.Load(), time.Since(epoch)
	return (last == 0 || now-time.Duration(last) >= lookEvery) && c.by.looked.CompareAndSwap(last, int64(now))
}

// Prompt returns the definition of the prompt that is asked for, as [Call.Tool]
// does.
func (c *Call) Prompt(next Handler) (*mcp.Prompt, error) {
	return prompts.find(c, next, Target(c.req))
}

var (
	// ErrNotListed is the error of [Call.Tool] and [Call.Prompt] when the server does
	// not list what is called.
	ErrNotListed = errors.New("middleware: the server does not list what is called")

	errNoServer = errors.New("middleware: this call has no server to ask")
	errTooLong  = errors.New("middleware: the list of the server has no end, or is too long to be looked through")
)

// How much of a list is looked through: its items, and so many more for each page, because a
// server that invents cursors must not keep us. That is 9,000 pages of one tool, or 100,000 tools.
const (
	maxWork   = 100_000
	ofPage    = 10
	ofNoItems = maxWork / 100 // an empty page
	onePage   = 1             // enough for one

	maxCursor = 1 << 10 // is the length of the longest cursor that is kept
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

// onBehalf returns a request in the session of the Call.
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

// Behind returns what stands between middlewares that only some calls pass and the handler behind them.
// Of a list that a Call inside of them asks for, what they add is left out: the caller who lists does not
// pass these middlewares, and cannot call it. What they take away stays away. passes reports whether
// they are for a call.
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

// without returns the items of a page that nobody added to the one behind, which is nil if nobody
// could.
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

// passed returns the list that was answered behind middlewares that the caller does not pass, nil for
// none, see [Behind].
func (c *Call) passed() mcp.Result {
	cold := c.lock()
	defer c.mu.Unlock()
	return cold.past
}

// names returns the names of the whole list, as many as a [table.Names] has.
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

// find returns the item of a name.
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

// pages asks handler, or the opener's own where it is nil, for the pages of the list from a
// cursor on, and yields the items of each, with its cursor and that of the page behind it. Items may
// be nil. It fails if there are more pages when so much work is done, or when a cursor comes again.
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
		if pages&(pages-1) == 0 { // so that a circle of any length is found
			seen = cursor
		}
		if work -= len(items) + ofPage; len(items) == 0 {
			work -= ofNoItems
		}
	}
	return errTooLong
}
