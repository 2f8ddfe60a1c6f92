package deadline_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/mask"
)

// How long calls usually take is said to trusted readers, if three were seen that succeeded.
func TestHowLongCallsUsuallyTake(t *testing.T) {
	for name, tc := range map[string]struct {
		reader mask.Reader
		seen   int
		want   string
	}{
		"trusted":  {mask.Trusted, 3, "it is still running after 30 s; calls of this tool usually take 2 s. "},
		"anyone":   {mask.Anyone, 3, "it is still running after 30 s. "},
		"too few":  {mask.Trusted, 2, "it is still running after 30 s. "},
		"the last": {mask.Operator, 20, "it is still running after 30 s; calls of this tool usually take 15 s. "},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log, calls := harness.NewLog(0), 0
				s := harness.Start(t, rawAt, harness.Setup{
					Middleware: []mcp.Middleware{mask.New(&mask.Options{Reader: tc.reader, Logger: log.Logger()}), limited(log)},
					Handlers: map[string]harness.Handler{"it": func(_ context.Context, req mcp.Request) (mcp.Result, error) {
						switch calls++; {
						case calls > tc.seen:
							time.Sleep(time.Hour)
						default:
							time.Sleep(time.Duration(max(2, calls-2)) * time.Second)
						}
						return harness.Success(req), nil
					}},
				})
				for range tc.seen {
					require.Equal(t, "fine", s.Call(t, "it").Text())
				}
				require.Contains(t, s.Call(t, "it").Text(), "\nRetry: not the same call: "+tc.want)
				time.Sleep(2 * time.Hour)
			})
		})
	}
}
