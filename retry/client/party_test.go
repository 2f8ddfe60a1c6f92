package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/call"
)

// TestWhoseFaultItIs: a client that fails itself does not blame the server.
func TestWhoseFaultItIs(t *testing.T) {
	ofServer := &jsonrpc.Error{Code: -32603, Message: "x", Data: []byte(`{"type":"internal_error","message":"x","party":"server"}`)}
	for about, c := range map[string]struct {
		err  error
		want fault.Party
	}{
		"a panic of a sending middleware":     {fault.Panicked("p", 0), fault.PartyCaller},
		"a panic with a fault":                {fault.Panicked(fault.NotFound("a", "b"), 0), fault.PartyCaller},
		"an error of a sending middleware":    {errors.New("x"), fault.PartyCaller},
		"what it words itself":                {fault.New(fault.KindInternal, "x").WithParty(fault.PartyServer), fault.PartyServer},
		"the server's answer":                 {fmt.Errorf("calling: %w", ofServer), fault.PartyServer},
		"the way to the server":               {&net.OpError{Op: "dial", Net: "tcp", Err: errors.New("refused")}, fault.PartyUpstream},
		"a connection that the server closed": {mcp.ErrConnectionClosed, fault.PartyUpstream},
	} {
		t.Run(about, func(t *testing.T) {
			handler := New(&Options{MaxAttempts: 1, FailuresAsErrors: true})(func(context.Context, string, mcp.Request) (mcp.Result, error) { return nil, c.err })
			_, err := handler(t.Context(), call.MethodReadResource, &mcp.ClientRequest[mcp.Params]{Params: &mcp.ReadResourceParams{URI: "x:y"}})
			var f *fault.Error
			require.ErrorAs(t, err, &f)
			require.Equal(t, c.want, f.Party())
			require.ErrorIs(t, err, c.err)
		})
	}
}
