package batch_test

import (
	"fmt"
	"log/slog"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/batch"
	"github.com/mcpchain/mcpchain/correlate"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/mask"
	mcprecover "github.com/mcpchain/mcpchain/recover"
)

// TestPairs puts the middleware inside and outside of each other one: what a caller
// reads of an item is the same, and the log has each failure once.
func TestPairs(t *testing.T) {
	for _, era := range eras {
		for _, order := range []string{"rcmb", "rcbm", "rbcm", "brcm", "bm", "mb", "cbm", "bmc", "bbm", "rcmbrcm"} {
			t.Run(fmt.Sprint(era, " ", order), func(t *testing.T) {
				log := harness.NewLog(slog.LevelInfo)
				var mw []mcp.Middleware
				for _, c := range order {
					switch c {
					case 'r':
						mw = append(mw, mcprecover.New(&mcprecover.Options{Logger: log.Logger()}))
					case 'c':
						mw = append(mw, correlate.New(&correlate.Options{Logger: log.Logger()}))
					case 'm':
						mw = append(mw, mask.New(&mask.Options{Logger: log.Logger()}))
					case 'b':
						mw = append(mw, batch.New(&batch.Options{Lists: []batch.List{userList}, Logger: log.Logger()}))
					}
				}
				s := harness.Start(t, harness.Place{Shape: harness.ServerRaw, Era: era}, harness.Setup{
					Middleware: append(mw, mcprecover.New(nil)),
					More:       func(s *mcp.Server) { mcp.AddTool(s, &mcp.Tool{Name: "get_user"}, getUser) },
				})
				list, err := s.Client.ListTools(t.Context(), nil)
				require.NoError(t, err)
				require.Equal(t, "get_user get_users", toolNames(list.Tools))
				out := outputOf(t, s.CallTool(t.Context(), "get_users", ids("ann", "broken", "missing", "panics")))
				require.Equal(t, 1, out.Succeeded)
				require.Len(t, out.Errors, 3)
				require.Equal(t, fault.KindInternal, out.Errors[0].Fault().Kind())
				require.Equal(t, fault.KindNotFound, out.Errors[1].Fault().Kind())
				require.NotContains(t, s.Sent(), harness.Canary)
				for _, e := range out.Errors {
					found := 0
					for _, r := range log.Records() {
						if r["reference"] == e.Fault().Reference() {
							found++
						}
					}
					require.Equal(t, 1, found, "%v\n%s", e, log)
				}
			})
		}
	}
}
