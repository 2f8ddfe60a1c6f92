package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/internal/child"
)

var update = flag.Bool("update", false, "write what a client gets into output.golden")

// TestWeather calls the server in a process of its own, over stdio and over HTTP, with a client of
// mcp-go, and compares what the client gets with output.golden.
func TestWeather(t *testing.T) {
	program := filepath.Join(t.TempDir(), "weather")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".").CombinedOutput()
	require.NoError(t, err, string(out))
	for _, how := range []string{"stdio", "http"} {
		t.Run(how, func(t *testing.T) {
			var log child.Buffer
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			var got string
			t.Run("calls", func(t *testing.T) {
				t.Cleanup(cancel)
				got = play(ctx, t, connect(ctx, t, how, program, &log))
				require.Eventually(t, func() bool { // before the server ends: mcp-go's client does not wait for its log
					return strings.Contains(log.String(), "pq: password authentication failed for admin:hunter2 at 10.0.0.7")
				}, child.Patience, time.Millisecond)
			})
			if *update && how == "stdio" {
				require.NoError(t, os.WriteFile("output.golden", []byte(got), 0o600))
			}
			want, err := os.ReadFile("output.golden")
			require.NoError(t, err)
			require.Equal(t, string(want), got)
			require.NotContains(t, got, "hunter2")
			require.NotContains(t, got, "10.0.0.7")
		})
	}
}

// connect starts the server and returns a client of it, which ends the server.
func connect(ctx context.Context, t *testing.T, how, program string, log *child.Buffer) *client.Client {
	t.Helper()
	cmd := exec.CommandContext(ctx, program)
	var c *client.Client
	if how == "stdio" {
		stdio, err := client.NewStdioMCPClientWithOptions(program, nil, nil, transport.WithCommandFunc(
			func(context.Context, string, []string, []string) (*exec.Cmd, error) {
				cmd.Stderr = nil // the client takes it
				return cmd, nil
			}))
		require.NoError(t, err)
		stderr, ok := client.GetStderr(stdio)
		require.True(t, ok)
		go func() { _, _ = io.Copy(log, stderr) }()
		t.Cleanup(func() { _ = stdio.Close() })
		c = stdio
	} else {
		cmd.Args = append(cmd.Args, "-http", "127.0.0.1:0")
		cmd.Stderr = log
		cmd.Env = append(os.Environ(), "TOKEN=ada-1")
		stdout, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		address, err := bufio.NewReader(stdout).ReadString('\n')
		require.NoError(t, err)
		stranger, err := http.Post(strings.TrimSpace(address)+"/mcp", "application/json", strings.NewReader("{}"))
		require.NoError(t, err)
		require.NoError(t, stranger.Body.Close())
		require.Equal(t, http.StatusUnauthorized, stranger.StatusCode)
		c, err = client.NewStreamableHttpClient(strings.TrimSpace(address)+"/mcp", transport.WithHTTPHeaders(map[string]string{"Authorization": "Bearer ada-1"}))
		require.NoError(t, err)
		t.Cleanup(func() {
			_ = c.Close()
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
	}
	if how == "http" {
		require.NoError(t, c.Start(ctx))
	}
	initialize := mcp.InitializeRequest{}
	initialize.Params.ProtocolVersion = mcp.LATEST_PROTOCOL_VERSION
	initialize.Params.ClientInfo = mcp.Implementation{Name: "client", Version: "1.0.0"}
	_, err := c.Initialize(ctx, initialize)
	require.NoError(t, err)
	return c
}

var reference = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// play returns what a client gets, with the references numbered.
func play(ctx context.Context, t *testing.T, c *client.Client) string {
	t.Helper()
	var got strings.Builder
	for _, arguments := range []string{`{"city":"Oslo"}`, `{"city":7,"days":99}`, `{"city":"Atlantis"}`, `{"city":"Rome"}`} {
		var req mcp.CallToolRequest
		req.Params.Name = "forecast"
		req.Params.Arguments = json.RawMessage(arguments)
		res, err := c.CallTool(ctx, req)
		require.NoError(t, err)
		require.Len(t, res.Content, 1)
		text, ok := res.Content[0].(mcp.TextContent)
		require.True(t, ok)
		fmt.Fprintf(&got, "--> forecast %s\n%s\n\n", arguments, text.Text)
	}
	n := 0
	return reference.ReplaceAllStringFunc(got.String(), func(string) string {
		n++
		return fmt.Sprintf("call-%d", n)
	})
}
