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

// A web is a server over HTTP that can be replaced while it has clients.
type web struct {
	*httptest.Server

	mu      sync.Mutex
	handler http.Handler
}

func (w *web) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	handler := w.handler
	w.mu.Unlock()
	handler.ServeHTTP(rw, r)
}

func (w *web) serve(handler http.Handler) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.handler = handler
}

// serveWeb serves on the loopback until the test ends.
func serveWeb(t *testing.T, handler http.Handler) *web {
	t.Helper()
	w := &web{handler: handler}
	w.Server = httptest.NewServer(w)
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
						require.Eventually(t, func() bool { return progress.Load() == 1 }, 5*time.Second, time.Millisecond)
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
				go func() {
					soon(t, func() bool { return running.Load() == 1 }, log)
					cancel()
				}()
				_, err := s.CallTool(ctx, &mcp.CallToolParams{Name: "cancelled"})
				require.ErrorIs(t, err, context.Canceled)
				soon(t, func() bool { return running.Load() == 0 }, log)
				require.Contains(t, text(t, called(t, s, "divide", numbers{6, 3})), `"quotient":2`)
				require.NoError(t, s.Unsubscribe(t.Context(), &mcp.UnsubscribeParams{URI: "test://r"}))
			})
		}
	}
}

// A server that is started again has no sessions: they are begun anew, with all that was said in them,
// and the call that found out is made again, because nothing was done of it.
func TestARemoteServerIsStartedAgain(t *testing.T) {
	for kind, refusal := range map[string]func(http.Handler) http.Handler{
		"404": func(h http.Handler) http.Handler { return h },
		"400": func(h http.Handler) http.Handler { // as the examples of the TypeScript SDK do
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				rec := &peek{ResponseWriter: w}
				h.ServeHTTP(rec, r)
			})
		},
	} {
		t.Run(kind, func(t *testing.T) {
			var level atomic.Value
			fresh := func() (*mcp.Server, http.Handler) {
				server := newTestServer()
				talks(server)
				server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
					return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
						if set, ok := req.GetParams().(*mcp.SetLoggingLevelParams); ok {
							level.Store(string(set.Level))
						}
						return next(ctx, method, req)
					}
				})
				return server, refusal(handlerOf(server, &mcp.StreamableHTTPOptions{}))
			}
			_, handler := fresh()
			w := serveWeb(t, handler)
			h := &heard{}
			s, log := reach(t, "2025-11-25", w.URL, h.options())
			require.NoError(t, s.SetLoggingLevel(t.Context(), &mcp.SetLoggingLevelParams{Level: "error"}))
			require.NoError(t, s.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "test://r"}))
			for round := range 2 {
				level.Store("")
				server, handler := fresh()
				w.serve(handler)
				w.CloseClientConnections()
				time.Sleep(50 * time.Millisecond) // a call must not meet the end of its connection
				var calls sync.WaitGroup
				for i := range 5 {
					calls.Go(func() {
						res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "divide", Arguments: numbers{6 * i, 3}})
						if !assertNoError(t, err) {
							return
						}
						if got := text(t, res); got != `{"quotient":`+string(rune('0'+2*i))+`}` {
							t.Error(round, got, log)
						}
					})
				}
				calls.Wait()
				require.Equal(t, "error", level.Load())
				require.NoError(t, server.ResourceUpdated(t.Context(), &mcp.ResourceUpdatedNotificationParams{URI: "test://r"}))
				soon(t, func() bool { return h.updated.Load() == int64(round)+1 }, log)
				require.Contains(t, text(t, called(t, s, "talk", nil)), "sampled")
			}
			require.Contains(t, log.String(), "the session with the server ended, and is begun anew")
		})
	}
}

func assertNoError(t *testing.T, err error) bool {
	if err != nil {
		t.Error(err)
	}
	return err == nil
}

// A peek says 400 for 404.
type peek struct{ http.ResponseWriter }

func (p *peek) WriteHeader(status int) {
	if status == http.StatusNotFound {
		status = http.StatusBadRequest
	}
	p.ResponseWriter.WriteHeader(status)
}

func (p *peek) Unwrap() http.ResponseWriter { return p.ResponseWriter }

func (p *peek) Flush() { _ = http.NewResponseController(p.ResponseWriter).Flush() }
