package recover

import (
	"io"
	"log/slog"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/transport"
)

// HTTP is [transport.HTTP], which stands outside of the SDK's HTTP handler, with a logger.
func HTTP(next http.Handler, logger *slog.Logger) http.Handler {
	if next == nil {
		panic("mcprecover.HTTP: next is nil; give the handler that serves MCP")
	}
	return transport.HTTP(next, &transport.Options{Logger: logger})
}

// Transport is [transport.Stdio] with an input and an output. Nil ones are the standard
// input and the standard output.
func Transport(in io.ReadCloser, out io.WriteCloser) mcp.Transport {
	return transport.Stdio(&transport.StdioOptions{In: in, Out: out})
}
