package ask

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
	"unsafe"
	"weak"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/safe"
	"github.com/mcpchain/mcpchain/internal/wire"
)

// The definition of a tool is remembered for a second ([table.Brief]). Otherwise each failing call would
// ask for the list. A change is seen within that second, and no middleware sees it sooner. The memory holds
// the pages of the list that were requested, so that one look-up answers for all tools of a page.
//
// What the server listed to one caller is not shown to another. A user's filter may decide by the
// session, the token, any header and the _meta of a request, so all of these together are the key.
// Nothing else can distinguish two callers of one session: over stdio there is one caller, and over
// HTTP the context of a session's calls is that of its first request. A server over HTTP without
// sessions makes one for each request, and then nothing is remembered longer than that.

// A pageKey is the key of a remembered page.
type pageKey struct {
	session weak.Pointer[mcp.ServerSession]
	place   unsafe.Pointer    // the handler that was asked, because filters may stand between two handlers
	caller  [sha256.Size]byte // zero for a caller whom the session alone identifies
	cursor  string
}

// firstPageKey returns the key of the first page of the list. It is false if nothing may be remembered: there is no
// session, or another caller with the same key could see another list.
func (s Server) firstPageKey(next mcp.MethodHandler) (pageKey, bool) {
	session := s.session()
	if s.Place() == nil || session == nil {
		return pageKey{}, false
	}
	if next == nil {
		next = s.Place().Self
	}
	caller, sure := callerOf(s.Request())
	return pageKey{session: weak.Make(session), place: placeOf(next), caller: caller}, sure
}

// A Page is one page of a list of tools. It does not change once it is remembered.
type Page struct {
	listed    []*mcp.Tool // in the server's order
	sorted    []*mcp.Tool // by name
	following string      // the cursor of the next page
	names     func() []string
}

// Size is how many tools the page keeps alive.
func (p *Page) Size() int { return len(p.listed) }

func byName(a, b *mcp.Tool) int { return strings.Compare(a.Name, b.Name) }

// newPage returns a page with tools that belong to it.
func newPage(listed []*mcp.Tool, following string) *Page {
	p := &Page{listed: listed, sorted: listed, following: following}
	if !slices.IsSortedFunc(listed, byName) {
		p.sorted = slices.Clone(listed)
		slices.SortStableFunc(p.sorted, byName)
	}
	p.names = sync.OnceValue(func() (names []string) {
		for _, tool := range listed {
			names = append(names, tool.Name)
		}
		return names
	})
	return p
}

// Tool returns the tool with a name, nil for none. If there are several, it is the first of the
// list.
func (p *Page) Tool(name string) *mcp.Tool {
	if i, ok := slices.BinarySearchFunc(p.sorted, &mcp.Tool{Name: name}, byName); ok {
		return p.sorted[i]
	}
	return nil
}

// remember stores a page that was requested at the time asked. A page that is the same for two
// callers is stored once.
func (o *Place) remember(key pageKey, p *Page, asked time.Duration) *Page {
	anybody := pageKey{cursor: key.cursor} // without a session: the page that any caller saw last
	if other, ok := o.tools.Get(anybody, asked); ok && other.following == p.following && slices.Equal(other.listed, p.listed) {
		p = other
	}
	if len(key.cursor) <= maxCursor && len(p.following) <= maxCursor {
		o.tools.Put(anybody, p, asked)
		o.tools.Put(key, p, asked)
	}
	return p
}

// maxPages is how many remembered pages of a list are looked through.
const maxPages = 100

// rememberedPages yields the pages that the same caller saw within the last second, from a cursor
// on. enough reports whether these were the last page or all that yield wanted; else rest is the
// cursor of the first page that is not remembered.
func (s Server) rememberedPages(next mcp.MethodHandler, cursor string, yield func(p *Page, cursor string) bool) (rest string, enough bool) {
	key, sure := s.firstPageKey(next)
	if key.cursor = cursor; !sure {
		return cursor, false
	}
	now := time.Since(epoch)
	for range maxPages {
		p, ok := s.Place().tools.Get(key, now)
		if !ok {
			break
		}
		if !yield(p, key.cursor) || p.following == "" {
			return "", true
		}
		key.cursor = p.following
	}
	return key.cursor, false
}

// remembered returns the tool of the call as the same caller saw it within the last second, nil if
// it stands on no remembered page. If all pages in front of it are remembered and no page is noted
// for the tool, rest is the cursor of the first page that is not remembered.
func (s Server) remembered(next mcp.MethodHandler) (tool *mcp.Tool, rest string) {
	if s.Place() == nil {
		return nil, ""
	}
	name := s.Target()
	noted, _ := s.Place().pages.Get(name)
	rest, _ = s.rememberedPages(next, noted, func(p *Page, cursor string) bool {
		if tool = p.Tool(name); tool != nil {
			s.stands(name, cursor)
		}
		return tool == nil
	})
	if noted != "" {
		rest = ""
	}
	return tool, rest
}

// placeOf returns the pointer to the closure, which no other living handler has. The pointer keeps
// the closure alive.
func placeOf(h mcp.MethodHandler) unsafe.Pointer {
	return *(*unsafe.Pointer)(unsafe.Pointer(&h)) //nolint:gosec // functions cannot be compared otherwise
}

// callerOf returns a hash of everything but the session by which a filter could distinguish
// callers. It is false if a part of it cannot be compared.
func callerOf(req mcp.Request) (caller [sha256.Size]byte, sure bool) {
	var b []byte
	if params := req.GetParams(); !safe.Nil(params) {
		meta := params.GetMeta()
		for _, key := range slices.Sorted(maps.Keys(meta)) {
			if ofOneRequest[key] || strings.HasPrefix(key, wire.Prefix) {
				continue
			}
			if !decoded(meta[key], maxNested) {
				return caller, false
			}
			b = fmt.Appendf(b, "meta %q:%#v\n", key, meta[key])
		}
	}
	if extra := req.GetExtra(); extra != nil {
		for _, name := range slices.Sorted(maps.Keys(extra.Header)) {
			if !ofOneRequest[name] {
				b = fmt.Appendf(b, "header %q:%q\n", name, extra.Header[name])
			}
		}
		if token := extra.TokenInfo; token != nil {
			if !decoded(token.Extra, maxNested) {
				return caller, false
			}
			b = fmt.Appendf(b, "token %#v\n", *token)
		}
	}
	if len(b) == 0 {
		return caller, true
	}
	return sha256.Sum256(b), true
}

// ofOneRequest are the headers and the members of a _meta that differ between requests of the same
// caller and do not identify it.
var ofOneRequest = map[string]bool{
	"Content-Length": true, "X-Request-Id": true, "Traceparent": true, "Tracestate": true,
	"progressToken": true, "traceparent": true, "tracestate": true,
}

// maxNested is how deep a value may be nested that still is compared.
const maxNested = 16

// decoded reports whether JSON decodes into such a value. No two of them have one text in Go's syntax.
// Of any other type it is unknown what a filter sees in its values.
func decoded(v any, depth int) bool {
	if depth == 0 {
		return false
	}
	switch v := v.(type) {
	case nil, bool, float64, string, []string:
		return true
	case []any:
		return !slices.ContainsFunc(v, func(item any) bool { return !decoded(item, depth-1) })
	case map[string]any:
		for _, item := range v {
			if !decoded(item, depth-1) {
				return false
			}
		}
		return true
	default:
		return false
	}
}
