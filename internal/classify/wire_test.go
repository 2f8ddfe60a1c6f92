package classify_test

import (
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/classify"
	"github.com/mcpchain/mcpchain/internal/kinds"
)

// TestCodesOfTheSDK holds the table of codes, which does not know the SDK, against it.
func TestCodesOfTheSDK(t *testing.T) {
	for code, want := range map[int64]struct {
		kind                fault.Kind
		unsupported, steers bool
	}{
		jsonrpc.CodeParseError:                    {fault.KindClientError, true, false},
		jsonrpc.CodeInvalidRequest:                {fault.KindClientError, true, false},
		jsonrpc.CodeMethodNotFound:                {fault.KindNotFound, true, false},
		jsonrpc.CodeInvalidParams:                 {fault.KindValidation, false, false},
		jsonrpc.CodeInternalError:                 {fault.KindInternal, false, false},
		-32002:                                    {fault.KindNotFound, false, false},
		mcp.CodeURLElicitationRequired:            {fault.KindPreconditionFailed, false, true},
		mcp.CodeMissingRequiredClientCapabilities: {fault.KindClientError, false, true},
		mcp.CodeUnsupportedProtocolVersion:        {fault.KindClientError, false, true},
		-32000:                                    {fault.KindServerError, false, false}, // which means nothing
		418:                                       {fault.KindServerError, false, false},
	} {
		require.Equal(t, want.kind, classify.FromWire(&jsonrpc.Error{Code: code, Message: "m"}).Kind(), code)
		require.Equal(t, want.unsupported, kinds.Unsupported(code), code)
		require.Equal(t, want.steers, kinds.Steers(code), code)
	}
	require.Equal(t, fault.KindNotFound, classify.FromWire(&jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: `unknown tool "x"`}).Kind())
}
