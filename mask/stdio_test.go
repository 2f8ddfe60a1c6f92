package mask_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/mask"
	"github.com/mcpchain/mcpchain/transport"
)

// stdioReader is the variable that makes of this test a server over stdio for the reader that it names.
const stdioReader = "MASK_TEST_STDIO_READER"

// failing is a server whose one tool fails, masked for the reader.
func failing(reader mask.Reader, logger *slog.Logger) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "failing"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "it"}, func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, any, error) {
		return nil, nil, errors.New("the words of an error")
	})
	mcp.AddTool(server, &mcp.Tool{Name: "bug"}, func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, any, error) {
		return nil, nil, bugs()[0]
	})
	server.AddReceivingMiddleware(mask.New(&mask.Options{Reader: reader, Logger: logger}))
	return server
}

// serveStdio is the process of TestAdviceOverStdio.
func serveStdio(name string) error {
	logger := slog.New(slog.NewTextHandler(os.Stderr, nil))
	var t mcp.Transport = &mcp.StdioTransport{}
	if strings.HasPrefix(name, "wrapped ") {
		t = transport.Stdio(nil)
	}
	for reader, of := range readers {
		if strings.HasSuffix(name, of) {
			return failing(reader, logger).Run(context.Background(), t)
		}
	}
	return errors.New("no such reader")
}

const advice = "mask.Options.Reader"

// TestAdviceOverStdio: the log of a server over stdio says once how its user can read its errors, if they are hidden.
func TestAdviceOverStdio(t *testing.T) {
	for _, name := range []string{"Anyone", "wrapped Anyone", "Trusted", "Operator"} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
			cmd.Env, cmd.Stderr = append(os.Environ(), stdioReader+"="+name), &log
			session, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, nil)
			require.NoError(t, err)
			_, err = session.CallTool(t.Context(), &mcp.CallToolParams{Name: "bug"}) // which no reader reads
			require.NoError(t, err)
			for range 3 {
				res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "it"})
				require.NoError(t, err)
				said := res.Content[0].(*mcp.TextContent).Text
				require.Equal(t, !strings.HasSuffix(name, "Anyone"), strings.Contains(said, "the words of an error"), said)
			}
			require.NoError(t, session.Close())
			require.False(t, strings.Contains(log.String(), advice) && strings.Index(log.String(), advice) < strings.Index(log.String(), "the words of an error"), log.String())
			times := 0
			if strings.HasSuffix(name, "Anyone") {
				times = 1
			}
			require.Equal(t, times, strings.Count(log.String(), advice), log.String())
		})
	}
}

// TestNoAdvice: neither over HTTP, whatever the process was started with, nor for what every reader is told.
func TestNoAdvice(t *testing.T) {
	read, write, err := os.Pipe()
	require.NoError(t, err)
	stdin := os.Stdin
	os.Stdin = read
	t.Cleanup(func() {
		os.Stdin = stdin
		_, _ = read.Close(), write.Close()
	})
	for _, stateless := range []bool{false, true} {
		log := harness.NewLog(slog.LevelDebug)
		server := failing(mask.Anyone, log.Logger())
		front := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: stateless}))
		session, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: front.URL}, nil)
		require.NoError(t, err)
		_, err = session.CallTool(t.Context(), &mcp.CallToolParams{Name: "it"})
		require.NoError(t, err)
		require.NoError(t, session.Close())
		front.Close()
		require.NotContains(t, log.String(), advice)
		require.Len(t, log.Records(), 1)
	}
	log := harness.NewLog(slog.LevelDebug)
	for _, err := range []error{public{"words"}, io.EOF} {
		harness.Call(t, rawAt, harness.Fail(err), mask.New(&mask.Options{Logger: log.Logger()}))
	}
	require.Equal(t, 1, strings.Count(log.String(), advice), "a connection in memory of such a process looks the same")
}
