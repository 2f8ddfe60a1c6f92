package ask

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
	"unsafe"
	"weak"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/safe"
	"github.com/mcpchain/mcpchain/internal/wire"
)

// The definition of a tool is remembered for a second ([table.Brief]). Otherwise a middleware that
// needs it for every call would ask for the list each time; in an outage each failing call would. A
// change is seen within that second, and no middleware sees it sooner. The memory holds the pages
// of the list that were requested, so that one look-up answers for all tools of a page.
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
	sorted    []*mcp.Tool // by name, without those that are nil
	following string      // the cursor of the next page

	read sync.Once
	said []string // see names
}

// names returns the names of the tools, in the server's order. The first call makes them, in one
// piece of memory: thousands of names are read twice as fast that way.
func (p *Page) names() []string {
	p.read.Do(func() {
		var all strings.Builder
		for _, tool := range p.listed {
			if tool != nil {
				all.WriteString(tool.Name)
			}
		}
		p.said = make([]string, 0, len(p.sorted))
		rest := all.String()
		for _, tool := range p.listed {
			if tool == nil {
				continue
			}
			n := len(tool.Name)
			p.said, rest = append(p.said, rest[:n]), rest[n:]
		}
	})
	return p.said
}

// Size is how many tools the page keeps alive.
func (p *Page) Size() int { return len(p.listed) }

func (p *Page) equal(other *Page) bool {
	return p.following == other.following && slices.Equal(p.listed, other.listed)
}

func byName(a, b *mcp.Tool) int { return strings.Compare(a.Name, b.Name) }

// sort makes p safe to remember: a filter may go on to change the list that it returned.
func (p *Page) sort() {
	p.listed = slices.Clone(p.listed)
	p.sorted = p.listed
	if slices.Contains(p.sorted, nil) {
		p.sorted = slices.DeleteFunc(slices.Clone(p.sorted), func(tool *mcp.Tool) bool { return tool == nil })
	}
	if !slices.IsSortedFunc(p.sorted, byName) {
		p.sorted = slices.Clone(p.sorted)
		slices.SortStableFunc(p.sorted, byName)
	}
}

// Tool returns the tool with a name, nil for none. If there are several, it is the first of the
// list.
func (p *Page) Tool(name string) *mcp.Tool {
	i, ok := slices.BinarySearchFunc(p.sorted, name, func(tool *mcp.Tool, name string) int { return strings.Compare(tool.Name, name) })
	if !ok {
		return nil
	}
	return p.sorted[i]
}

// remember stores a page that was requested at the time asked, and returns it sorted. A page that
// is the same for two callers is stored once.
func (o *Place) remember(key pageKey, p *Page, asked time.Duration) *Page {
	anybody := pageKey{cursor: key.cursor} // without a session: the page that any caller saw last
	if other, ok := o.tools.Get(anybody, asked); ok && other.equal(p) {
		p = other
	} else {
		p.sort()
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
	var space [1024]byte
	b, ok := space[:0], true
	if params := req.GetParams(); !safe.Nil(params) {
		b, ok = appendMeta(b, params.GetMeta())
	}
	if extra := req.GetExtra(); ok && extra != nil {
		b = appendHeader(b, extra.Header)
		b, ok = appendToken(b, extra.TokenInfo)
	}
	if !ok || len(b) == 0 {
		return caller, ok
	}
	return sha256.Sum256(b), true
}

// ofOneRequest are the headers and the members of a _meta that differ between requests of the same
// caller and do not identify it.
var ofOneRequest = map[string]bool{
	"Content-Length": true, "X-Request-Id": true, "Traceparent": true, "Tracestate": true,
	"progressToken": true, "traceparent": true, "tracestate": true,
}

func appendMeta(b []byte, meta mcp.Meta) ([]byte, bool) {
	if len(meta) == 0 {
		return b, true
	}
	var few [fewKeys]string
	for _, key := range sorted(few[:0], meta) {
		if ofOneRequest[key] || strings.HasPrefix(key, wire.Prefix) {
			continue
		}
		var ok bool
		if b, ok = appendValue(appendText(append(b, 'm'), key), meta[key], maxNested); !ok {
			return b, false
		}
	}
	return b, true
}

// fewKeys is how many keys of a map are sorted without an allocation.
const fewKeys = 16

// sorted appends the keys of a map to keys, which is empty, in order.
func sorted[V any](keys []string, m map[string]V) []string {
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

func appendHeader(b []byte, header http.Header) []byte {
	var few [fewKeys]string
	for _, name := range sorted(few[:0], header) {
		if !ofOneRequest[name] {
			b = appendTexts(appendText(append(b, 'h'), name), header[name])
		}
	}
	return b
}

func appendToken(b []byte, token *auth.TokenInfo) ([]byte, bool) {
	if token == nil {
		return b, true
	}
	b = appendTexts(appendText(append(b, 't'), token.UserID), token.Scopes)
	b = appendText(b, token.Expiration.UTC().Format(time.RFC3339Nano))
	return appendValue(b, token.Extra, maxNested)
}

// maxNested is how deep a value may be nested that still is compared.
const maxNested = 16

// appendValue appends a unique encoding of a value that JSON decodes into. It is false for other
// types, because it is unknown what a filter sees in them.
func appendValue(b []byte, v any, depth int) (_ []byte, ok bool) {
	if depth == 0 {
		return b, false
	}
	switch v := v.(type) {
	case nil:
		return append(b, 'n'), true
	case bool:
		if v {
			return append(b, 'y'), true
		}
		return append(b, 'f'), true
	case float64:
		return binary.BigEndian.AppendUint64(append(b, 'd'), math.Float64bits(v)), true
	case json.Number:
		return appendText(append(b, 'j'), string(v)), true
	case string:
		return appendText(append(b, 's'), v), true
	case []string:
		return appendTexts(append(b, 'l'), v), true
	case []any:
		b = binary.BigEndian.AppendUint32(append(b, 'a'), uint32(len(v))) //nolint:gosec // no list has more
		for _, item := range v {
			if b, ok = appendValue(b, item, depth-1); !ok {
				return b, false
			}
		}
		return b, true
	case map[string]any:
		b = binary.BigEndian.AppendUint32(append(b, 'o'), uint32(len(v))) //nolint:gosec // no map has more
		var few [fewKeys]string
		for _, key := range sorted(few[:0], v) {
			if b, ok = appendValue(appendText(b, key), v[key], depth-1); !ok {
				return b, false
			}
		}
		return b, true
	default:
		return b, false
	}
}

func appendTexts(b []byte, texts []string) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(len(texts))) //nolint:gosec // no list has more
	for _, text := range texts {
		b = appendText(b, text)
	}
	return b
}

//go:noinline
func appendText(b []byte, text string) []byte { // called in too many places to be inlined
	return append(binary.BigEndian.AppendUint64(b, uint64(len(text))), text...)
}
