package task_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/internal/speak"
	"github.com/mcpchain/mcpchain/task"
	"github.com/mcpchain/mcpchain/transport"
)

// kinds are the kinds of servers over HTTP.
var kinds = map[string]struct {
	version string
	opts    mcp.StreamableHTTPOptions
}{
	"2025-11-25, stateful":        {"2025-11-25", mcp.StreamableHTTPOptions{}},
	"2025-11-25, stateful, JSON":  {"2025-11-25", mcp.StreamableHTTPOptions{JSONResponse: true}},
	"2025-11-25, stateless":       {"2025-11-25", mcp.StreamableHTTPOptions{Stateless: true}},
	"2025-11-25, stateless, JSON": {"2025-11-25", mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true}},
	"2026-07-28":                  {"2026-07-28", mcp.StreamableHTTPOptions{Stateless: true}},
	"2026-07-28, JSON":            {"2026-07-28", mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true}},
}

// A web server has the tool "report", which works until it is let go.
type web struct {
	url, version, session string

	began, goOn chan struct{}
	ended       chan error // why the context of the handler ended, nil if it was let go
	log         *harness.Log
}

// serveWeb serves one kind. asks is what the handler does when it is let go; nil for nothing.
func serveWeb(t *testing.T, kind string, opts task.Options, asks func(ctx context.Context, req *mcp.CallToolRequest) error) *web {
	t.Helper()
	k := kinds[kind]
	w := &web{version: k.version, began: make(chan struct{}, 10), goOn: make(chan struct{}), ended: make(chan error, 10), log: harness.NewLog(0)}
	server := mcp.NewServer(&mcp.Implementation{Name: "s"}, nil)
	server.AddTool(&mcp.Tool{Name: "report", InputSchema: map[string]any{"type": "object"}}, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		w.began <- struct{}{}
		select {
		case <-ctx.Done():
		case <-t.Context().Done():
		case <-w.goOn:
		}
		if asks != nil {
			if err := asks(ctx, req); err != nil {
				return nil, err
			}
		}
		w.ended <- context.Cause(ctx)
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "fine"}}}, nil
	})
	server.AddReceivingMiddleware(mcpchain.Standard(&mcpchain.Options{Logger: w.log.Logger(), Task: task.New(&opts)}))
	server.AddSendingMiddleware(task.Sending())
	handler := transport.HTTP(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &k.opts), nil)
	handler = auth.RequireBearerToken(func(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
		return &auth.TokenInfo{UserID: token, Expiration: time.Now().Add(time.Hour)}, nil
	}, nil)(handler)
	here := httptest.NewServer(handler)
	t.Cleanup(here.Close)
	w.url = here.URL
	if !k.opts.Stateless {
		header, _ := w.post(t, "alice", "initialize", `{"protocolVersion":"`+k.version+`","capabilities":{"elicitation":{}},"clientInfo":{"name":"c","version":"1"}}`)
		w.session = header.Get("Mcp-Session-Id")
		require.NotEmpty(t, w.session)
	}
	return w
}

// request makes the POST of a client.
func (w *web) request(ctx context.Context, t testing.TB, user, method, params string) *http.Request {
	t.Helper()
	if w.version == "2026-07-28" {
		params = strings.Replace(params, "{", `{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}},`, 1)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":`+params+`}`))
	require.NoError(t, err)
	var p struct{ Name string }
	require.NoError(t, json.Unmarshal([]byte(params), &p))
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Authorization": "Bearer " + user,
		"Mcp-Protocol-Version": w.version, "Mcp-Session-Id": w.session, "Mcp-Method": method, "Mcp-Name": p.Name,
	} {
		if value != "" && (w.version == "2026-07-28" || name != "Mcp-Method" && name != "Mcp-Name") {
			req.Header.Set(name, value)
		}
	}
	return req
}

// post sends a request on a connection of its own, and closes the connection as soon as it has read the answer.
func (w *web) post(t testing.TB, user, method, params string) (http.Header, *mcp.CallToolResult) {
	t.Helper()
	connection := &http.Transport{}
	defer connection.CloseIdleConnections()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel() // which resets the connection
	res, err := connection.RoundTrip(w.request(ctx, t, user, method, params))
	require.NoError(t, err)
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := strings.TrimPrefix(lines.Text(), "data: ")
		var m struct {
			Result *mcp.CallToolResult
			Error  json.RawMessage
		}
		if !strings.HasPrefix(line, "{") || json.Unmarshal([]byte(line), &m) != nil {
			continue
		}
		require.Nil(t, m.Error, line)
		if m.Result != nil {
			return res.Header, m.Result
		}
	}
	require.NoError(t, lines.Err())
	require.Fail(t, "no answer", res.Status)
	return nil, nil
}

func (w *web) call(t testing.TB, user, tool, args string) harness.Answer {
	t.Helper()
	_, res := w.post(t, user, "tools/call", `{"name":"`+tool+`","arguments":`+args+`}`)
	return harness.Answer{Result: res}
}

// TestClientsThatLeave: a client closes its connection when it has read the handle, and the call goes on. The same user
// fetches the answer on another connection, and no other user does.
func TestClientsThatLeave(t *testing.T) {
	for kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			w := serveWeb(t, kind, task.Options{After: 10 * time.Millisecond, Wait: 10 * time.Millisecond}, nil)
			began := w.call(t, "alice", "report", `{}`)
			id := fmt.Sprintf(`{"id":%q}`, idOf(t, began))
			require.Equal(t, "running", statusOf(w.call(t, "alice", "task_result", id)))
			if w.session == "" { // else the session refuses others
				for _, tool := range []string{"task_result", "task_cancel"} {
					require.Equal(t, "TASK_NOT_FOUND", w.call(t, "bob", tool, id).Fault().Code())
				}
			}
			time.Sleep(20 * time.Millisecond) // if it ended with its client, it would have ended by now
			require.Empty(t, w.ended)
			close(w.goOn)
			require.NoError(t, <-w.ended)
			got := w.call(t, "alice", "task_result", id)
			for statusOf(got) == "running" {
				got = w.call(t, "alice", "task_result", id)
			}
			require.Equal(t, "fine", got.Text())
			require.Equal(t, "completed", statusOf(got))
		})
	}
}

// TestClientsThatGiveUp: a client closes the stream before there is a handle, which cancels the call for those of
// 2026-07-28. For those of before, the call goes on, and nobody knows its handle.
func TestClientsThatGiveUp(t *testing.T) {
	for kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			w := serveWeb(t, kind, task.Options{After: 50 * time.Minute}, nil)
			ctx, cancel := context.WithCancel(t.Context())
			gone := make(chan struct{})
			req := w.request(ctx, t, "alice", "tools/call", `{"name":"report","arguments":{}}`)
			go func() {
				defer close(gone)
				if res, err := http.DefaultTransport.RoundTrip(req); err == nil {
					_, _ = io.Copy(io.Discard, res.Body)
					_ = res.Body.Close()
				}
			}()
			<-w.began
			cancel()
			<-gone
			if w.version == "2026-07-28" {
				require.ErrorIs(t, <-w.ended, transport.ErrAbandoned)
				return
			}
			close(w.goOn)
			require.NoError(t, <-w.ended)
		})
	}
}

// TestAskingAClientThatHasLeft: behind a handle a handler that asks its client is not left waiting.
func TestAskingAClientThatHasLeft(t *testing.T) {
	for kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			asked := make(chan error, 1)
			w := serveWeb(t, kind, task.Options{After: 10 * time.Millisecond}, func(ctx context.Context, req *mcp.CallToolRequest) error {
				_, err := req.Session.Elicit(ctx, &mcp.ElicitParams{Message: "sure?", RequestedSchema: map[string]any{"type": "object"}})
				asked <- err
				return nil
			})
			id := fmt.Sprintf(`{"id":%q}`, idOf(t, w.call(t, "alice", "report", `{}`)))
			close(w.goOn)
			require.Error(t, <-asked)
			require.Equal(t, "fine", w.call(t, "alice", "task_result", id).Text())
		})
	}
}

// TestRealClients: the SDK's own client over HTTP, of both eras.
func TestRealClients(t *testing.T) {
	for kind, k := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			w := serveWeb(t, kind, task.Options{After: 10 * time.Millisecond, Wait: 10 * time.Millisecond}, nil)
			connect := func() *mcp.ClientSession {
				signedIn := &http.Client{Transport: bearer("alice")}
				cs, err := mcp.NewClient(&mcp.Implementation{Name: "c"}, nil).Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: w.url, HTTPClient: signedIn}, speak.Version(k.version))
				require.NoError(t, err)
				require.Equal(t, k.version, cs.InitializeResult().ProtocolVersion)
				return cs
			}
			cs := connect()
			res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "report"})
			require.NoError(t, err)
			id := idOf(t, harness.Answer{Result: res})
			require.NoError(t, cs.Close())

			cs = connect() // a user is the same in another session
			defer cs.Close()
			close(w.goOn)
			require.NoError(t, <-w.ended)
			for {
				res, err = cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "task_result", Arguments: map[string]any{"id": id}})
				require.NoError(t, err)
				if got := (harness.Answer{Result: res}); statusOf(got) == "completed" {
					require.Equal(t, "fine", got.Text())
					return
				}
			}
		})
	}
}

// A bearer signs in as a user.
type bearer string

func (b bearer) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(req)
}

// TestStdio: over stdio the connection is the caller.
func TestStdio(t *testing.T) {
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	began, ended, goOn := make(chan struct{}, 10), make(chan error, 10), make(chan struct{})
	server := mcp.NewServer(&mcp.Implementation{Name: "s"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "report"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		began <- struct{}{}
		select {
		case <-goOn:
		case <-ctx.Done():
		case <-t.Context().Done():
		}
		ended <- context.Cause(ctx)
		return nil, nil, nil
	})
	server.AddReceivingMiddleware(mcpchain.Standard(&mcpchain.Options{Logger: harness.NewLog(0).Logger(), Task: task.New(&task.Options{After: 10 * time.Millisecond, Wait: 10 * time.Millisecond})}))
	server.AddSendingMiddleware(task.Sending())
	served := make(chan error, 1)
	go func() { served <- server.Run(t.Context(), transport.Stdio(&transport.StdioOptions{In: in, Out: out})) }()
	cs, err := mcp.NewClient(&mcp.Implementation{Name: "c"}, nil).Connect(t.Context(), &mcp.IOTransport{Reader: fromServer, Writer: toServer}, nil)
	require.NoError(t, err)
	res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "report"})
	require.NoError(t, err)
	id := idOf(t, harness.Answer{Result: res})
	close(goOn)
	require.NoError(t, <-ended)
	for {
		res, err = cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "task_result", Arguments: map[string]any{"id": id}})
		require.NoError(t, err)
		if statusOf(harness.Answer{Result: res}) == "completed" {
			break
		}
	}
	require.NoError(t, cs.Close())
	<-served //nolint:errcheck // the client has gone
}
