package redis

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"

	goredis "github.com/redis/go-redis/v9"
)

// clientLog is where go-redis writes lines of its own, such as those about a lost connection. It has
// one logger for the whole process, whose default writes plain text to stderr, between
// the lines of a JSON log.
type clientLog struct{ logger atomic.Pointer[slog.Logger] }

var routed = new(clientLog)

// While a package is initialized, no client of go-redis runs, whose goroutines read the variable
// that this sets without a lock. A program that calls goredis.SetLogger itself does so later,
// and has the last word.
//
//nolint:gochecknoinits // see above
func init() { goredis.SetLogger(routed) }

// SetLogger says to which logger the lines go that go-redis writes itself, for all its clients
// in this process. Nil means [slog.Default] at the time of the line, as it is without a
// call. It may be called at any time. goredis.SetLogger replaces it.
func SetLogger(logger *slog.Logger) { routed.logger.Store(logger) }

// Printf writes a line of go-redis, whose level is not known.
func (c *clientLog) Printf(ctx context.Context, format string, v ...any) {
	logger := c.logger.Load()
	if logger == nil {
		logger = slog.Default()
	}
	if logger.Enabled(ctx, slog.LevelWarn) {
		logger.LogAttrs(ctx, slog.LevelWarn, "mcp redis client", slog.String("message", strings.TrimSpace(fmt.Sprintf(format, v...))))
	}
}
