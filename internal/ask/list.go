// Package ask asks a server for its lists, on behalf of a call and as its caller may see them: for the
// definition of the called tool or prompt, and for all names (list.go). It remembers tools for a second
// (remember.go), and reads their schemas (schema.go). It knows a call only as a [Caller].
package ask

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/safe"
	"github.com/mcpchain/mcpchain/internal/table"
)

// A Caller is the call on whose behalf a server is asked.
type Caller interface {
	// Request returns what was called.
	Request() mcp.Request
	// Target returns the name of the tool or prompt that is called.
	Target() string
	// Place returns the place in the chain where the call was opened, nil if there is none.
	Place() *Place
	// Ask passes a request to handler as an internal look-up. behind is what the handler behind all
	// middlewares answered that this caller does not pass, nil if there are none.
	Ask(handler mcp.MethodHandler, method string, req mcp.Request) (res, behind mcp.Result, err error)
}

// A Place is a middleware in front of a handler, and what is known of the server behind it.
type Place struct {
	Self mcp.MethodHandler // the handler that the middleware makes, which is asked first

	looked atomic.Int64        // see MayLook
	pages  table.Names[string] // tool name to the cursor of the page that lists it, see [Server.ToolNow]
	tools  table.Brief[pageKey, *Page]
}

// Forget forgets what the server has listed: it lists something else now.
func (o *Place) Forget() { o.tools.Forget(time.Since(epoch)) }

// A Server is the server of a call, as its caller may see it.
type Server struct{ Caller }

// epoch makes time.Since read the monotonic clock only, which costs half of time.Now.
var epoch = time.Now()

// Tools yields the tools that the caller may list, page by page. It asks the opener's
// own handler, so that filters inside it apply. An error ends the sequence; there is one if the
// opener wraps a single handler, which cannot list anything.
func (s Server) Tools() iter.Seq2[*mcp.Tool, error] { return tools.all(s, nil) }

// Names returns the names that the method of the call could be called with, in one list or more:
// the tools, the prompts, or the resources and their templates that the caller may list. The names
// of tools may be up to a second old, see [Server.Remembered]. Names are bounded in number, and empty
// if the whole list cannot be read. The caller must not write to them.
func (s Server) Names() [][]string {
	switch s.Request().(type) {
	case *mcp.CallToolRequest:
		return s.toolNames()
	case *mcp.GetPromptRequest:
		return [][]string{prompts.names(s)}
	default:
		return [][]string{resources.names(s), templates.names(s)}
	}
}

// Tool returns the definition of the called tool. It asks next for its tools, or the opener's own
// handler if next is nil or a single handler, which has no list: the opener may stand around the
// server. Use it for texts about the called tool, not for other names. The error is [ErrNotListed] if the server does not list the tool.
//
// The definition may be up to a second old, see [Server.Remembered]. That a tool is not listed is
// never remembered.
func (s Server) Tool(next mcp.MethodHandler) (*mcp.Tool, error) {
	tool, rest := s.remembered(next)
	if tool != nil {
		return tool, nil
	}
	if rest != "" { // the pages in front of it are remembered
		if tool, err := s.find(next, rest, maxWork); err == nil {
			return tool, nil
		}
	}
	return s.ToolNow(next)
}

// Remembered returns the tool as the server listed it to the same caller within the last second. It
// does not ask the server.
func (s Server) Remembered(next mcp.MethodHandler) (*mcp.Tool, bool) {
	tool, _ := s.remembered(next)
	return tool, tool != nil
}

// ToolNow is [Server.Tool] without the memory, for callers that must not read an outdated definition,
// such as one whose call is refused: it always asks the server.
//
// It looks first on the page of the list where the tool stood the last time, so that a server of
// thousands of tools is asked for one page and not for all.
func (s Server) ToolNow(next mcp.MethodHandler) (*mcp.Tool, error) {
	tool, err := s.look(next)
	if _, one := safe.As[*OneHandlerError](err); one && next != nil {
		tool, err = s.look(nil)
	}
	return tool, err
}

func (s Server) look(next mcp.MethodHandler) (*mcp.Tool, error) {
	if s.Place() != nil {
		if page, _ := s.Place().pages.Get(s.Target()); page != "" {
			if tool, err := s.find(next, page, onePage); err == nil {
				return tool, nil
			}
		}
	}
	return s.find(next, "", maxWork)
}

func (s Server) find(next mcp.MethodHandler, cursor string, work int) (found *mcp.Tool, err error) {
	name := s.Target()
	err = s.listTools(next, cursor, work, func(p *Page, cursor string) bool {
		if found = p.Tool(name); found != nil {
			s.stands(name, cursor)
		}
		return found == nil
	})
	if err == nil && found == nil {
		err = ErrNotListed
	}
	return found, err
}

// listTools requests the pages of the list of tools from a cursor on, within the budget work, and
// remembers each page before it yields it.
func (s Server) listTools(next mcp.MethodHandler, cursor string, work int, yield func(p *Page, cursor string) bool) error {
	key, sure := s.firstPageKey(next)
	asked := time.Since(epoch)
	return tools.pages(s, next, cursor, work, func(listed []*mcp.Tool, cursor, following string) bool {
		p := newPage(listed, following)
		if key.cursor = cursor; sure {
			p = s.Place().remember(key, p, asked)
		}
		return yield(p, cursor)
	})
}

// Pages returns the pages of the list of tools that the caller may see, or saw within the
// last second, until there are enough. It may begin again after some pages.
func (s Server) Pages(enough func(all []*Page) bool) (all []*Page, err error) {
	add := func(p *Page, _ string) bool {
		all = append(all, p)
		return !enough(all)
	}
	rest, done := s.rememberedPages(nil, "", add)
	if done {
		return all, nil
	}
	if err = s.listTools(nil, rest, maxWork, add); err != nil && rest != "" { // a cursor may not last
		all = nil
		err = s.listTools(nil, "", maxWork, add)
	}
	return all, err
}

func (s Server) toolNames() (names [][]string) {
	n := 0
	all, err := s.Pages(func(all []*Page) bool {
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
func (s Server) stands(name, cursor string) {
	if s.Place() == nil || len(cursor) > maxCursor {
		return
	}
	if have, _ := s.Place().pages.Get(name); have != cursor {
		s.Place().pages.Put(name, cursor)
	}
}

// lookEvery is the shortest time between two look-ups of an unknown name.
const lookEvery = time.Second

// MayLook reports whether a label may now ask the handlers behind the opener for their tools.
func (s Server) MayLook() bool {
	if s.Place() == nil {
		return false
	}
	last, now := s.Place().looked.Load(), time.Since(epoch)
	return (last == 0 || now-time.Duration(last) >= lookEvery) && s.Place().looked.CompareAndSwap(last, int64(now))
}

// Prompt returns the definition of the prompt that the call names, as [Server.Tool] does for a tool.
func (s Server) Prompt(next mcp.MethodHandler) (*mcp.Prompt, error) {
	for prompt, err := range prompts.all(s, next) {
		if err != nil || prompt.Name == s.Target() {
			return prompt, err
		}
	}
	return nil, ErrNotListed
}

var (
	// ErrNotListed is the error of [Server.Tool] and [Server.Prompt] if the server does not list the
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

// The methods with which a server is asked for a list.
const (
	ListTools             = "tools/list"
	ListPrompts           = "prompts/list"
	ListResources         = "resources/list"
	ListResourceTemplates = "resources/templates/list"
)

// A listing is a list that a server has.
type listing[R interface {
	comparable
	mcp.Result
}, I any] struct {
	method  string
	request func(s Server, cursor string) mcp.Request
	read    func(R) (items []*I, following string)
	name    func(*I) string
}

var (
	tools = listing[*mcp.ListToolsResult, mcp.Tool]{ListTools, func(s Server, cursor string) mcp.Request {
		return onBehalf(s, &mcp.ListToolsParams{Meta: ProtocolMeta(s.Request()), Cursor: cursor})
	}, func(r *mcp.ListToolsResult) ([]*mcp.Tool, string) { return r.Tools, r.NextCursor }, func(i *mcp.Tool) string { return i.Name }}

	prompts = listing[*mcp.ListPromptsResult, mcp.Prompt]{ListPrompts, func(s Server, cursor string) mcp.Request {
		return onBehalf(s, &mcp.ListPromptsParams{Meta: ProtocolMeta(s.Request()), Cursor: cursor})
	}, func(r *mcp.ListPromptsResult) ([]*mcp.Prompt, string) { return r.Prompts, r.NextCursor }, func(i *mcp.Prompt) string { return i.Name }}

	resources = listing[*mcp.ListResourcesResult, mcp.Resource]{ListResources, func(s Server, cursor string) mcp.Request {
		return onBehalf(s, &mcp.ListResourcesParams{Meta: ProtocolMeta(s.Request()), Cursor: cursor})
	}, func(r *mcp.ListResourcesResult) ([]*mcp.Resource, string) { return r.Resources, r.NextCursor }, func(i *mcp.Resource) string { return i.URI }}

	templates = listing[*mcp.ListResourceTemplatesResult, mcp.ResourceTemplate]{ListResourceTemplates, func(s Server, cursor string) mcp.Request {
		return onBehalf(s, &mcp.ListResourceTemplatesParams{Meta: ProtocolMeta(s.Request()), Cursor: cursor})
	}, func(r *mcp.ListResourceTemplatesResult) ([]*mcp.ResourceTemplate, string) {
		return r.ResourceTemplates, r.NextCursor
	}, func(i *mcp.ResourceTemplate) string { return i.URITemplate }}
)

func onBehalf[P mcp.Params](s Server, params P) mcp.Request {
	return &mcp.ServerRequest[P]{Session: s.session(), Params: params, Extra: s.Request().GetExtra()}
}

// all yields the whole list of handler, or of the opener's own handler if it is nil.
func (l *listing[R, I]) all(s Server, handler mcp.MethodHandler) iter.Seq2[*I, error] {
	return func(yield func(*I, error) bool) {
		err := l.pages(s, handler, "", maxWork, func(items []*I, _, _ string) bool {
			for _, item := range items {
				if !yield(item, nil) {
					return false
				}
			}
			return true
		})
		if err != nil {
			yield(nil, err)
		}
	}
}

// own returns a copy of the items of a page, without nils. Items that middlewares have added are left
// out; if there can be none, behind is nil.
func (l *listing[R, I]) own(items []*I, behind mcp.Result) []*I {
	var have map[string]bool
	var none R
	if page, ok := behind.(R); ok && page != none {
		have = map[string]bool{}
		listed, _ := l.read(page)
		for _, item := range listed {
			if item != nil {
				have[l.name(item)] = true
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(items), func(item *I) bool { return item == nil || have != nil && !have[l.name(item)] })
}

// names returns the names of the whole list, up to the number that a [table.Names] keeps.
func (l *listing[R, I]) names(s Server) (names []string) {
	for item, err := range l.all(s, nil) {
		if err != nil {
			return nil
		}
		if names = append(names, l.name(item)); len(names) == table.MaxNames {
			break
		}
	}
	return names
}

// pages requests the pages of the list from a cursor on, from handler, or from the opener's own
// handler if it is nil. It yields the items of each page, the page's cursor and that of the
// following page. It fails if the work is used up before the last page, or if a
// cursor repeats.
func (l *listing[R, I]) pages(s Server, handler mcp.MethodHandler, cursor string, work int, yield func(items []*I, cursor, following string) bool) error {
	if handler == nil && s.Place() != nil {
		handler = s.Place().Self
	}
	if s.session() == nil || handler == nil {
		return errNoServer
	}
	for seen, pages := cursor, 1; work > 0; pages++ {
		req := l.request(s, cursor)
		res, behind, err := s.Ask(handler, l.method, req)
		if err != nil {
			return err
		}
		var none R
		page, ok := res.(R)
		if !ok || page == none {
			return fmt.Errorf("middleware: the server gave no list in answer to %s, but a %T", l.method, res)
		}
		items, following := l.read(page)
		if !yield(l.own(items, behind), cursor, following) {
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

// A OneHandlerError is the error of a call that a wrapped handler cannot answer, because the call
// is of another method.
type OneHandlerError struct{ Method, Called string }

func (e *OneHandlerError) Error() string {
	return fmt.Sprintf("middleware: a wrapped handler of %q cannot answer %q", e.Method, e.Called)
}

// ProtocolMeta returns the members of a request's _meta about the protocol and the client, and
// those under the keys in more, for a request made on its behalf.
func ProtocolMeta(req mcp.Request, more ...string) mcp.Meta {
	if safe.Nil(req) || safe.Nil(req.GetParams()) {
		return nil
	}
	meta := maps.Clone(req.GetParams().GetMeta())
	maps.DeleteFunc(meta, func(key string, _ any) bool {
		return !strings.HasPrefix(key, "io.modelcontextprotocol/") && !slices.Contains(more, key)
	})
	return meta
}

func (s Server) session() *mcp.ServerSession {
	req := s.Request()
	if safe.Nil(req) {
		return nil
	}
	session, _ := req.GetSession().(*mcp.ServerSession)
	return session
}
