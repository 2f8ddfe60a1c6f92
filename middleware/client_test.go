package middleware_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/correlate"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/internal/speak"
	"github.com/mcpchain/mcpchain/mask"
	"github.com/mcpchain/mcpchain/middleware"
	mcprecover "github.com/mcpchain/mcpchain/recover"
)

// TestWhoseFaultAClientsFailureIs: what a client fails with is the caller's side of the server
// that asks it.
func TestWhoseFaultAClientsFailureIs(t *testing.T) {
	for about, c := range map[string]struct {
		fail func() error
		want fault.Party
	}{
		"a panic":                        {func() error { panic(errSecret) }, fault.PartyCaller},
		"an error that nobody knows":     {func() error { return errSecret }, fault.PartyCaller},
		"a service of the client's":      {func() error { return &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("refused")} }, fault.PartyUpstream},
		"the server asked wrongly":       {func() error { return fault.New(fault.KindValidation, "no such form") }, fault.PartyServer},
		"its author says who":            {func() error { return fault.New(fault.KindInternal, "x").WithParty(fault.PartyServer) }, fault.PartyServer},
		"its author says who, otherwise": {func() error { return fault.New(fault.KindValidation, "x").WithParty(fault.PartyCaller) }, fault.PartyCaller},
	} {
		t.Run(about, func(t *testing.T) {
			log := harness.NewLog(slog.LevelDebug)
			chain := middleware.Chain(mcprecover.New(nil), correlate.New(&correlate.Options{Logger: log.Logger()}), mask.New(nil), mcprecover.New(nil))
			ask := func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) { return nil, c.fail() }
			opts := &mcp.ClientOptions{ElicitationHandler: ask}
			var received error
			server := mcp.NewServer(&mcp.Implementation{Name: "s"}, nil)
			server.AddTool(&mcp.Tool{Name: "t", InputSchema: map[string]any{"type": "object"}},
				func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
					_, received = req.Session.Elicit(ctx, &mcp.ElicitParams{Message: "m"})
					return &mcp.CallToolResult{}, nil
				})
			here, there := mcp.NewInMemoryTransports()
			_, err := server.Connect(t.Context(), there, nil)
			require.NoError(t, err)
			client := mcp.NewClient(&mcp.Implementation{Name: "c"}, opts)
			client.AddReceivingMiddleware(chain)
			session, err := client.Connect(t.Context(), here, speak.Version(string(harness.Older)))
			require.NoError(t, err)
			defer func() { _ = session.Close() }()
			_, err = session.CallTool(t.Context(), &mcp.CallToolParams{Name: "t"})
			require.NoError(t, err)

			require.Equal(t, string(c.want), log.Only(t)["party"])
			var wire *jsonrpc.Error
			require.ErrorAs(t, received, &wire)
			f, failed := middleware.FaultOf(nil, received)
			require.True(t, failed)
			require.Equal(t, c.want, f.Party(), "%s", wire.Data)
		})
	}
	// Of a server nothing has changed places.
	log := harness.NewLog(slog.LevelDebug)
	h := middleware.Tool(func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { panic("p") },
		mcprecover.New(nil), correlate.New(&correlate.Options{Logger: log.Logger()}), mask.New(nil), mcprecover.New(nil))
	res, err := h(t.Context(), &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "t"}})
	require.NoError(t, err)
	f, _ := middleware.FaultOf(res, nil)
	require.Equal(t, fault.PartyServer, f.Party())
	require.Equal(t, "server", log.Only(t)["party"])
}
