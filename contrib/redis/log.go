package redis

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"

	goredis "github.com/redis/go-redis/v9"

	"github.com/mcpchain/mcpchain/internal/sink"
)

// clientLog receives the lines that go-redis itself writes, such as those about a lost connection.
// go-redis has one logger for the whole process, whose default writes plain text to stderr, between
// the lines of a JSON log.
type clientLog struct{ logger atomic.Pointer[slog.Logger] }

var routed = new(clientLog)

// This sets a variable that the goroutines of go-redis clients read without a lock. While
// packages are initialized, no client runs yet. A program that calls goredis.SetLogger itself
// does so later, and its logger stays.
//
//nolint:gochecknoinits // see above
func init() { goredis.SetLogger(routed) }

// SetLogger sets the logger for the lines that go-redis itself writes, for all its clients in
// this process. Nil means [slog.Default] at the time of the line, which is also the default.
// It may be called at any time. goredis.SetLogger replaces it.
func SetLogger(logger *slog.Logger) { routed.logger.Store(logger) }

// Printf writes a line of go-redis, at level Warn because the line has no level. A log that hangs does not
// hold up what go-redis does.
func (c *clientLog) Printf(ctx context.Context, format string, v ...any) {
	logger := c.logger.Load()
	if logger == nil {
		logger = slog.Default()
	}
	if logger.Enabled(ctx, slog.LevelWarn) {
		sink.Log(ctx, logger, slog.LevelWarn, "mcp redis client", slog.String("message", strings.TrimSpace(fmt.Sprintf(format, v...))))
	}
}
