package redis_test

import (
	"context"
	"errors"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	mcpredis "github.com/mcpchain/mcpchain/contrib/redis"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/child"
	"github.com/mcpchain/mcpchain/replay"
)

// TestReadmeServer compiles the whole server of README.md as README.md says.
func TestReadmeServer(t *testing.T) {
	page, err := os.ReadFile("README.md")
	require.NoError(t, err)
	_, program, found := strings.Cut(string(page), "```go\n")
	require.True(t, found)
	program, _, _ = strings.Cut(program, "```")
	child.Untagged(t, "../..", program)
}

// TestReadmeShowsEachFailure compares the table of README.md with what becomes of each failure.
func TestReadmeShowsEachFailure(t *testing.T) {
	page, err := os.ReadFile("README.md")
	require.NoError(t, err)
	var rows []string
	for line := range strings.Lines(string(page)) {
		if strings.Contains(line, "| `the store of idempotency keys: ") {
			rows = append(rows, line)
		}
	}
	server := func(client goredis.UniversalClient) mcp.MethodHandler {
		s := mcpredis.New(client, &mcpredis.Options{Timeout: 300 * time.Millisecond})
		return replay.New(&replay.Options{Store: s, Owner: ownerOf})(
			func(context.Context, string, mcp.Request) (mcp.Result, error) { return &mcp.CallToolResult{}, nil })
	}
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = silent.Close() }()
	mini := miniredis.RunT(t)
	says := func(text string) func() *goredis.Options {
		return func() *goredis.Options {
			mini.SetError(text)
			return &goredis.Options{Addr: mini.Addr()}
		}
	}
	failures := []func() *goredis.Options{
		func() *goredis.Options { return &goredis.Options{Addr: silent.Addr().String()} },
		func() *goredis.Options { return &goredis.Options{Addr: "127.0.0.1:1", DialerRetries: 1} },
		says("READONLY You can't write against a read only replica."),
		says("LOADING Redis is loading the dataset in memory"),
		says("OOM command not allowed when used memory > 'maxmemory'."),
		says("NOAUTH Authentication required."),
		func() *goredis.Options {
			mini.SetError("")
			require.Nil(t, failureOf(t, server(single(t, mini.Addr())), keyed("alice", "k")))
			for _, key := range mini.Keys() {
				if strings.HasPrefix(key, "mcpchain:g:") {
					require.NoError(t, mini.Set(key, "x"))
				}
			}
			return &goredis.Options{Addr: mini.Addr()}
		},
	}
	require.Len(t, rows, len(failures))
	for i, fails := range failures {
		opts := fails()
		opts.ContextTimeoutEnabled, opts.MaxRetries = true, -1
		client := goredis.NewClient(opts)
		f := failureOf(t, server(client), keyed("alice", "k"))
		require.NotNil(t, f)
		require.Equal(t, fault.KindServiceUnavailable, f.Kind())
		cells := strings.Split(rows[i], "|")
		require.Len(t, cells, 5)
		require.Contains(t, f.Error(), strings.Trim(cells[2], " `"))
		cause := strings.ReplaceAll(errors.Unwrap(f).Error(), opts.Addr, "localhost:6379")
		cause = strings.Replace(cause, "in time: i/o timeout", "in time: context deadline exceeded", 1) // which of the two ends first is chance
		require.Equal(t, strings.Trim(cells[3], " `"), cause)
		_ = client.Close()
	}
}
