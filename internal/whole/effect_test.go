package whole_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/audit"
	"github.com/mcpchain/mcpchain/degrade"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/middleware"
	"github.com/mcpchain/mcpchain/replay"
	"github.com/mcpchain/mcpchain/retry"
	"github.com/mcpchain/mcpchain/validate"
)

// TestNothingIsDeniedAfterAWrite: a handler that has changed something fails with what the next step gave
// it. Nothing of that says that the call changed nothing, runs it again, or forgets its key.
func TestNothingIsDeniedAfterAWrite(t *testing.T) {
	part := func(ctx context.Context, err error) error {
		var weather string
		_, err = degrade.Run(ctx, degrade.Required("weather", &weather, func(context.Context) (string, error) { return "", err }))
		return err
	}
	limited := fault.RateLimited("mail", time.Second)
	for name, fails := range map[string]func(ctx context.Context) error{
		"classified by its kind": func(context.Context) error { return middleware.Classify(fmt.Errorf("mail: %w", fault.KindRateLimited)) },
		"classified by a status": func(context.Context) error {
			return middleware.Classify(retry.FromResponse(&http.Response{StatusCode: http.StatusTooManyRequests}))
		},
		"joined to another error":    func(context.Context) error { return errors.Join(limited, errors.New("the booking was not undone")) },
		"joined to a known one":      func(context.Context) error { return errors.Join(syscall.ECONNREFUSED, limited) },
		"a part, limited":            func(ctx context.Context) error { return part(ctx, limited) },
		"a part, not available":      func(ctx context.Context) error { return part(ctx, fault.Unavailable("weather")) },
		"a part outside of the call": func(context.Context) error { return part(context.Background(), limited) },
		"the text of another server": func(context.Context) error { return errors.New(`validating "arguments": it lacks a city`) },
		"an error, wrong arguments":  func(context.Context) error { return syscall.ECONNREFUSED },
		"the handler's own check":    func(context.Context) error { return checkError{} },
	} {
		for _, args := range []any{map[string]any{"n": 1}, map[string]any{"n": 0}} {
			t.Run(fmt.Sprint(name, args), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var mu sync.Mutex
					var kept bytes.Buffer
					writes := 0
					s := harness.Start(t, harness.Place{Shape: harness.ServerRaw, Era: harness.Current}, harness.Setup{
						Handlers: map[string]harness.Handler{"it": func(ctx context.Context, _ mcp.Request) (mcp.Result, error) {
							writes++
							return nil, fails(ctx)
						}},
						Tool: func(tool *mcp.Tool) {
							tool.InputSchema = json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer","minimum":1}}}`)
						},
						Middleware: []mcp.Middleware{mcpchain.Standard(&mcpchain.Options{
							Audit: audit.New(&audit.Options{Log: audit.NewLog(func(entries []audit.Entry) error {
								mu.Lock()
								defer mu.Unlock()
								for _, e := range entries {
									kept.Write(e.Line)
								}
								return nil
							}, nil)}),
							Validate:    &validate.Options{AfterFailure: true, Violations: violationsOf},
							Replay:      replay.New(nil),
							RetryServer: retry.Server(nil),
						})},
					})
					for range 2 {
						res, err := s.Client.CallTool(t.Context(), &mcp.CallToolParams{
							Name: "it", Arguments: args, Meta: mcp.Meta{"io.modelcontextprotocol/idempotencyKey": "k"},
						})
						require.NoError(t, err)
						said := res.Content[0].(*mcp.TextContent).Text
						require.NotContains(t, said, "Nothing was changed")
						require.NotContains(t, said, "Retry: yes")
					}
					require.Equal(t, 1, writes)
					mu.Lock()
					defer mu.Unlock()
					require.NotContains(t, kept.String(), `"effect":"none"`)
				})
			})
		}
	}
}

type checkError struct{}

func (checkError) Error() string { return "n is too small" }

func violationsOf(err error, _ func(string) string) []fault.Violation {
	if errors.As(err, &checkError{}) {
		return []fault.Violation{{Field: "n", Expected: "at least 2"}}
	}
	return nil
}
