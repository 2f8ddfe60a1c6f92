// Package exchange connects a call with its transport: the POST that brought it, or the
// request over stdio.
//
// A middleware sees a call and its result, but not the answer on its way to the client.
// The transport around the SDK's server sees bytes, but no call. An [Exchange] connects
// the two: package transport makes one for each POST and each request over stdio, and puts
// its key into the header of the request, which is the only thing that the SDK passes on
// in all kinds of server. The first mcpchain middleware that the call meets [Take]s the
// Exchange and removes the key.
package exchange

import (
	"context"
	"crypto/rand"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/safe"
)

// Header is the name of the header that holds the key of an Exchange.
const Header = "Mcpchain-Exchange"

// An Exchange is one POST with all its calls, or one request over stdio. It lasts from the
// moment when it is read until its answer is on the wire. All methods may be called
// concurrently.
type Exchange struct {
	key    string
	front  *Front      // nil over stdio
	header http.Header // what the client sent; nil over stdio

	leave atomic.Bool

	mu        sync.Mutex
	ended     bool
	abandoned bool
	resumable bool
	user      string // see Open
	listens   bool
	waiting   []Waiter
	calls     map[*context.CancelCauseFunc]struct{} // see Follow
	says      *Says                                 // see says.go
	batch     bool
	fixed     bool
}

// A Waiter waits for the end of an Exchange.
type Waiter interface {
	// Written is called once, when the Exchange has ended. It must not block.
	Written()
}

// open holds the Exchanges that have not ended, by their keys.
var open = struct {
	sync.Mutex
	byKey map[string]*Exchange
}{byKey: map[string]*Exchange{}}

// New begins an Exchange. Call [Exchange.End] when it ends.
func New() *Exchange {
	x := &Exchange{key: rand.Text()} // random, so that no client can name the Exchange of another one
	open.Lock()
	defer open.Unlock()
	open.byKey[x.key] = x
	return x
}

// Extra returns the extra of a request over stdio that names its Exchange.
func (x *Exchange) Extra() *mcp.RequestExtra {
	return &mcp.RequestExtra{Header: http.Header{Header: {x.key}}}
}

// Take returns the Exchange that brought a request, nil if package transport had no part
// in it. It removes the key from the request, so that no handler can pass it on: a second
// Take of the same request returns nil.
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
	case x == nil: // a client made up the key, or the Exchange has ended
		return nil
	case x.header != nil:
		extra.Header = x.header
	default: // requests over stdio have no Extra
		extra.Header = nil
		if r := reflect.Indirect(reflect.ValueOf(req)); r.Kind() == reflect.Struct { // a ServerRequest of any type
			if extra := r.FieldByName("Extra"); extra.CanSet() {
				extra.SetZero()
			}
		}
	}
	return x
}

// Front returns the HTTP handler that the Exchange belongs to, nil over stdio.
func (x *Exchange) Front() *Front { return x.front }

// Leave makes the client use another connection for its next requests, if the header of
// the answer has not been written yet.
func (x *Exchange) Leave() { x.leave.Store(true) }

// Leaves reports whether Leave was called.
func (x *Exchange) Leaves() bool { return x.leave.Load() }

// Await arranges that w.Written is called when the Exchange ends. If it has ended already,
// Await does nothing and returns false.
func (x *Exchange) Await(w Waiter) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.ended {
		x.waiting = append(x.waiting, w)
	}
	return !x.ended
}

// End ends the Exchange: its answer is on the wire, or never will be.
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

// SetOpener notes that the POST begins a session or, if listens, a subscription. The user is "" if unknown.
func (x *Exchange) SetOpener(user string, listens bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.user, x.listens = user, listens
}

// Opener returns the values of SetOpener.
func (x *Exchange) Opener() (user string, listens bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.user, x.listens
}

// A Front is one HTTP handler: its Exchanges, and the streams that clients keep open
// beside them. All methods may be called concurrently. The zero value is ready for use.
type Front struct {
	// CancelOlder is transport.Options.CancelOlder. It is set before the first request.
	CancelOlder bool

	mu      sync.Mutex
	users   map[any]bool // the value: whether the user has parted
	streams map[*func()]struct{}
	ended   bool
}

// New begins an Exchange for a POST with this header, and returns the header with its key.
func (f *Front) New(header http.Header) (*Exchange, http.Header) {
	x := New()
	x.front, x.header = f, Without(header)
	with := maps.Clone(x.header)
	with[Header] = []string{x.key}
	// A proxy does not pass on what Connection names (RFC 9110, section 7.6.1).
	with["Connection"] = append(slices.Clip(with["Connection"]), Header)
	return x, with
}

// Without returns a header without the key of a client or of another front outside, and without the line that
// such a front has added to Connection.
func Without(header http.Header) http.Header {
	without := http.Header{}
	maps.Copy(without, header)
	delete(without, Header)
	lines := slices.DeleteFunc(slices.Clone(header["Connection"]), func(line string) bool { return strings.EqualFold(line, Header) })
	if without["Connection"] = lines; len(lines) == 0 {
		delete(without, "Connection")
	}
	return without
}

// Join keeps the streams of f open until user and all others who joined have parted.
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

// Part notes that user sends nothing more to its clients. When all who joined have parted,
// the streams end, and so does every stream that is opened later.
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

// Stream registers a stream of f. end is called when the stream has to end; it must not
// block. Call the returned function when the stream has ended.
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
