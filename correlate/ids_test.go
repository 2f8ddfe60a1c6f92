package correlate_test

import (
	"context"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/correlate"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/middleware"
)

const (
	traceID = "4bf92f3577b34da6a3ce929d0e0e4736"
	parent  = "00-" + traceID + "-00f067aa0ba902b7-01"
)

var trace, requestID = correlate.FromRequest("traceparent"), correlate.FromRequest("X-Request-ID")

// request is one that came with a header and a _meta.
func request(header http.Header, meta mcp.Meta) *mcp.CallToolRequest {
	return &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "t", Meta: meta}, Extra: &mcp.RequestExtra{Header: header}}
}

func TestSources(t *testing.T) {
	header := func(key, value string) *mcp.CallToolRequest {
		return request(http.Header{http.CanonicalHeaderKey(key): {value}}, nil)
	}
	meta := func(key string, value any) *mcp.CallToolRequest { return request(nil, mcp.Meta{key: value}) }
	for _, c := range []struct {
		name   string
		source correlate.Source
		req    mcp.Request
		want   string
	}{
		{"traceparent in _meta", trace, meta("traceparent", parent), traceID},
		{"traceparent in the header", trace, header("traceparent", parent), traceID},
		{"_meta before the header", trace, request(http.Header{"Traceparent": {parent}}, mcp.Meta{"traceparent": strings.ReplaceAll(parent, "4bf9", "1234")}), "1234" + traceID[4:]},
		{"a later version", trace, meta("traceparent", "cc"+parent[2:]+"-what-comes-later"), traceID},
		{"more fields than the version has", trace, meta("traceparent", parent+"-x"), ""},
		{"the version that is none", trace, meta("traceparent", "ff"+parent[2:]), ""},
		{"upper case", trace, meta("traceparent", strings.ToUpper(parent)), ""},
		{"no trace", trace, meta("traceparent", "00-"+strings.Repeat("0", 32)+"-00f067aa0ba902b7-01"), ""},
		{"no span", trace, meta("traceparent", "00-"+traceID+"-0000000000000000-01"), ""},
		{"too short", trace, meta("traceparent", parent[:54]), ""},
		{"too long", trace, meta("traceparent", "01"+parent[2:]+"-"+strings.Repeat("x", 1<<20)), ""},
		{"not hex", trace, meta("traceparent", strings.Replace(parent, "4b", "zz", 1)), ""},
		{"not a text", trace, meta("traceparent", 7), ""},
		{"request ID", requestID, header("X-Request-ID", "r-1/2:3_4.5=6+7@8"), "r-1/2:3_4.5=6+7@8"},
		{"a line in it", requestID, header("X-Request-ID", "r-1\nlevel=ERROR"), ""},
		{"a blank", requestID, header("X-Request-ID", "r 1"), ""},
		{"a quote", requestID, header("X-Request-ID", `r"1`), ""},
		{"a letter beyond ASCII", requestID, header("X-Request-ID", "rä1"), ""},
		{"as long as it may be", requestID, header("X-Request-ID", strings.Repeat("a", 128)), strings.Repeat("a", 128)},
		{"longer", requestID, header("X-Request-ID", strings.Repeat("a", 129)), ""},
		{"a key in _meta", correlate.FromRequest("com.example/id"), meta("com.example/id", "m-1"), "m-1"},
		{"another key", correlate.FromRequest("com.example/id"), meta("com.example/ID", "m-1"), ""},
		{"a number", correlate.FromRequest("com.example/id"), meta("com.example/id", 1.0), ""},
		{"the first that has one", correlate.FromRequest("traceparent", "X-Request-ID"), header("X-Request-ID", "r-1"), "r-1"},
		{"the first of two", correlate.FromRequest("X-Request-ID", "traceparent"), request(http.Header{"X-Request-Id": {"r-1"}}, mcp.Meta{"traceparent": parent}), "r-1"},
		{"one that is not valid is passed over", correlate.FromRequest("k", "X-Request-ID"), request(http.Header{"X-Request-Id": {"r-1"}}, mcp.Meta{"k": "a b"}), "r-1"},
		{"a header after a _meta that is not valid", correlate.FromRequest("traceparent"), request(http.Header{"Traceparent": {parent}}, mcp.Meta{"traceparent": "x"}), traceID},
		{"no request", correlate.FromRequest("traceparent", "X-Request-ID", "k"), (*mcp.CallToolRequest)(nil), ""},
		{"no parameters", correlate.FromRequest("traceparent", "X-Request-ID", "k"), &mcp.CallToolRequest{}, ""},
	} {
		require.Equal(t, c.want, c.source(t.Context(), c.req), c.name)
	}
}

func TestSourcesThatMakeNoSense(t *testing.T) {
	for _, names := range [][]string{nil, {"a", ""}} {
		require.PanicsWithValue(t, `correlate.FromRequest: a name is missing or empty; give those under which IDs stand, such as "traceparent"`, func() { correlate.FromRequest(names...) })
	}
	require.PanicsWithValue(t, `correlate.Extend: source is nil; give one, such as correlate.FromRequest("traceparent")`, func() { correlate.Extend(nil) })
}

// TestNobodyForgesAReference proves that a caller that sends the ID of somebody else's call
// gets a reference of its own, and that what is no ID never stands in the log.
func TestNobodyForgesAReference(t *testing.T) {
	log := harness.NewLog(slog.LevelInfo)
	options := &correlate.Options{Logger: log.Logger(), NewID: correlate.Extend(requestID), Advanced: correlate.Advanced{CallerID: requestID}}
	fail := func(id string) harness.Record {
		before := len(log.Records())
		_, _ = correlate.New(options)(func(context.Context, string, mcp.Request) (mcp.Result, error) { return nil, errSecret })(
			t.Context(), middleware.MethodCallTool, request(http.Header{"X-Request-Id": {id}}, nil))
		records := log.Records()
		require.Len(t, records, before+1)
		return records[before]
	}
	own := regexp.MustCompile(`^r-1-[0-9a-f]{12}$`)
	first, second := fail("r-1"), fail("r-1")
	require.Regexp(t, own, first["reference"])
	require.Regexp(t, own, second["reference"])
	require.NotEqual(t, first["reference"], second["reference"])
	require.Equal(t, "r-1", first["caller_id"])
	forged := fail(first["reference"].(string))
	require.NotEqual(t, first["reference"], forged["reference"])
	for _, id := range []string{"a\nlevel=ERROR msg=forged", "a b", strings.Repeat("a", 1<<16), "\u202e", `","reference":"x`, ""} {
		r := fail(id)
		require.NoError(t, uuid.Validate(r["reference"].(string)), id)
		require.NotContains(t, r, "caller_id")
	}
	require.LessOrEqual(t, len(fail(strings.Repeat("a", 128))["reference"].(string)), 128)
}

// TestNewIDSeesTheRequest also proves that what it returns is checked as what a caller
// sends is, and that it may ask for the ID of the call that is not there yet.
func TestNewIDSeesTheRequest(t *testing.T) {
	for id, taken := range map[string]bool{"plain-1": true, "with a blank": false, "a\nline": false, strings.Repeat("a", 129): false} {
		log := harness.NewLog(slog.LevelInfo)
		type key struct{}
		mw := correlate.New(&correlate.Options{Logger: log.Logger(), NewID: func(ctx context.Context, req mcp.Request) string {
			require.Equal(t, "t", middleware.Target(req))
			require.Equal(t, "value", ctx.Value(key{}))
			require.Empty(t, correlate.ID(ctx))
			return id
		}})
		_, _ = mw(func(context.Context, string, mcp.Request) (mcp.Result, error) { return nil, errSecret })(
			context.WithValue(t.Context(), key{}, "value"), middleware.MethodCallTool, request(nil, nil))
		require.Equal(t, taken, log.Only(t)["reference"] == id, id)
	}
}

func FuzzTraceParent(f *testing.F) {
	f.Add(parent)
	f.Add("01" + parent[2:] + "-x")
	f.Fuzz(func(t *testing.T, text string) {
		id := trace(t.Context(), request(nil, mcp.Meta{"traceparent": text}))
		if id != "" {
			require.Regexp(t, `^[0-9a-f]{32}$`, id)
			require.Contains(t, text, "-"+id+"-")
		}
	})
}
