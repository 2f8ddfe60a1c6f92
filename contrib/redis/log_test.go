package redis_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	mcpredis "github.com/mcpchain/mcpchain/contrib/redis"
)

// lines is a log of which each line must be JSON.
type lines struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(p)
}

// take returns the messages of the lines so far, and all that they say.
func (l *lines) take(t *testing.T) (messages []string, all string) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	all = l.all.String()
	for line := range strings.Lines(all) {
		var record struct{ Msg string }
		require.NoError(t, json.Unmarshal([]byte(line), &record), line)
		messages = append(messages, record.Msg)
	}
	l.all.Reset()
	return messages, all
}

// TestWhereARedisIs: the cause of a failure, which is for the log, names each address that there is.
func TestWhereARedisIs(t *testing.T) {
	for _, client := range []goredis.UniversalClient{
		goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: []string{"127.0.0.1:1", "127.0.0.1:2"}, ContextTimeoutEnabled: true}),
		goredis.NewRing(&goredis.RingOptions{Addrs: map[string]string{"b": "127.0.0.1:2", "a": "127.0.0.1:1"}, ContextTimeoutEnabled: true}),
	} {
		_, err := mcpredis.New(client, &mcpredis.Options{Timeout: 300 * time.Millisecond}).Get(t.Context(), "k")
		require.ErrorContains(t, errors.Unwrap(faultOf(t, err)), "redis at 127.0.0.1:1,127.0.0.1:2: get: ")
		_ = client.Close()
	}
}

// TestLinesOfGoRedis go where they are sent, and by default to the logger that slog has then.
func TestLinesOfGoRedis(t *testing.T) {
	was, wasLog := slog.Default(), log.Writer()
	defer func() { slog.SetDefault(was); log.SetOutput(wasLog); mcpredis.SetLogger(nil) }()
	byDefault, chosen := new(lines), new(lines)
	slog.SetDefault(slog.New(slog.NewJSONHandler(byDefault, nil)))

	// A client that cannot be reached, which says so in lines of its own.
	speak := func() {
		client := goredis.NewClient(&goredis.Options{Addr: "127.0.0.1:1", DialerRetries: 1, MaxRetries: -1})
		defer func() { _ = client.Close() }()
		_ = client.Ping(t.Context()).Err()
	}
	speak()
	messages, all := byDefault.take(t)
	require.Contains(t, messages, "mcp redis client")
	require.Contains(t, all, `"level":"WARN"`)
	require.Contains(t, all, "connection refused")

	mcpredis.SetLogger(slog.New(slog.NewJSONHandler(chosen, nil)))
	speak()
	messages, _ = chosen.take(t)
	require.Contains(t, messages, "mcp redis client")
	messages, _ = byDefault.take(t)
	require.Empty(t, messages)

	mcpredis.SetLogger(slog.New(slog.NewJSONHandler(io.Discard, &slog.HandlerOptions{Level: slog.LevelError})))
	speak()
	mcpredis.SetLogger(nil)
	speak()
	messages, _ = byDefault.take(t)
	require.Contains(t, messages, "mcp redis client")
}
