package recover

import (
	"io"
	"log/slog"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/transport"
)

// HTTP wraps next, the SDK's HTTP handler, in [transport.HTTP] with a logger; nil means [slog.Default]. HTTP
// panics if next is nil.
func HTTP(next http.Handler, logger *slog.Logger) http.Handler {
	if next == nil {
		panic("mcprecover.HTTP: next is nil; give the handler that serves MCP")
	}
	return transport.HTTP(next, &transport.Options{Logger: logger})
}

// Transport returns a [transport.Stdio] that reads from in and writes to out. Nil means
// standard input and standard output.
func Transport(in io.ReadCloser, out io.WriteCloser) mcp.Transport {
	return transport.Stdio(&transport.StdioOptions{In: in, Out: out})
}
