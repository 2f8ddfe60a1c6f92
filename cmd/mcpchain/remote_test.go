//go:build unix

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// kindsOfServers are the kinds that servers on the SDK are of over HTTP. Stateful ones take no
// version without sessions, and their clients fall back.
var kindsOfServers = map[string]*mcp.StreamableHTTPOptions{
	"stateless, events": {Stateless: true, PropagateRequestCancellation: true},
	"stateless, JSON":   {Stateless: true, JSONResponse: true, PropagateRequestCancellation: true},
	"stateful, events":  {},
	"stateful, JSON":    {JSONResponse: true},
	"stateful, resumed": {EventStore: mcp.NewMemoryEventStore(nil)},
}

// serveWeb serves on the loopback until the test ends.
func serveWeb(t *testing.T, handler http.Handler) *httptest.Server {
	t.Helper()
	w := httptest.NewServer(handler)
	t.Cleanup(func() {
		w.CloseClientConnections()
		w.Close()
	})
	return w
}

func handlerOf(server *mcp.Server, opts *mcp.StreamableHTTPOptions) http.Handler {
	cp := *opts
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &cp)
}

// reaching returns mcpchain as a command, in front of a URL.
func reaching(url string, args ...string) (*exec.Cmd, *stderr) {
	cmd := exec.Command(os.Args[0], append(append([]string{"run"}, args...), "-to", url)...)
	out := &stderr{}
	cmd.Env, cmd.Stderr = append(os.Environ(), "MCPCHAIN_TEST=1", "SERVICE_TOKEN="+token), out
	return cmd, out
}

// A client of either era sees the same server with it as without, whatever kind that is of.
func TestTheSameServerOverHTTP(t *testing.T) {
	for kind, opts := range kindsOfServers {
		for _, version := range versions {
			t.Run(kind+" "+version, func(t *testing.T) {
				t.Parallel()
				w := serveWeb(t, handlerOf(newTestServer(), opts))
				var seen [2][]any
				for i := range seen {
					var transport mcp.Transport = &mcp.StreamableClientTransport{Endpoint: w.URL}
					if i == 1 {
						cmd, _ := reaching(w.URL)
						transport = &mcp.CommandTransport{Command: cmd}
					}
					var progress atomic.Int64
					client := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "1"}, &mcp.ClientOptions{
						ElicitationHandler: clientOptions.ElicitationHandler,
						ProgressNotificationHandler: func(context.Context, *mcp.ProgressNotificationClientRequest) {
							progress.Add(1)
						},
					})
					s, err := client.Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
					require.NoError(t, err)
					defer s.Close()
					note := func(v any, err error) {
						raw, _ := json.Marshal(v)
						seen[i] = append(seen[i], string(raw), err != nil)
					}
					ctx := t.Context()
					note(s.InitializeResult(), nil)
					note(s.ListTools(ctx, nil))
					note(s.ListPrompts(ctx, nil))
					note(s.ListResources(ctx, nil))
					note(s.ListResourceTemplates(ctx, nil))
					note(s.GetPrompt(ctx, &mcp.GetPromptParams{Name: "summary"}))
					note(s.ReadResource(ctx, &mcp.ReadResourceParams{URI: "test://r"}))
					note(s.Complete(ctx, &mcp.CompleteParams{Ref: &mcp.CompleteReference{Type: "ref/prompt", Name: "summary"}, Argument: mcp.CompleteParamsArgument{Name: "a", Value: "x"}}))
					note(s.CallTool(ctx, &mcp.CallToolParams{Name: "divide", Arguments: numbers{6, 3}}))
					if kind != "stateless, JSON" { // it cannot send progress
						note(s.CallTool(ctx, &mcp.CallToolParams{Name: "progress", Meta: mcp.Meta{"progressToken": "p"}}))
						if i == 0 || kind != "stateful, JSON" { // its progress has a connection of its own, and what comes after the answer stays away
							require.Eventually(t, func() bool { return progress.Load() == 1 }, time.Minute, time.Millisecond)
						}
					}
					if kind != "stateful, JSON" && (version != "2025-11-25" || !opts.Stateless) { // they cannot ask
						note(s.CallTool(ctx, &mcp.CallToolParams{Name: "ask"}))
						require.Contains(t, fmt.Sprint(seen[i]), "Ada")
					}
					if version == "2025-11-25" {
						note(nil, s.SetLoggingLevel(ctx, &mcp.SetLoggingLevelParams{Level: "error"}))
					}
				}
				require.Equal(t, seen[0], seen[1])
			})
		}
	}
}

// heard counts what a server sends without being asked.
type heard struct{ tools, updated, logged, asked atomic.Int64 }

func (h *heard) options() *mcp.ClientOptions {
	return &mcp.ClientOptions{
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { h.tools.Add(1) },
		ResourceUpdatedHandler: func(context.Context, *mcp.ResourceUpdatedNotificationRequest) { h.updated.Add(1) },
		LoggingMessageHandler:  func(context.Context, *mcp.LoggingMessageRequest) { h.logged.Add(1) },
		CreateMessageHandler: func(context.Context, *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			h.asked.Add(1)
			return &mcp.CreateMessageResult{Model: "m", Role: "assistant", Content: &mcp.TextContent{Text: "sampled"}}, nil
		},
	}
}

func reach(t *testing.T, version, url string, opts *mcp.ClientOptions, args ...string) (*mcp.ClientSession, *stderr) {
	t.Helper()
	cmd, log := reaching(url, args...)
	client := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "1"}, opts)
	s, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	require.NoError(t, err, log)
	t.Cleanup(func() { _ = s.Close() })
	return s, log
}

func soon(t *testing.T, want func() bool, words ...any) {
	t.Helper()
	require.Eventually(t, want, 10*time.Second, 10*time.Millisecond, words...)
}

// talks adds a tool that logs and samples while it runs, and one that says whether a call of it was
// cancelled.
func talks(server *mcp.Server) (cancelled *atomic.Int64) {
	mcp.AddTool(server, &mcp.Tool{Name: "talk"}, func(ctx context.Context, req *mcp.CallToolRequest, _ any) (*mcp.CallToolResult, any, error) {
		if err := req.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "error", Data: "words"}); err != nil {
			return nil, nil, err
		}
		got, err := req.Session.CreateMessage(ctx, &mcp.CreateMessageParams{MaxTokens: 1})
		if err != nil {
			return nil, nil, err
		}
		return nil, map[string]any{"text": got.Content.(*mcp.TextContent).Text}, nil
	})
	cancelled = &atomic.Int64{}
	mcp.AddTool(server, &mcp.Tool{Name: "cancelled"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ any) (*mcp.CallToolResult, any, error) {
		cancelled.Add(1)
		<-ctx.Done()
		cancelled.Add(-1)
		return nil, nil, ctx.Err()
	})
	return cancelled
}

// What a server sends by itself arrives: in sessions on a stream of its own, since then on that of a
// subscription. What the client cancels, ends at the server.
func TestTheOtherDirectionOverHTTP(t *testing.T) {
	for kind, opts := range kindsOfServers {
		for _, version := range versions {
			if version == "2025-11-25" && opts.Stateless {
				continue // nothing can be sent there
			}
			t.Run(kind+" "+version, func(t *testing.T) {
				t.Parallel()
				server := newTestServer()
				running := talks(server)
				w := serveWeb(t, handlerOf(server, opts))
				h := &heard{}
				s, log := reach(t, version, w.URL, h.options())
				require.NoError(t, s.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "test://r"}))
				soon(t, func() bool { // over stdio the client does not wait for its subscriptions
					later := func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, any, error) {
						return nil, nil, nil
					}
					mcp.AddTool(server, &mcp.Tool{Name: "later"}, later)
					_ = server.ResourceUpdated(t.Context(), &mcp.ResourceUpdatedNotificationParams{URI: "test://r"})
					return h.tools.Load() > 0 && h.updated.Load() > 0
				}, log)
				if !opts.Stateless {
					require.NoError(t, s.SetLoggingLevel(t.Context(), &mcp.SetLoggingLevelParams{Level: "debug"}))
					if !opts.JSONResponse { // it cannot ask on the way to an answer
						require.Contains(t, text(t, called(t, s, "talk", nil)), "sampled")
						require.EqualValues(t, 1, h.logged.Load())
						require.EqualValues(t, 1, h.asked.Load())
					}
				}

				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() {
					_, err := s.CallTool(ctx, &mcp.CallToolParams{Name: "cancelled"})
					ended <- err
				}()
				soon(t, func() bool { return running.Load() == 1 }, log)
				cancel()
				require.ErrorIs(t, <-ended, context.Canceled)
				soon(t, func() bool { return running.Load() == 0 }, log)
				require.Contains(t, text(t, called(t, s, "divide", numbers{6, 3})), `"quotient":2`)
				require.NoError(t, s.Unsubscribe(t.Context(), &mcp.UnsubscribeParams{URI: "test://r"}))
			})
		}
	}
}

// What a server over HTTP refuses, and what happens on the way to it, is a failure with its effect, and
// with what to do.
func TestRefusalsOverHTTP(t *testing.T) {
	var answer atomic.Pointer[http.HandlerFunc]
	handler := handlerOf(newTestServer(), &mcp.StreamableHTTPOptions{Stateless: true})
	w := serveWeb(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if special := answer.Load(); special != nil && r.Header.Get("Mcp-Method") == "tools/call" {
			(*special)(w, r)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	s, _ := reach(t, "2026-07-28", w.URL, clientOptions)
	_, err := s.ListTools(t.Context(), nil)
	require.NoError(t, err)
	status := func(status int, header ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			for i := 0; i < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			w.WriteHeader(status)
			_, _ = w.Write([]byte("words of the service"))
		}
	}
	for i, one := range []struct {
		answer http.HandlerFunc
		want   []string
	}{
		{status(401), []string{"Not authenticated: POST 127.0.0.1:", "answered 401 Unauthorized: words of the service.", "Retry: no. Nothing was changed by this call.", "has to pass a valid token with -header"}},
		{status(429, "Retry-After", "7"), []string{"Rate limited: POST 127.0.0.1:", "Retry: yes, after 7 s", "Nothing was changed by this call."}},
		{status(503, "Retry-After", "7"), []string{"Service unavailable: POST 127.0.0.1:", "Retry: no, unless you see that it did not take effect."}},
		{func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = w.Write([]byte("data: {\"jsonrpc\":"))
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}, []string{"Connection failed: the stream of the server ended before the answer came: unexpected EOF.", "Retry: no, unless you see that it did not take effect."}},
	} {
		answer.Store(&one.answer)
		res := called(t, s, "progress", map[string]int{"n": i}) // calls of their own, which nobody counts together
		require.True(t, res.IsError)
		for _, want := range one.want {
			require.Contains(t, text(t, res), want)
		}
	}
}

// The secrets of headers and of the URL stand nowhere: not in answers, not in the log, not in what
// config prints.
func TestSecretsOfHeaders(t *testing.T) {
	const bearer, named, inURL, inQuery = "zq-bearer-of-a-header", "zq-named-by-environment", "zq-password-of-a-url", "zq-key-of-a-query"
	var got http.Header
	var mu sync.Mutex
	w := serveWeb(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		got = r.Header.Clone()
		mu.Unlock()
		user, password, _ := r.BasicAuth()
		http.Error(w, "refused: "+r.Header.Get("Authorization")+" "+r.Header.Get("X-Api-Key")+" "+r.Header.Get("X-Tenant")+" "+r.URL.RawQuery+" "+user+password, http.StatusForbidden)
	}))
	secret := []string{bearer, named, inURL, inQuery}
	hidden := func(texts ...any) {
		t.Helper()
		for _, one := range secret {
			require.NotContains(t, fmt.Sprint(texts...), one)
		}
	}
	path := filepath.Join(t.TempDir(), "mcpchain.json")
	require.NoError(t, os.WriteFile(path, []byte(`{"headers":{"x-api-key":"${ZQ_NAMED}","X-Tenant":"acme-corporation"}}`), 0o600))
	for _, url := range []string{w.URL + "/mcp?api_key=" + inQuery, strings.Replace(w.URL, "//", "//user:"+inURL+"@", 1)} {
		args := []string{"-config", path, "-v", "-header", "authorization: Bearer " + bearer}
		if strings.Contains(url, inURL) {
			args = args[:3]
		}
		cmd, log := reaching(url, args...)
		cmd.Env = append(cmd.Env, "ZQ_NAMED="+named)
		client := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "1"}, nil)
		_, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, nil)
		require.ErrorContains(t, err, "refused: ")
		require.ErrorContains(t, err, "[redacted]")
		require.ErrorContains(t, err, "acme-corporation")
		require.ErrorContains(t, err, "403 Forbidden")
		hidden(err, log)
		mu.Lock()
		require.Equal(t, named, got.Get("X-Api-Key"))
		require.Contains(t, got.Get("Authorization"), map[bool]string{true: "Basic ", false: "Bearer " + bearer}[strings.Contains(url, inURL)])
		mu.Unlock()

		out, errs, status := executed(t, append(append([]string{"config"}, args...), "-to", url)...)
		require.Zero(t, status, errs)
		hidden(out, errs)
		require.Contains(t, out, "${ZQ_NAMED}")
		require.Contains(t, out, "acme-corporation")
		require.Contains(t, out, "127.0.0.1:")
	}
	for _, args := range [][]string{
		{"-config", path, "-to", w.URL}, // ZQ_NAMED is not set here
		{"-to", w.URL, "-header", "X " + bearer}, {"-to", w.URL, "-header", "Mcp-Session-Id: " + bearer}, {"-to", w.URL, "-header", "X Y: " + bearer},
		{"-to", w.URL, "-header", "X: a\r\n" + bearer}, {"-to", "ftp://" + bearer}, {"-to", w.URL, "--", "server"}, {"-header", "X: " + bearer, "--", "server"}, {},
	} {
		_, errs, status := executed(t, append([]string{"run"}, args...)...)
		require.Equal(t, exitUsage, status, args)
		require.NotEmpty(t, errs)
		hidden(errs)
	}
}
