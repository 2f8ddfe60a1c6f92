// Package exchange leads a call to what carries it: the POST that brought it, or the
// request over stdio.
//
// A middleware sees a call and its result, but not the answer on its way to the client,
// and what stands around the SDK's server sees bytes, but no call. An [Exchange] is what
// both know: package transport makes one for each POST and each request over stdio, and
// puts its key into the header of the request, which is the only thing that the SDK
// passes on in all kinds of server. The first middleware of ours that the call meets
// [Take]s the Exchange, and the key with it.
package exchange

import (
	"crypto/rand"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/safe"
)

// Header is the name under which the key of an Exchange stands in a header.
const Header = "Mcpchain-Exchange"

// An Exchange is one POST with all calls in it, or one request over stdio, from the moment
// when it is read until its answer is on the wire. All methods may be called concurrently.
type Exchange struct {
	key    string
	front  *Front      // nil over stdio
	header http.Header // what the client sent; nil over stdio

	leave atomic.Bool

	mu      sync.Mutex
	ended   bool
	waiting []Waiter
}

// A Waiter waits for the end of an Exchange.
type Waiter interface {
	// Written is called once, when the Exchange has ended. It must not block.
	Written()
}

// open has the Exchanges that have not ended, by their keys.
var open = struct {
	sync.Mutex
	byKey map[string]*Exchange
}{byKey: map[string]*Exchange{}}

// New begins an Exchange. [Exchange.End] has to be called.
func New() *Exchange {
	x := &Exchange{key: rand.Text()} // nobody can guess it, and so name another's Exchange
	open.Lock()
	defer open.Unlock()
	open.byKey[x.key] = x
	return x
}

// Extra returns what leads from a request over stdio to its Exchange.
func (x *Exchange) Extra() *mcp.RequestExtra {
	return &mcp.RequestExtra{Header: http.Header{Header: {x.key}}}
}

// Take returns the Exchange that brought a request, and nil if package transport had no
// part in it. It takes the key out of the request, so that no handler can pass it on: what
// it returns for the same request later is nil.
func Take(req mcp.Request) *Exchange {
	if safe.Nil(req) {
		return nil
	}
	extra := req.GetExtra()
	if extra == nil || len(extra.Header[Header]) == 0 {
		return nil
	}
	open.Lock()
	x := open.byKey[extra.Header[Header][0]]
	open.Unlock()
	switch {
	case x == nil: // nobody's, from a client
		return nil
	case x.header != nil:
		extra.Header = x.header
	default:
		extra.Header = nil
		withoutExtra(req)
	}
	return x
}

// withoutExtra makes a request what it is over stdio otherwise.
func withoutExtra(req mcp.Request) {
	if r, ok := req.(*mcp.CallToolRequest); ok {
		r.Extra = nil
		return
	}
	if r := reflect.Indirect(reflect.ValueOf(req)); r.Kind() == reflect.Struct { // a ServerRequest of any type
		if extra := r.FieldByName("Extra"); extra.CanSet() {
			extra.SetZero()
		}
	}
}

// Front returns the HTTP handler that the Exchange belongs to, nil over stdio.
func (x *Exchange) Front() *Front { return x.front }

// Leave makes the client use another connection for what comes next, if the header of the
// answer has not been written yet.
func (x *Exchange) Leave() { x.leave.Store(true) }

// Leaves reports whether Leave was called.
func (x *Exchange) Leaves() bool { return x.leave.Load() }

// Await has w.Written called when the Exchange ends. It returns false, and does nothing,
// if it has ended.
func (x *Exchange) Await(w Waiter) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.ended {
		x.waiting = append(x.waiting, w)
	}
	return !x.ended
}

// End says that all that there is of the answer is on the wire, or that it never will be.
func (x *Exchange) End() {
	open.Lock()
	delete(open.byKey, x.key)
	open.Unlock()
	x.mu.Lock()
	waiting := x.waiting
	x.ended, x.waiting = true, nil
	x.mu.Unlock()
	for _, w := range waiting {
		w.Written()
	}
}

// A Front is one HTTP handler: its Exchanges, and the streams that clients keep open
// beside them. All methods may be called concurrently. The zero value is ready for use.
type Front struct {
	mu      sync.Mutex
	users   map[any]bool // whether it has left
	streams map[*func()]struct{}
	ended   bool
}

// New begins an Exchange that was brought by a POST with this header, and returns the
// header that leads to it.
func (f *Front) New(header http.Header) (*Exchange, http.Header) {
	x := New()
	x.front, x.header = f, Without(header)
	with := make(http.Header, len(x.header)+2)
	maps.Copy(with, x.header)
	with[Header] = []string{x.key}
	// A proxy does not pass on what Connection names (RFC 9110, section 7.6.1).
	with["Connection"] = append(slices.Clip(with["Connection"]), Header)
	return x, with
}

// Without returns the header without a key that the client sent.
func Without(header http.Header) http.Header {
	if header == nil {
		return http.Header{}
	}
	if _, ok := header[Header]; ok {
		header = maps.Clone(header)
		delete(header, Header)
	}
	return header
}

// Join makes the streams of f last until user has left, and all others who joined.
func (f *Front) Join(user any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.users == nil {
		f.users = map[any]bool{}
	}
	if _, ok := f.users[user]; !ok {
		f.users[user] = false
	}
}

// Part says that no more comes to the clients of user. When all who joined have parted,
// the streams end, and so does every one that is opened later.
func (f *Front) Part(user any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, joined := f.users[user]; !joined {
		return
	}
	f.users[user] = true
	for _, parted := range f.users {
		if !parted {
			return
		}
	}
	f.ended = true
	for end := range f.streams {
		(*end)()
	}
}

// Stream has end called, which must not block, when the streams of f have to end. The
// returned function has to be called when the stream has ended.
func (f *Front) Stream(end func()) (ended func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended {
		end()
		return func() {}
	}
	if f.streams == nil {
		f.streams = map[*func()]struct{}{}
	}
	f.streams[&end] = struct{}{}
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.streams, &end)
	}
}
