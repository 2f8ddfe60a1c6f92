package redis

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/store"
)

// A server names the Redis of a client, for the log.
type server string

// serverOf returns the addresses of a client's Redis, without credentials.
func serverOf(client goredis.UniversalClient) server {
	switch c := client.(type) {
	case *goredis.Client:
		return server(c.Options().Addr) // with Sentinel it is FailoverClient
	case *goredis.ClusterClient:
		return server(strings.Join(c.Options().Addrs, ","))
	case *goredis.Ring:
		return server(strings.Join(slices.Sorted(maps.Values(c.Options().Addrs)), ","))
	default:
		return server(fmt.Sprintf("(%T)", client))
	}
}

// An opError is an error of Redis for the log. It names the Redis and the operation, which the
// error itself, such as "context deadline exceeded", often does not.
type opError struct {
	server    server
	operation string
	is        error // of package store, or nil
	err       error
}

// Error implements error.
func (e *opError) Error() string {
	return fmt.Sprintf("redis at %s: %s: %v", string(e.server), e.operation, e.err)
}

// Unwrap returns the error of go-redis, and the error of package store that it amounts to,
// if any.
func (e *opError) Unwrap() []error {
	if e.is == nil {
		return []error{e.err}
	}
	return []error{e.is, e.err}
}

// failed returns what a caller may know of an error of Redis: that a store is down, and when
// to try again. Its cause is for the log. If the caller's own context has ended, it returns
// the cause of that.
func (s server) failed(ctx context.Context, operation string, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	cause := &opError{server: s, operation: operation, err: err}
	if timeout := net.Error(nil); errors.As(err, &timeout) && timeout.Timeout() { // context.DeadlineExceeded too
		cause.err = fmt.Errorf("no answer in time: %w", err)
	}
	if tookNoEffect(err) {
		cause.is = store.ErrRefused
	}
	f := down()
	switch code(err) {
	case "OOM":
		cause.is = store.ErrFull
		return f.After(30 * time.Second).Because(cause)
	case "LOADING", "BUSY", "MISCONF":
		return f.After(5 * time.Second).Because(cause) // it starts, runs a long script, or cannot write its disk
	case "READONLY", "CLUSTERDOWN", "TRYAGAIN", "MASTERDOWN", "NOREPLICAS", "MOVED", "ASK":
		return f.After(2 * time.Second).Because(cause) // it fails over
	case "NOAUTH", "WRONGPASS", "NOPERM", "WRONGTYPE", "NOPROTO":
		return f.Never(untilRepaired).Because(cause)
	}
	return f.After(0).Because(cause) // nobody knows how long
}

const untilRepaired = "It stays so until the operator of the server repairs it."

// down returns the fault of a store that does not answer. A handler that meets it may have changed
// something before, so it does not say that nothing was done.
func down() *fault.Error {
	return fault.Unavailable("a store that this server needs").WithRetry(fault.Retry{Effect: fault.EffectUnknown})
}

// foreign returns the error for an answer of Redis that this package cannot have caused, as
// when another program wrote the value.
func (s server) foreign(operation string, err error) error {
	return down().Never(untilRepaired).
		Because(&opError{server: s, operation: operation, err: err})
}

// code returns the word with which Redis begins an error of its own, or "".
func code(err error) string {
	var reply goredis.Error
	if !errors.As(err, &reply) {
		return ""
	}
	word, _, _ := strings.Cut(strings.TrimPrefix(reply.Error(), "-"), " ")
	return word
}

// tookNoEffect reports whether a command that failed cannot have changed anything:
// Redis refused it, or it was never sent.
func tookNoEffect(err error) bool {
	var dial *net.OpError
	return code(err) != "" || errors.Is(err, goredis.ErrPoolTimeout) || errors.Is(err, goredis.ErrClosed) ||
		(errors.As(err, &dial) && dial.Op == "dial")
}

// worthRepeating reports whether another try within the time that is left may succeed: a
// connection broke, and another one can replace it.
func worthRepeating(err error) bool {
	return code(err) == "" && !errors.Is(err, goredis.ErrClosed) && !errors.Is(err, goredis.ErrPoolTimeout) &&
		!errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled)
}
