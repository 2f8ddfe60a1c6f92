package call

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"maps"
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

// What a tool is, is remembered for a second ([table.Brief]): a middleware that has to know it for
// every call would ask for the list each time, and in an outage each failing call would. A change is
// seen within that second; no middleware learns of it sooner. What is remembered is each page of the
// list that was asked for, so that one question answers for all tools of it.
//
// What the server told one caller is not for another. A user's filter may answer by the session, by
// the token, by any header and by the _meta of a request, so a look-up is remembered for all of
// these together. Nothing else can tell two callers of one session apart: over stdio there is one,
// and over HTTP the context of a session's calls is that of its first request. A server over HTTP
// without sessions makes one for each request, and then nothing is remembered longer than that.

// seat is what a page is remembered for.
type seat struct {
	session weak.Pointer[mcp.ServerSession]
	place   unsafe.Pointer    // the handler that was asked: filters may stand between two that ask
	caller  [sha256.Size]byte // zero for one who is known by the session alone
	cursor  string
}

// seat returns what the first page of the list is remembered for, and false if it is not certain that
// all callers of this Call are told the same.
func (c *Call) seat(next Handler) (seat, bool) {
	session := c.serverSession()
	if c.by == nil || session == nil {
		return seat{}, false
	}
	if next == nil {
		next = c.by.self
	}
	caller, sure := callerOf(c.req)
	return seat{session: weak.Make(session), place: placeOf(next), caller: caller}, sure
}

// A page is one of a list of tools. It does not change once it is remembered.
type page struct {
	listed    []*mcp.Tool // as the server listed them
	sorted    []*mcp.Tool // by name, without those that are nil
	following string      // the cursor of the page behind it

	read sync.Once
	said []string // see names
}

// names returns the names of the tools, as the server listed them. It is made when it is first asked for,
// in one piece of memory: thousands of names are read twice as fast so.
func (p *page) names() []string {
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

// Size is how many tools are kept alive.
func (p *page) Size() int { return len(p.listed) }

func (p *page) equal(other *page) bool {
	return p.following == other.following && slices.Equal(p.listed, other.listed)
}

func byName(a, b *mcp.Tool) int { return strings.Compare(a.Name, b.Name) }

// sort makes p fit to be remembered: a filter may go on to change the list that it answered.
func (p *page) sort() {
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

// tool returns the tool of a name, nil for none. Of several it is the one that is listed first.
func (p *page) tool(name string) *mcp.Tool {
	i, ok := slices.BinarySearchFunc(p.sorted, name, func(tool *mcp.Tool, name string) int { return strings.Compare(tool.Name, name) })
	if !ok {
		return nil
	}
	return p.sorted[i]
}

// remember notes a page that was asked for at a time, and returns it fit to be read. A page that two callers
// were told alike is kept once.
func (o *opener) remember(key seat, p *page, asked time.Duration) *page {
	anybody := seat{cursor: key.cursor} // has no session: what any caller was told last
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

// maxPages is how many pages of a list are looked through in the memory.
const maxPages = 100

// rememberedPages yields the pages that the same caller was told of within the last second, from a cursor
// on. It reports whether that was all that there is, or enough, and else the cursor of the first page that
// is not remembered.
func (c *Call) rememberedPages(next Handler, cursor string, yield func(p *page, cursor string) bool) (rest string, enough bool) {
	key, sure := c.seat(next)
	if key.cursor = cursor; !sure {
		return cursor, false
	}
	now := time.Since(epoch)
	for range maxPages {
		p, ok := c.by.tools.Get(key, now)
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

// remembered returns the tool of this Call as the same caller was told of it within the last second, nil
// if it stands on no page that is remembered. rest is then the cursor of the first page that is not, if
// the pages in front of it are, and it is not known where else the tool stands.
func (c *Call) remembered(next Handler) (tool *mcp.Tool, rest string) {
	if c.by == nil {
		return nil, ""
	}
	name := Target(c.req)
	noted, _ := c.by.pages.Get(name)
	rest, _ = c.rememberedPages(next, noted, func(p *page, cursor string) bool {
		if tool = p.tool(name); tool != nil {
			c.stands(name, cursor)
		}
		return tool == nil
	})
	if noted != "" {
		rest = ""
	}
	return tool, rest
}

// placeOf returns what no other handler has that there is: the pointer to the closure. It keeps
// that alive.
func placeOf(h Handler) unsafe.Pointer {
	return *(*unsafe.Pointer)(unsafe.Pointer(&h)) //nolint:gosec // functions cannot be compared otherwise
}

// callerOf returns a hash of all by which a filter could tell who makes a request, but the
// session. It is false where something of it cannot be compared.
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

// ofOneRequest are the headers and the members of a _meta that are another one's in each request
// of the same caller, and say nothing of it.
var ofOneRequest = map[string]bool{
	"Content-Length": true, "X-Request-Id": true, "Traceparent": true, "Tracestate": true,
	"progressToken": true, "traceparent": true, "tracestate": true,
}

func appendMeta(b []byte, meta mcp.Meta) ([]byte, bool) {
	if len(meta) == 0 {
		return b, true
	}
	for _, key := range slices.Sorted(maps.Keys(meta)) {
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

func appendHeader(b []byte, header http.Header) []byte {
	for _, name := range slices.Sorted(maps.Keys(header)) {
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

// maxNested is how deep a value may be nested that is compared.
const maxNested = 16

// appendValue appends what no other value has, for values as JSON is decoded into. It is false
// for any other one, of which it is not known what a filter sees in it.
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
		for _, key := range slices.Sorted(maps.Keys(v)) {
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
func appendText(b []byte, text string) []byte { // in too many places to be inlined
	return append(binary.BigEndian.AppendUint64(b, uint64(len(text))), text...)
}
