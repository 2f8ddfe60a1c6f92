package redis_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain"
	mcpredis "github.com/mcpchain/mcpchain/contrib/redis"
	"github.com/mcpchain/mcpchain/correlate"
	"github.com/mcpchain/mcpchain/replay"
	"github.com/mcpchain/mcpchain/state"
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

// TestTheLogOfARedisThatFails: the record of a refused call says which store failed, where it is and
// what was asked of it; go-redis's own lines stand beside it in the same form; the caller
// learns nothing of all this.
func TestTheLogOfARedisThatFails(t *testing.T) {
	out := new(lines)
	logger := slog.New(slog.NewJSONHandler(out, nil))
	mcpredis.SetLogger(logger)
	defer mcpredis.SetLogger(nil)

	mini := miniredis.RunT(t)
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = silent.Close() }()
	server := func(client goredis.UniversalClient) mcp.MethodHandler {
		t.Cleanup(func() { _ = client.Close() })
		s := mcpredis.New(client, &mcpredis.Options{Timeout: 300 * time.Millisecond})
		return mcpchain.Standard(&mcpchain.Options{
			Logger: logger, Correlate: &correlate.Options{},
			Replay: replay.New(&replay.Options{Store: s, Owner: ownerOf}), State: state.New(&state.Options{Store: s, Owner: ownerOf}),
		})(func(ctx context.Context, _ string, _ mcp.Request) (mcp.Result, error) {
			_, err := state.Create(ctx, 1)
			return &mcp.CallToolResult{}, err
		})
	}
	// refused makes a call, and wants each of these in the record and none in the answer.
	refused := func(server mcp.MethodHandler, key string, recorded ...string) (messages []string) {
		t.Helper()
		req := keyed("alice", key)
		if key == "" {
			delete(req.Params.Meta, "io.modelcontextprotocol/idempotencyKey")
		}
		f := failureOf(t, server, req)
		require.NotNil(t, f)
		answer, err := json.Marshal(f)
		require.NoError(t, err)
		messages, all := out.take(t)
		require.Contains(t, messages, "mcp call")
		for _, text := range recorded {
			require.Contains(t, all, text)
			require.NotContains(t, string(answer), text)
			require.NotContains(t, f.Error(), text)
		}
		return messages
	}
	healthy := server(single(t, mini.Addr()))
	require.Nil(t, failureOf(t, healthy, keyed("alice", "first")))

	mini.SetError("NOAUTH Authentication required.")
	refused(healthy, "k", "the store of idempotency keys: redis at "+mini.Addr()+": get: NOAUTH Authentication required.")
	refused(healthy, "", "the store of conversations: redis at "+mini.Addr()+": swap: NOAUTH Authentication required.")
	mini.SetError("")

	quiet := silent.Addr().String()
	refused(server(single(t, quiet)), "k", "the store of idempotency keys: redis at "+quiet+": get: no answer in time: ")

	gone := "127.0.0.1:1"
	refused(server(goredis.NewClient(&goredis.Options{Addr: gone, ContextTimeoutEnabled: true, DialerRetries: 1, MaxRetries: -1})), "k",
		"redis at "+gone+": get: ", "connection refused")
	refused(server(goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: []string{gone, "127.0.0.1:2"}, ContextTimeoutEnabled: true})), "k", "redis at "+gone+",127.0.0.1:2: get: ")
	refused(server(goredis.NewRing(&goredis.RingOptions{Addrs: map[string]string{"b": "127.0.0.1:2", "a": gone}, ContextTimeoutEnabled: true})), "k", "redis at "+gone+",127.0.0.1:2: get: ")

	var messages []string
	require.Eventually(t, func() bool { // a pool tries to connect for longer than a call waits
		_ = failureOf(t, server(single(t, gone)), keyed("alice", "k"))
		messages, _ = out.take(t)
		for _, message := range messages {
			if message == "mcp redis client" {
				return true
			}
		}
		return false
	}, 20*time.Second, 10*time.Millisecond, "go-redis itself said nothing")
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
