package transport_test

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/internal/exchange"
	"github.com/mcpchain/mcpchain/transport"
)

// TestAroundAProxy: what the handler inside passes on to another server has no header of ours.
func TestAroundAProxy(t *testing.T) {
	seen := make(chan http.Header, 1)
	web := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) { seen <- req.Header }))
	defer web.Close()
	at, err := url.Parse(web.URL)
	require.NoError(t, err)
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader("{}"))
	transport.HTTP(httputil.NewSingleHostReverseProxy(at), nil).ServeHTTP(httptest.NewRecorder(), req)
	require.NotContains(t, <-seen, exchange.Header)
}
