package redis

import (
	"context"
	"errors"
	"net"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/store"
)

// unavailable says what a caller may know of an error of Redis: that something is
// down, and when to try again. The end of the caller's own context stays what it is.
func unavailable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	f := fault.Unavailable("a store that this server needs")
	switch code(err) {
	case "OOM":
		return f.After(30 * time.Second).Because(errors.Join(store.ErrFull, err))
	case "LOADING", "BUSY", "MISCONF":
		return f.After(5 * time.Second).Because(err) // it starts, runs a long script, or cannot write its disk
	case "READONLY", "CLUSTERDOWN", "TRYAGAIN", "MASTERDOWN", "NOREPLICAS", "MOVED", "ASK":
		return f.After(2 * time.Second).Because(err) // it fails over
	case "NOAUTH", "WRONGPASS", "NOPERM", "WRONGTYPE", "NOPROTO":
		return foreign(err)
	}
	return f.After(time.Second).Because(err)
}

// foreign is for errors that stay until an operator does something.
func foreign(err error) error {
	return fault.Unavailable("a store that this server needs").
		Never("It stays so until the operator of the server repairs it.").Because(err)
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
