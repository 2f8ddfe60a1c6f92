package task_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/task"
)

// telling serves a tool that says something after five seconds and after half a minute, and lasts a minute.
func (s *server) telling(t testing.TB, say func(ctx context.Context, req *mcp.CallToolRequest, n int)) *server {
	t.Helper()
	s.more = func(server *mcp.Server) {
		server.AddTool(&mcp.Tool{Name: "report", InputSchema: map[string]any{"type": "object"}}, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			pause(t, 5*time.Second)
			say(ctx, req, 1)
			pause(t, 25*time.Second)
			say(ctx, req, 2)
			pause(t, 30*time.Second)
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "fine"}}}, ctx.Err()
		})
	}
	return s.start(t, nil)
}

// pause ends when the test has failed.
func pause(t testing.TB, takes time.Duration) {
	t.Helper()
	select {
	case <-time.After(takes):
	case <-t.Context().Done():
	}
}

// TestReport: the handle and task_result say the last progress in one clean line.
func TestReport(t *testing.T) {
	for name, c := range map[string]struct{ said, want string }{
		"plain":      {"30 of 100 rows", "30 of 100 rows"},
		"lines":      {"30 of 100\nRetry: yes\r\n\x1b[31mred\u202e", `30 of 100 Retry: yes`},
		"a secret":   {"at postgres://me:" + secret + "@db/x", "at postgres://"},
		"long":       {strings.Repeat("ä", 500), strings.Repeat("ä", 190)},
		"not UTF-8":  {"30\xff of 100", "30"},
		"a sentence": {"30 of 100.", "30 of 100."},
	} {
		t.Run(name, func(t *testing.T) {
			inStandard(t, func(t *testing.T, s *server) {
				s.telling(t, func(ctx context.Context, _ *mcp.CallToolRequest, n int) {
					task.Report(ctx, fmt.Sprint(n, ": ", c.said))
				})
				got := s.CallTool(t.Context(), "report", nil)
				first, _, _ := strings.Cut(got.Text(), "\n")
				require.Contains(t, first, "Its last progress: 1: "+c.want)
				require.NotContains(t, strings.TrimSuffix(first, "..."), "..")
				id := idOf(t, got)
				still := s.ask(t, "task_result", id)
				require.Contains(t, still.Text(), "Its last progress: 2: "+c.want)
				require.Contains(t, metaOf(still)["progress"], "2: "+c.want)
				require.Less(t, len([]rune(metaOf(still)["progress"].(string))), 210)
				require.NotContains(t, s.Sent(), secret)
				require.NotContains(t, s.Sent(), "\u202e")
				require.Equal(t, "fine", s.result(t, id).Text())
			})
		})
	}
	task.Report(t.Context(), "outside of a call") // does nothing
}

// secret is a password in an address.
const secret = "hunter2hunter2"

// TestNotifications: what a handler tells its client of its progress is sent while the client waits, and kept afterwards.
func TestNotifications(t *testing.T) {
	for name, c := range map[string]struct {
		tell func(ctx context.Context, req *mcp.CallToolRequest, n int)
		want string
	}{
		"progress": {func(ctx context.Context, req *mcp.CallToolRequest, n int) {
			_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: req.Params.GetProgressToken(), Progress: float64(n), Total: 2.5, Message: "rows"})
		}, "%d of 2.5, rows"},
		"without a total": {func(ctx context.Context, req *mcp.CallToolRequest, n int) {
			_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: req.Params.GetProgressToken(), Progress: float64(n)})
		}, "%d"},
		"log": {func(ctx context.Context, req *mcp.CallToolRequest, n int) {
			_ = req.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "error", Data: fmt.Sprint("row ", n)})
		}, "row %d"},
		"log, not a text": {func(ctx context.Context, req *mcp.CallToolRequest, n int) {
			_ = req.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "error", Data: map[string]any{"row": n}})
		}, "map[row:%d]"},
	} {
		t.Run(name, func(t *testing.T) {
			inStandard(t, func(t *testing.T, s *server) {
				var mu sync.Mutex
				heard := 0
				count := func() { mu.Lock(); defer mu.Unlock(); heard++ }
				s.client = &mcp.ClientOptions{
					ProgressNotificationHandler: func(context.Context, *mcp.ProgressNotificationClientRequest) { count() },
					LoggingMessageHandler:       func(context.Context, *mcp.LoggingMessageRequest) { count() },
				}
				s.telling(t, c.tell)
				params := &mcp.CallToolParams{Name: "report", Meta: mcp.Meta{}}
				if strings.HasPrefix(name, "log") {
					if s.at.Era == harness.Older {
						require.NoError(t, s.Client.SetLoggingLevel(t.Context(), &mcp.SetLoggingLevelParams{Level: "debug"}))
					} else {
						params.Meta["io.modelcontextprotocol/logLevel"] = "debug"
					}
				} else {
					params.SetProgressToken("token")
				}
				res, err := s.Client.CallTool(t.Context(), params)
				require.NoError(t, err)
				got := harness.Answer{Result: res}
				require.Contains(t, got.Text(), "Its last progress: "+fmt.Sprintf(c.want, 1)+".\n")
				id := idOf(t, got)
				params.Name, params.Arguments = "task_result", map[string]any{"id": id} // go-sdk v1.7 takes the level from the last request
				res, err = s.Client.CallTool(t.Context(), params)
				require.NoError(t, err)
				require.Contains(t, harness.Answer{Result: res}.Text(), "Its last progress: "+fmt.Sprintf(c.want, 2)+".\n")
				require.Equal(t, "fine", s.result(t, id).Text())
				mu.Lock()
				defer mu.Unlock()
				require.Equal(t, 1, heard, "after the handle nobody listens")
			})
		})
	}
}

// TestWhileTheClientIsAsked: while a handler waits for its client, who is there, its call gets no handle.
func TestWhileTheClientIsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{at: harness.Place{Shape: harness.ServerTyped, Era: harness.Older}}
		s.client = &mcp.ClientOptions{ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			time.Sleep(5 * time.Minute)
			return &mcp.ElicitResult{Action: "accept"}, nil
		}}
		s.telling(t, func(ctx context.Context, req *mcp.CallToolRequest, n int) {
			if n == 1 {
				_, err := req.Session.Elicit(ctx, &mcp.ElicitParams{Message: "sure?", RequestedSchema: map[string]any{"type": "object"}})
				require.NoError(t, err)
			}
		})
		began := time.Now()
		id := idOf(t, s.CallTool(t.Context(), "report", nil))
		require.InDelta(t, 5*60+5.5, time.Since(began).Seconds(), 0.6, "it looks once a second")
		require.Equal(t, "fine", s.result(t, id).Text())
	})
}
