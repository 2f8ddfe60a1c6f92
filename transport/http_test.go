package transport_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/transport"
)

// post sends a body to a server behind HTTP and returns the answer.
func post(t *testing.T, log *harness.Log, jsonResponse bool, version, method, body string) (status int, answer string) {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "echo"}, func(_ context.Context, _ *mcp.CallToolRequest, in map[string]any) (*mcp.CallToolResult, any, error) {
		return nil, in, nil
	})
	s := httptest.NewServer(transport.HTTP(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: jsonResponse}), &transport.Options{Logger: log.Logger()}))
	defer s.Close()
	req, err := http.NewRequestWithContext(t.Context(), method, s.URL, strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("Mcp-Protocol-Version", version)
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return res.StatusCode, string(raw)
}

// TestHTTPLeavesTheRest requires that other answers are as they were.
func TestHTTPLeavesTheRest(t *testing.T) {
	log := &harness.Log{}
	for _, jsonResponse := range []bool{true, false} {
		status, answer := post(t, log, jsonResponse, "2025-11-25", http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"error":"json: x"}}}`)
		require.Equal(t, http.StatusOK, status)
		require.Contains(t, answer, `"structuredContent":{"error":"json: x"}`)
		_, answer = post(t, log, jsonResponse, "2025-11-25", http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"none"}}`)
		require.Contains(t, answer, `unknown tool`)
	}
	status, answer := post(t, log, false, "1999-01-01", http.MethodPost, `{}`)
	require.Equal(t, http.StatusBadRequest, status)
	require.Contains(t, answer, "Unsupported protocol version")
	require.Empty(t, log.String())
	require.PanicsWithValue(t, "transport.HTTP: handler is nil; give the handler that serves MCP", func() { transport.HTTP(nil, nil) })
}

// TestHTTPKeepsTheMessageWhole requires that what is sent in the place of an event is one.
func TestHTTPKeepsTheMessageWhole(t *testing.T) {
	event := "event: message\nid: 1\ndata: " + `{"jsonrpc":"2.0","id":7,"error":{"code":0,"message":"json: cannot unmarshal \"x\" into Go value"}}` + "\n\n"
	recorder := httptest.NewRecorder()
	transport.HTTP(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(event))
		w.(http.Flusher).Flush()
	}), nil).ServeHTTP(recorder, httptest.NewRequest(http.MethodPost, "/", nil))
	require.True(t, recorder.Flushed)
	lines := strings.Split(recorder.Body.String(), "\n")
	require.Equal(t, []string{"event: message", "id: 1"}, lines[:2])
	var message struct {
		ID    int
		Error struct {
			Code    int
			Message string
			Data    struct{ Type string }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(strings.TrimPrefix(lines[2], "data: ")), &message))
	require.Equal(t, 7, message.ID)
	require.Equal(t, -32602, message.Error.Code)
	require.Equal(t, "validation_error", message.Error.Data.Type)
	require.Equal(t, []string{"", ""}, lines[3:])
}

// A handler may say how long its answer is: what it says of an answer that is replaced does not hold.
func TestHTTPReplacesTheLength(t *testing.T) {
	for _, body := range []string{
		`{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"method not found: \"a/b\""}}`,
		`{"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"json: cannot unmarshal string into Go value of type mcp.X"}}`,
		`{"jsonrpc":"2.0","id":7,"result":{}}`,
		`{"jsonrpc":"2.0","id":7,"result":{"text":"` + strings.Repeat(`\"error\" json: `, 20_000) + `"}}`,
	} {
		for _, more := range []int{0, 100} { // than it writes
			if more > 0 && len(body) > 1000 {
				continue // too long to be kept back
			}
			handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				w.Header().Set("Content-Length", strconv.Itoa(len(body)+more))
				for part := range slices.Chunk([]byte(body), 50_000) {
					_, _ = w.Write(part)
				}
			})
			web := httptest.NewServer(transport.HTTP(handler, nil))
			res, err := http.Post(web.URL, "application/json", strings.NewReader(`{"jsonrpc":"2.0","id":7,"method":"a/b"}`))
			require.NoError(t, err)
			got, err := io.ReadAll(res.Body)
			require.NoError(t, err)
			require.NoError(t, res.Body.Close())
			require.True(t, json.Valid(got), "%.200s", got)
			require.NotContains(t, string(got), "mcp.X")
			if strings.Contains(body, "result") {
				require.Equal(t, body, string(got))
			}
			web.Close()
		}
	}
}
