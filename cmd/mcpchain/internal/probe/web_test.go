package probe_test

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/probe"
	"github.com/mcpchain/mcpchain/transport"
)

// overWeb runs checks against a handler.
func overWeb(t *testing.T, handler http.Handler, only ...string) *probe.Report {
	t.Helper()
	web := httptest.NewServer(handler)
	t.Cleanup(web.Close)
	header := http.Header{"Authorization": {"Bearer good"}}
	report, err := probe.Run(t.Context(), probe.Options{URL: web.URL, Header: header, Only: only, Limit: 20 * time.Second})
	require.NoError(t, err)
	return report
}

// handlerOf serves the wrapped server to who is signed in.
func handlerOf(stateless bool) http.Handler {
	logger := slog.New(slog.DiscardHandler)
	server := newServer(mcpchain.Standard(&mcpchain.Options{Logger: logger}))
	served := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{
		Stateless: stateless, CrossOriginProtection: http.NewCrossOriginProtection(), Logger: logger,
	})
	handler := transport.HTTP(served, &transport.Options{Logger: logger})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer good" {
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	})
}

// TestChecksOverHTTP proves that the checks find in a wrapped server over HTTP only what is the SDK's.
func TestChecksOverHTTP(t *testing.T) {
	t.Parallel()
	ofSDK := []string{"no-method", "unknown-log-level", "legal-codes", "odd-initialize"}
	for name, stateless := range map[string]bool{"stateless": true, "with sessions": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			report := overWeb(t, handlerOf(stateless))
			require.Subset(t, ofSDK, found(report))
			require.Equal(t, "http", report.Transport)
			require.Len(t, report.Protocols, map[bool]int{true: 2, false: 1}[stateless])
			for _, r := range report.Results {
				switch r.Check.Name {
				case "http-session":
					require.Equal(t, stateless, r.NotChecked != "", "%s %v", r.NotChecked, r.Findings)
				case "ends-with-input", "empty-line", "late-reader":
					require.Equal(t, "it is for servers over stdio", r.NotChecked)
				case "writes-kept":
					require.Equal(t, "it needs -writes", r.NotChecked)
				case "result-type":
					require.Equal(t, stateless, r.NotChecked == "")
				default:
					if r.Check.Over() != "stdio" {
						require.Empty(t, r.NotChecked, r.Check.Name)
					}
				}
			}
		})
	}
	for url, want := range map[string]string{"http://127.0.0.1:1/mcp": "refused", "http://[": "missing ']'"} {
		_, err := probe.Run(t.Context(), probe.Options{URL: url})
		require.ErrorContains(t, err, want)
	}
}

// TestWebChecksFind proves that each check of HTTP finds what it is for, and that others look at what is
// no message.
func TestWebChecksFind(t *testing.T) {
	sound := handlerOf(false)
	faults := map[string]func(r *http.Request, body []byte) (status int){
		"http-media-type": func(r *http.Request, _ []byte) int {
			r.Header.Set("Content-Type", "application/json")
			return 0
		},
		"http-accept": func(r *http.Request, _ []byte) int {
			return map[bool]int{true: 500}[r.Header.Get("Accept") == "text/html"]
		},
		"http-session": func(r *http.Request, _ []byte) int {
			return map[bool]int{true: 400}[r.Header.Get("Mcp-Session-Id") == "mcpchain-no-such-session"]
		},
		"http-origin": func(r *http.Request, _ []byte) int {
			r.Header.Del("Origin")
			return 0
		},
		"http-method": func(r *http.Request, _ []byte) int {
			return map[bool]int{true: 500}[r.Method == http.MethodPut]
		},
		"leaks-path": func(_ *http.Request, body []byte) int {
			return map[bool]int{true: 502}[bytes.Contains(body, []byte("no_such"))]
		},
		"no-json": func(_ *http.Request, body []byte) int {
			if bytes.HasPrefix(body, []byte("this")) {
				panic(http.ErrAbortHandler)
			}
			return 0
		},
	}
	for _, check := range probe.Checks() {
		if check.Over() == "http" {
			require.Contains(t, faults, check.Name)
		}
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			faulty := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				r.Body = io.NopCloser(bytes.NewReader(body))
				if status := fault(r, body); status != 0 {
					http.Error(w, "cannot open /home/ada/proxy.conf", status)
					return
				}
				sound.ServeHTTP(w, r)
			})
			only := []string{name}
			if name == "leaks-path" {
				only = append(only, "unknown-tool")
			}
			require.NotContains(t, found(overWeb(t, sound, only...)), name)
			require.Contains(t, found(overWeb(t, faulty, only...)), name)
		})
	}
}
