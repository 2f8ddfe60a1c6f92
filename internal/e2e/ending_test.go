package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/child"
	"github.com/mcpchain/mcpchain/internal/faults"
	"github.com/mcpchain/mcpchain/middleware"
)

// untilTools wait until the caller gives up, and then fail and panic.
var untilTools = []string{"until_fail", "until_other", "until_typed", "until_panic"}

// installEndings adds the tools whose callers do not wait for the end, or have a
// say in it.
func (b *build) installEndings() {
	keyOf := func(req *mcp.CallToolRequest) string {
		var in struct{ Key string }
		_ = json.Unmarshal(req.Params.Arguments, &in)
		return in.Key
	}
	tool := func(name string, h mcp.ToolHandler) {
		b.server.AddTool(&mcp.Tool{Name: name, InputSchema: anyObject}, h)
	}
	// until waits until the caller gives up or the key is released.
	until := func(ctx context.Context, key string) error {
		gates.waiting.Add(1)
		defer gates.waiting.Add(-1)
		select {
		case <-ctx.Done():
			return fmt.Errorf("secret %s: %w", canary("ending"), ctx.Err())
		case <-gate(key):
			return errors.New("released: secret " + canary("ending"))
		}
	}
	tool("until_fail", func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return nil, until(ctx, keyOf(req))
	})
	tool("until_other", func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		_ = until(ctx, keyOf(req))
		return nil, errors.New("the work was interrupted: secret " + canary("ending"))
	})
	tool("until_panic", func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		panic(until(ctx, keyOf(req)))
	})
	mcp.AddTool(b.server, &mcp.Tool{Name: "until_typed"}, func(ctx context.Context, req *mcp.CallToolRequest, in struct {
		Key string `json:"key"`
	}) (*mcp.CallToolResult, any, error) {
		return nil, nil, until(ctx, in.Key)
	})
	tool("hold_panic", func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		err := hold(keyOf(req))
		panic(fmt.Sprint("held: secret ", canary("ending"), err))
	})

	answer := func(res *mcp.ElicitResult) (*mcp.CallToolResult, error) {
		switch res.Action {
		case "accept":
			return textResult("accepted"), nil
		default:
			return nil, fault.New(fault.KindCancelled, "the user declined to give a name").Because(errors.New("secret " + canary("ending")))
		}
	}
	tool("elicit", func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		res, err := req.Session.Elicit(ctx, &mcp.ElicitParams{Message: keyOf(req), RequestedSchema: json.RawMessage(`{"type":"object"}`)})
		if err != nil {
			return nil, fmt.Errorf("secret %s: %w", canary("ending"), err)
		}
		return answer(res)
	})
	tool("input", func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if res, ok := req.Params.InputResponses["name"].(*mcp.ElicitResult); ok {
			return answer(res)
		}
		return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{
			"name": &mcp.ElicitParams{Message: keyOf(req), RequestedSchema: json.RawMessage(`{"type":"object"}`)},
		}}, nil
	})
	tool("input_panic", func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if req.Params.InputResponses != nil {
			panic("the second time: " + canary("ending"))
		}
		return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"name": &mcp.ElicitParams{Message: keyOf(req), RequestedSchema: json.RawMessage(`{"type":"object"}`)}}}, nil
	})
	tool("touch", func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return textResult("touched"), b.server.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: "ok://text"})
	})
}

// installWireForm adds what TestTheWireForm calls: an example of every member.
func (b *build) installWireForm() {
	limited := fault.RateLimited("the search API", 0).
		WithRetry(fault.Retry{ShouldRetry: true, RetryAfterSeconds: 30, NextAttempt: 2, MaxAttempts: 3}).
		Step("Read cached results", "list_cached", map[string]any{"topic": "weather"})
	b.server.AddTool(&mcp.Tool{Name: "wire_form", InputSchema: anyObject}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return nil, limited
	})
	b.server.AddPrompt(&mcp.Prompt{Name: "wire_form"}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return nil, limited
	})
	b.server.AddResource(&mcp.Resource{URI: "resource://wire_form", Name: "wire_form"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return nil, fault.NotFound("project", "alhpa", "alpha", "omega")
	})
}

// TestCancelledInTheMiddle gives calls up while the server is at work on them.
func TestCancelledInTheMiddle(t *testing.T) {
	for _, shape := range shapes {
		t.Run(shape.String(), func(t *testing.T) {
			t.Parallel()
			p := connect(t, start(t, config{Transport: shape.transport, Chain: chainStandard, JSON: shape.json}), shape.asks)
			p.pool = &pool{p: p}
			p.pool.fly(t, inFlight)
			for _, tool := range untilTools {
				mark, size := p.rec.mark(), p.Log.Size(t)
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan error, 1)
				go func() {
					_, err := p.cs.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: map[string]any{"key": tool}})
					done <- err
				}()
				eventually(t, "the call arrives", func() bool { return p.stats(t, false).Waiting == inFlight+1 })
				cancel()
				require.ErrorIs(t, <-done, context.Canceled)
				reaches := shape.transport != "stateless"
				if !reaches { // neither the notification nor the disconnect
					_, err := p.cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "release", Arguments: map[string]any{"keys": []string{tool}}})
					require.NoError(t, err)
				}
				r := p.oneRecord(t, size)
				require.Contains(t, r.All(), canary("ending"))
				switch {
				case tool == "until_panic":
					require.Equal(t, "panic", r.Text("outcome"))
					require.Equal(t, "ERROR", r.Text("level"))
				case reaches:
					require.Equal(t, "cancelled", r.Text("outcome"), "whatever the handler said")
					require.Equal(t, "INFO", r.Text("level"), "a client that gives up is no error")
				default:
					require.Equal(t, "internal_error", r.Text("outcome"))
				}
				require.Empty(t, child.Leak(p.rec.bytes(mark)))
				eventually(t, "the call ends", func() bool { return p.stats(t, false).Waiting == inFlight })
			}
			p.finish(t)
		})
	}
}

// oneRecord waits for the one record that there is after size.
func (p *peer) oneRecord(t require.TestingT, size int64) child.Record {
	// A handler of an earlier call may end meanwhile.
	since := func() []child.Record {
		return slices.DeleteFunc(p.Log.Since(t, size), func(r child.Record) bool { return r.Text("msg") == "mcp handler ended late" })
	}
	eventually(t, "a record", func() bool { return len(since()) > 0 })
	p.stats(t, false)
	records := since()
	require.Len(t, records, 1)
	return records[0]
}

// finish requires that the calls in flight are answered, that nothing leaked and
// that the server ends well.
func (p *peer) finish(t require.TestingT) {
	if p.pool != nil {
		p.pool.land(t, len(p.pool.flying))
	}
	require.Equal(t, p.pid, p.stats(t, false).PID)
	require.Empty(t, child.Leak(p.rec.bytes(0)))
	require.NoError(t, p.cs.Close())
	p.Stop(t)
}

// TestTheClientIsGone closes the pipe while handlers are at work, and they fail
// and panic because of it.
func TestTheClientIsGone(t *testing.T) {
	for _, shape := range shapes[:2] {
		t.Run(shape.String(), func(t *testing.T) {
			t.Parallel()
			p := connect(t, start(t, config{Transport: shape.transport, Chain: chainStandard}), shape.asks)
			for _, tool := range untilTools {
				go func() {
					_, _ = p.cs.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: map[string]any{"key": "never"}})
				}()
			}
			eventually(t, "the calls arrive", func() bool { return p.stats(t, false).Waiting == int64(len(untilTools)) })
			p.Stop(t) // closes its standard input
			records := p.Log.Since(t, 0)
			require.Len(t, records, len(untilTools))
			for _, r := range records {
				want := "cancelled"
				if r.Text("tool") == "until_panic" {
					want = "panic"
				}
				require.Equal(t, want, r.Text("outcome"), r.Text("tool"))
				require.Contains(t, r.All(), canary("ending"))
			}
			require.Empty(t, child.Leak(p.rec.bytes(0)))
		})
	}
}

// TestDisconnectedAndReconnected drops the HTTP connection of a call, lets the
// handler panic, and comes back for the answer.
func TestDisconnectedAndReconnected(t *testing.T) {
	p := connect(t, start(t, config{Transport: "stateful", Chain: chainStandard, Resume: true}), version2025)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	mark, size := p.rec.mark(), p.Log.Size(t)
	data, err := json.Marshal(p.request("dropped", "tools/call", map[string]any{"name": "hold_panic", "arguments": map[string]any{"key": "dropped"}}))
	require.NoError(t, err)
	callCtx, drop := context.WithCancel(ctx)
	resp, err := p.post(callCtx, "tools/call", data)
	require.NoError(t, err)
	buf := make([]byte, 4096)
	n, err := resp.Body.Read(buf) // the event that one can come back to
	require.NoError(t, err)
	_, id, ok := strings.Cut(string(buf[:n]), "id: ")
	require.True(t, ok, "%s", buf[:n])
	id, _, _ = strings.Cut(id, "\n")
	eventually(t, "the call arrives", func() bool { return p.stats(t, false).Waiting == 1 })
	drop()
	_ = resp.Body.Close()

	_, err = p.cs.CallTool(ctx, &mcp.CallToolParams{Name: "release", Arguments: map[string]any{"keys": []string{"dropped"}}})
	require.NoError(t, err)
	r := p.oneRecord(t, size)
	require.Equal(t, "panic", r.Text("outcome"))
	require.Contains(t, r.All(), canary("ending"))

	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.URL, nil)
	require.NoError(t, err)
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set("Mcp-Session-Id", p.cs.ID())
	req.Header.Set("Mcp-Protocol-Version", p.version)
	req.Header.Set("Last-Event-ID", id)
	again, err := p.http.Do(req)
	require.NoError(t, err)
	defer again.Body.Close()
	_, err = io.Copy(io.Discard, again.Body)
	require.NoError(t, err)
	var found bool
	for _, m := range p.rec.answers(t, mark) {
		if string(m.ID) == `"dropped"` {
			found = true
			a := readTool(t, p.version, m.Result)
			require.Equal(t, r.Text("reference"), a.reference)
			require.Equal(t, []string{faults.WithReference(guided(t, internal(), a.machine), a.reference).Error()}, a.texts)
		}
	}
	require.True(t, found, "the answer is not replayed")
	p.finish(t)
}

// TestARequestThatIsGivenUpCancelsItsHandler does so where the server asks for it,
// over stateless HTTP.
func TestARequestThatIsGivenUpCancelsItsHandler(t *testing.T) {
	p := connect(t, start(t, config{Transport: "stateless", Chain: chainStandard, Propagate: true}), version2026)
	size := p.Log.Size(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := p.cs.CallTool(ctx, &mcp.CallToolParams{Name: "until_other", Arguments: map[string]any{"key": "never"}})
		done <- err
	}()
	eventually(t, "the call arrives", func() bool { return p.stats(t, false).Waiting == 1 })
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
	require.Equal(t, "cancelled", p.oneRecord(t, size).Text("outcome"))
	p.finish(t)
}

// TestElicitation lets the client accept and decline what a tool asks for, in each
// way that there is, while other calls are in flight.
func TestElicitation(t *testing.T) {
	for _, shape := range shapes {
		t.Run(shape.String(), func(t *testing.T) {
			t.Parallel()
			p := connect(t, start(t, config{Transport: shape.transport, Chain: chainStandard, JSON: shape.json}), shape.asks)
			p.pool = &pool{p: p}
			p.pool.fly(t, inFlight)
			canAsk := shape.transport != "stateless" && p.version < version2026 // the server, in the middle of a call
			canReturn := canAsk || p.version >= version2026
			ask := func(tool, key string) (*mcp.CallToolResult, []child.Record, error) {
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				size := p.Log.Size(t)
				res, err := p.cs.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: map[string]any{"key": key}})
				require.NoError(t, ctx.Err())
				return res, p.Log.Since(t, size), err
			}
			declined := fault.New(fault.KindCancelled, "the user declined to give a name")
			for tool, can := range map[string]bool{"elicit": canAsk, "input": canReturn} {
				res, records, err := ask(tool, "please accept")
				if !can {
					// The SDK refuses, and what it says may be a protocol error.
					f, failed := middleware.FaultOf(res, err)
					require.True(t, failed)
					require.NotEmpty(t, f.Message())
					require.Len(t, records, 1)
					continue
				}
				require.NoError(t, err)
				require.Equal(t, "accepted", textOf(res))
				require.Empty(t, records)

				res, records, err = ask(tool, "please decline")
				require.NoError(t, err)
				f, failed := middleware.FaultOf(res, err)
				require.True(t, failed)
				require.Equal(t, declined.Text()+"\nRetry: no.\nReference: "+f.Reference(), textOf(res))
				require.Len(t, records, 1)
				require.Equal(t, records[0].Text("reference"), f.Reference())
				require.Equal(t, "cancelled", records[0].Text("outcome"))
				require.Contains(t, records[0].All(), canary("ending"))
			}
			if canReturn {
				res, records, err := ask("input_panic", "please decline")
				require.NoError(t, err)
				require.Len(t, records, 1)
				require.Equal(t, "panic", records[0].Text("outcome"))
				f, _ := middleware.FaultOf(res, err)
				require.Equal(t, f.Error(), textOf(res))
				require.Contains(t, f.Message(), internal().Message())
				require.Equal(t, records[0].Text("reference"), f.Reference())
			}
			p.finish(t)
		})
	}
}

// TestNotifications lets the handlers of notifications panic.
func TestNotifications(t *testing.T) {
	for _, shape := range shapes {
		t.Run(shape.String(), func(t *testing.T) {
			t.Parallel()
			p := connect(t, start(t, config{Transport: shape.transport, Chain: chainStandard, JSON: shape.json}), shape.asks)
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			for _, message := range []string{"panic now", "fine", "panic again", "fine"} {
				mark, size := p.rec.mark(), p.Log.Size(t)
				before := p.stats(t, false).Notifications
				require.NoError(t, p.cs.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: "t", Message: message}))
				if shape.transport == "stateless" {
					continue // the SDK closes the session of the request, and what it has not begun is dropped
				}
				if message == "fine" {
					eventually(t, "it arrives", func() bool { return p.stats(t, false).Notifications == before+1 })
					require.Empty(t, p.Log.Since(t, size))
					continue
				}
				r := p.oneRecord(t, size)
				require.Equal(t, "panic", r.Text("outcome"))
				require.Equal(t, "notifications/progress", r.Text("method"))
				require.Contains(t, r.Text("error"), message+" "+canary("notification"))
				require.Contains(t, r.Text("stack"), "internal/e2e")
				require.Empty(t, child.Leak(p.rec.bytes(mark)))
			}
			p.finish(t)
		})
	}
}

// TestSubscriptions requires that updates arrive as they would without mcpchain.
func TestSubscriptions(t *testing.T) {
	for _, shape := range shapes[:4] {
		t.Run(shape.String(), func(t *testing.T) {
			t.Parallel()
			p := connect(t, start(t, config{Transport: shape.transport, Chain: chainStandard, JSON: shape.json}), shape.asks)
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			mark := p.rec.mark()
			require.NoError(t, p.cs.Subscribe(ctx, &mcp.SubscribeParams{URI: "ok://text"}))
			updated := func() bool {
				for _, raw := range p.rec.messages(mark) {
					var m message
					if json.Unmarshal(raw, &m) == nil && m.Method == "notifications/resources/updated" {
						return true
					}
				}
				return false
			}
			eventually(t, "an update", func() bool {
				_, err := p.cs.CallTool(ctx, &mcp.CallToolParams{Name: "touch"})
				require.NoError(t, err)
				return updated()
			})
			require.NoError(t, p.cs.Unsubscribe(ctx, &mcp.UnsubscribeParams{URI: "ok://text"}))
			require.Empty(t, p.Log.Since(t, 0), "listening is no failure, and neither is its end")
			p.finish(t)
		})
	}
}

// TestStrangeURIs asks for resources that do not exist, under names for which the
// SDK writes data that is no JSON: without mcpchain that breaks the session.
func TestStrangeURIs(t *testing.T) {
	for _, shape := range shapes {
		t.Run(shape.String(), func(t *testing.T) {
			t.Parallel()
			p := connect(t, start(t, config{Transport: shape.transport, Chain: chainStandard, JSON: shape.json}), shape.asks)
			for _, uri := range []string{"no://\a", "no://\x1b[31m", "no://\u200b\u00ad", "no://\U000e0001", "no://\x7f"} {
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				size := p.Log.Size(t)
				mark := p.rec.mark()
				data, err := json.Marshal(p.request("strange", "resources/read", map[string]any{"uri": uri}))
				require.NoError(t, err)
				if p.URL == "" || p.version < version2026 { // such a URI fits into no header
					_, err = p.send(ctx, "strange", "resources/read", data)
					require.Error(t, err)
					require.NoError(t, ctx.Err(), "not answered: %q", uri)
					answers := p.rec.answers(t, mark)
					require.Len(t, answers, 1)
					require.JSONEq(t, `{"code":-32602,"message":"Resource not found","data":{"uri":`+quote(uri)+`}}`, string(answers[0].Error))
					require.Equal(t, "protocol_error", p.oneRecord(t, size).Text("outcome"))
				}
				cancel()
			}
			p.finish(t)
		})
	}
}
