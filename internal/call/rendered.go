package call

import (
	"runtime"
	"sync"
	"weak"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// renderedErrors finds the original of a protocol error that a Call rendered. It is
// for the case that a middleware of the user's does not pass on the context that it
// got: then the middlewares inside of it open a Call of their own and render, and
// those outside, with the mask, must not take the answer for a deliberate one. A
// result of a tool carries its original itself, in GetError; a protocol error has no
// place for it. The keys are weak: what was sent is forgotten.
type renderedErrors struct {
	mu        sync.Mutex
	originals map[weak.Pointer[jsonrpc.Error]]error
}

var rendered = renderedErrors{originals: map[weak.Pointer[jsonrpc.Error]]error{}}

func (r *renderedErrors) add(wire *jsonrpc.Error, original error) *jsonrpc.Error {
	key := weak.Make(wire)
	r.mu.Lock()
	r.originals[key] = original
	r.mu.Unlock()
	runtime.AddCleanup(wire, func(key weak.Pointer[jsonrpc.Error]) {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.originals, key)
	}, key)
	return wire
}

// original returns what a rendered protocol error was made of, or wire itself.
func (r *renderedErrors) original(wire *jsonrpc.Error) error {
	if wire == nil {
		return wire
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if original, ok := r.originals[weak.Make(wire)]; ok {
		return original
	}
	return wire
}
