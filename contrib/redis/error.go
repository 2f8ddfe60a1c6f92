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

// serverOf returns it without its credentials.
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

// An opError is what the log gets of an error of Redis. It says which Redis it was and what was
// asked of it, which the error itself, such as "context deadline exceeded", often does not.
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

// Unwrap returns what go-redis said, and what that means to package store.
func (e *opError) Unwrap() []error {
	if e.is == nil {
		return []error{e.err}
	}
	return []error{e.is, e.err}
}

// failed says what a caller may know of an error of Redis: that something is down, and when to
// try again. Its cause is for the log. The end of the caller's own context stays what it is.
func (s server) failed(ctx context.Context, operation string, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	cause := &opError{server: s, operation: operation, err: err}
	if errors.Is(err, context.DeadlineExceeded) {
		cause.err = fmt.Errorf("no answer within Options.Timeout: %w", err)
	}
	if tookNoEffect(err) {
		cause.is = store.ErrRefused
	}
	f := fault.Unavailable("a store that this server needs")
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
	return f.After(time.Second).Because(cause)
}

const untilRepaired = "It stays so until the operator of the server repairs it."

// foreign is for what Redis answered and this package did not write.
func (s server) foreign(operation string, err error) error {
	return fault.Unavailable("a store that this server needs").Never(untilRepaired).
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

// worthRepeating reports whether another try within the time that is left may go
// better: a connection broke, which another one replaces.
func worthRepeating(err error) bool {
	return code(err) == "" && !errors.Is(err, goredis.ErrClosed) && !errors.Is(err, goredis.ErrPoolTimeout) &&
		!errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled)
}
