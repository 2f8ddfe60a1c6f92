// Package suite helps the tests of this module to run real libraries against services on
// the loopback interface, and to write down in docs/libraries.md what becomes of their errors.
package suite

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/mask"
	"github.com/mcpchain/mcpchain/middleware"
)

// A Case is one failure of a service.
type Case struct {
	Name   string
	Status int // of HTTP; zero for what has none
	Header http.Header
	Want   Told
}

// Told is what becomes of an error.
type Told struct {
	Kind  fault.Kind
	Retry fault.Retryable
	After time.Duration
	Party fault.Party
}

// String writes the outcome as a cell of the table.
func (t Told) String() string {
	text := "`" + string(t.Kind) + "`, retry " + t.Retry.String()
	if t.After > 0 {
		text += " after " + t.After.String()
	}
	return strings.TrimSuffix(text+", "+string(t.Party), ", ")
}

// Shorter names for the tables of the tests.
const (
	Yes      = fault.RetryYes
	No       = fault.RetryNo
	Caller   = fault.PartyCaller
	Server   = fault.PartyServer
	Upstream = fault.PartyUpstream
)

// Wait is how long the services ask to wait.
const Wait = 7 * time.Second

// Cases are those of an HTTP service.
var Cases = []Case{
	{"400", 400, nil, Told{fault.KindClientError, No, 0, Caller}},
	{"401", 401, nil, Told{fault.KindServerError, No, 0, Server}},
	{"403", 403, nil, Told{fault.KindServerError, No, 0, Server}},
	{"403 of a rate limit", 403, limits, Told{fault.KindRateLimited, Yes, Wait, Upstream}},
	{"404", 404, nil, Told{fault.KindNotFound, No, 0, Caller}},
	{"409", 409, nil, Told{fault.KindConflict, No, 0, Caller}},
	{"422", 422, nil, Told{fault.KindClientError, No, 0, Caller}},
	{"429", 429, limits, Told{fault.KindRateLimited, Yes, Wait, Upstream}},
	{"500", 500, nil, Told{fault.KindServerError, Yes, 0, Upstream}},
	{"503", 503, nil, Told{fault.KindServiceUnavailable, Yes, 0, Upstream}},
	{"refused connection", 0, nil, Told{fault.KindConnectionFailed, Yes, 0, Upstream}},
	{"time-out", 0, nil, Told{fault.KindTimeout, Yes, 0, ""}},
}

var limits = http.Header{
	"Retry-After": {strconv.Itoa(int(Wait.Seconds()))}, "X-Ratelimit-Remaining": {"0"}, "X-Ratelimit-Limit": {"60"},
}

// A Library is a client of an HTTP service.
type Library struct {
	Name string
	// Body is what its service writes in a failure; nil means a usual JSON object.
	Body func(c Case) string
	// Call makes a call of the service at the address and returns its error.
	Call func(ctx context.Context, address string) error
	// Differs has what becomes of the cases that are told otherwise than those of most
	// libraries, by their names.
	Differs map[string]Told
	// Without names the cases that are no errors of this library.
	Without []string
}

func usual(c Case) string {
	return fmt.Sprintf(`{"message":%q,"error":{"code":"c","message":%[1]q,"type":"t"},"code":%q,"status":%d,"statusCode":%[3]d}`, harness.Canary, "c", c.Status)
}

// Run runs every case of every library and compares docs/libraries.md.
func Run(t *testing.T, section string, libraries []Library) {
	t.Helper()
	table := NewTable(section)
	for _, l := range libraries {
		t.Run(l.Name, func(t *testing.T) {
			t.Parallel()
			for _, c := range Cases {
				if slices.Contains(l.Without, c.Name) {
					continue
				}
				if differs, ok := l.Differs[c.Name]; ok {
					c.Want = differs
				}
				t.Run(c.Name, func(t *testing.T) {
					if err := l.call(t, c); Check(t, err, c.Want) {
						table.Add(l.Name, c.Name, c.Want)
					}
				})
			}
		})
	}
	t.Cleanup(func() { table.Compare(t) })
}

func (l Library) call(t *testing.T, c Case) error {
	t.Helper()
	ctx := t.Context()
	var address string
	switch {
	case c.Status != 0:
		body := usual
		if l.Body != nil {
			body = l.Body
		}
		address = Serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			maps.Copy(w.Header(), c.Header)
			w.WriteHeader(c.Status)
			_, _ = w.Write([]byte(body(c)))
		})
	case c.Name == "refused connection":
		address = "http://" + Closed(t)
	default:
		address = Serve(t, func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-r.Context().Done():
			case <-t.Context().Done():
			}
		})
		short, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
		defer cancel()
		ctx = short
	}
	return l.Call(ctx, address)
}

// Serve returns the address of an HTTP service.
func Serve(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(handler)
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return s.URL
}

// Closed returns an address on which nobody listens.
func Closed(t *testing.T) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	return l.Addr().String()
}

// Listen returns the address of a service that does one thing with each connection.
func Listen(t *testing.T, handle func(net.Conn)) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = conn.Close() }()
				handle(conn)
			}()
		}
	}()
	return l.Addr().String()
}

// To returns a client whose requests go to the address, whatever host they name, for
// libraries that have the address of their service built in.
func To(address string) *http.Client {
	u, err := url.Parse(address)
	if err != nil {
		panic(err)
	}
	return &http.Client{Transport: redirecting{u}}
}

type redirecting struct{ to *url.URL }

func (r redirecting) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.URL.Scheme, req.URL.Host = r.to.Scheme, r.to.Host
	return http.DefaultTransport.RoundTrip(req)
}

// Check compares what is told of an error, alone, wrapped and joined, and reports
// whether it is right.
func Check(t *testing.T, err error, want Told) bool {
	t.Helper()
	require.Error(t, err)
	for how, err := range map[string]error{
		"alone":   err,
		"wrapped": fmt.Errorf("outer: %w", fmt.Errorf("inner: %w", err)),
		"joined":  fmt.Errorf("%w: %w", errors.New("sentinel"), err),
	} {
		public, hint := middleware.Classify(err), middleware.HintOf(err)
		got := Told{public.Kind(), hint.Retry, hint.After.Round(time.Second), public.Party()}
		if want.Kind == fault.KindTimeout && want.Party == "" {
			got.Party = "" // of a deadline the context's own error does not tell
		}
		require.Equal(t, want, got, "%s: %T %v\n%s", how, err, err, Chain(err))
		require.Empty(t, hint.Effect, "an error proves what it is, never what became of the call")
		require.NotContains(t, public.Error(), harness.Canary)
		require.NotContains(t, hint.Reason, harness.Canary)
		checkWords(t, err)
	}
	return true
}

// checkWords checks that whoever runs the server reads each word of an error, in each of its lines, and what the
// service said once, whether the library keeps it in the error's text or apart.
func checkWords(t *testing.T, err error) {
	t.Helper()
	mw := mask.New(&mask.Options{Reader: mask.Operator, Logger: slog.New(slog.DiscardHandler)})
	res, failed := mw(func(context.Context, string, mcp.Request) (mcp.Result, error) { return nil, err })(
		t.Context(), "tools/call", &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "it"}})
	require.NoError(t, failed)
	block, _ := res.(*mcp.CallToolResult).Content[0].(*mcp.TextContent)
	require.NotNil(t, block)
	text := block.Text
	said := strings.Split(strings.TrimSpace(err.Error()), "\n")
	for i, line := range said {
		if i > 0 && line != "" {
			line = "\n> " + line
		}
		require.Contains(t, text, strings.TrimPrefix(line, "ERROR: "), "%v", err)
	}
	require.LessOrEqual(t, strings.Count(text, harness.Canary), max(1, strings.Count(err.Error(), harness.Canary)), "%s", text)
}

// Chain returns the types in an error, for the reader of a failed test.
func Chain(err error) string {
	var b strings.Builder
	for err != nil {
		fmt.Fprintf(&b, "%T %+v\n", err, err)
		if joined, ok := err.(interface{ Unwrap() []error }); ok {
			for _, e := range joined.Unwrap() {
				b.WriteString("- " + strings.ReplaceAll(Chain(e), "\n", "\n  ") + "\n")
			}
		}
		err = errors.Unwrap(err)
	}
	return b.String()
}

var update = flag.Bool("update", false, "write the tables of docs/libraries.md")

// A Table collects what the tests of a package saw. It may be used concurrently.
type Table struct {
	section string
	mu      sync.Mutex
	rows    map[string]map[string][]string // library, told, cases
}

// NewTable returns the table of a section of docs/libraries.md.
func NewTable(section string) *Table {
	return &Table{section: section, rows: map[string]map[string][]string{}}
}

// Add notes what is told of a case of a library.
func (b *Table) Add(library, name string, told Told) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.rows[library] == nil {
		b.rows[library] = map[string][]string{}
	}
	b.rows[library][told.String()] = append(b.rows[library][told.String()], name)
}

// Compare compares the section of docs/libraries.md with what was seen, or writes it with
// the flag -update.
func (b *Table) Compare(t *testing.T) {
	t.Helper()
	if t.Failed() {
		return // what was seen is not all that there is
	}
	const file = "../../../docs/libraries.md"
	have, err := os.ReadFile(file)
	require.NoError(t, err)
	open, end := []byte("<!-- "+b.section+" -->\n"), []byte("<!-- end of "+b.section+" -->\n")
	before, rest, ok := bytes.Cut(have, open)
	require.True(t, ok, "docs/libraries.md has no section %s", b.section)
	was, after, ok := bytes.Cut(rest, end)
	require.True(t, ok, "docs/libraries.md has no end of section %s", b.section)
	now := b.markdown()
	if *update {
		require.NoError(t, os.WriteFile(file, slices.Concat(before, open, []byte(now), end, after), 0o644)) //nolint:gosec // a document
		return
	}
	require.Equal(t, now, string(was), "docs/libraries.md is out of date: run this test alone and whole with -update")
}

// markdown writes a row for each library: the number of cases, and those that are told
// otherwise than the standard ones.
func (b *Table) markdown() string {
	standard := map[string]string{}
	for _, c := range Cases {
		standard[c.Name] = c.Want.String()
	}
	names := slices.SortedFunc(maps.Keys(b.rows), func(a, b string) int { return strings.Compare(strings.ToLower(a), strings.ToLower(b)) })
	var text strings.Builder
	text.WriteString("\n| library | cases | told as the standard rows | told otherwise |\n| --- | --- | --- | --- |\n")
	for _, name := range names {
		var same, others []string
		cases := 0
		for told, of := range b.rows[name] {
			cases += len(of)
			var rest []string
			for _, c := range of {
				if standard[c] == told {
					same = append(same, c)
				} else {
					rest = append(rest, c)
				}
			}
			if len(rest) > 0 {
				slices.Sort(rest)
				others = append(others, strings.Join(rest, ", ")+": "+told)
			}
		}
		slices.Sort(same)
		slices.Sort(others)
		if len(same) == len(Cases) {
			same = []string{"all"}
		}
		fmt.Fprintf(&text, "| %s | %d | %s | %s |\n", name, cases, strings.Join(same, ", "), strings.Join(others, "; "))
	}
	text.WriteString("\n")
	return text.String()
}
