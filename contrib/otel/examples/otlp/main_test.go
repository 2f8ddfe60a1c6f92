package main

import (
	"bufio"
	"bytes"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/mcpchain/mcpchain/mcptest"
	"github.com/mcpchain/mcpchain/middleware"
)

// programEnv makes the binary of this test the program.
const programEnv = "OTLP_TEST_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(programEnv) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// program is the command of the program, with variables of its own.
func program(t *testing.T, args, env []string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(exe, args...)
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "OTEL_") }), programEnv+"=1")
	cmd.Env = append(cmd.Env, env...)
	return cmd
}

// The context of a caller's trace, which nobody asked to trust.
const (
	callersTrace  = "4bf92f3577b34da6a3ce929d0e0e4736"
	callersParent = "00-" + callersTrace + "-00f067aa0ba902b7-01"
)

// call makes one call of each sort. It returns the reference of the one that met a bug.
func call(t *testing.T, session *mcp.ClientSession) (reference string) {
	t.Helper()
	for _, c := range []struct {
		tool string
		meta mcp.Meta
		fail bool
	}{
		{tool: "now", meta: mcp.Meta{"traceparent": callersParent}},
		{tool: "history", fail: true},
		{tool: "storms", fail: true},
		{tool: "forecast"},
		{tool: "made-up", fail: true},
	} {
		told, failed := middleware.FaultOf(session.CallTool(t.Context(), &mcp.CallToolParams{
			Meta: c.meta, Name: c.tool, Arguments: map[string]any{"city": private},
		}))
		require.Equal(t, c.fail, failed, c.tool)
		if c.tool == "storms" {
			reference = told.Reference()
		}
	}
	require.NotEmpty(t, reference)
	return reference
}

// private is an argument of each call.
const private = "the-callers-own-town"

// overStdio plays the calls against the program over stdio, until it has ended.
func overStdio(t *testing.T, era string, env ...string) (reference, log string) {
	t.Helper()
	var stderr bytes.Buffer // read when the program has ended
	t.Run("program", func(t *testing.T) {
		cmd := program(t, nil, env)
		cmd.Stderr = &stderr
		reference = call(t, mcptest.Run(t, cmd, &mcptest.Options{Version: era}).ClientSession)
	})
	require.NotEmpty(t, reference)
	return reference, stderr.String()
}

// overHTTP plays the calls against the program over HTTP, and asks it to end.
func overHTTP(t *testing.T, era string, env ...string) (reference, log string) {
	t.Helper()
	cmd := program(t, []string{"-http", "127.0.0.1:0"}, env)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	end := sync.OnceValue(func() error {
		_ = cmd.Process.Signal(os.Interrupt)
		time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
		return cmd.Wait()
	})
	t.Cleanup(func() { _ = end() })
	address, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	session, err := mcp.NewClient(&mcp.Implementation{Name: "client"}, nil).Connect(t.Context(),
		&mcp.StreamableClientTransport{Endpoint: strings.TrimSpace(address)}, &mcp.ClientSessionOptions{ProtocolVersion: era})
	require.NoError(t, err)
	reference = call(t, session)
	_ = session.Close()
	require.NoError(t, end(), "%s", &stderr)
	return reference, stderr.String()
}

// TestCollector sends what a real server tells of its calls to a real Collector, and looks
// at what arrived there.
func TestCollector(t *testing.T) {
	for _, run := range []struct {
		protocol, era string
		play          func(t *testing.T, era string, env ...string) (reference, log string)
	}{
		{"grpc", mcptest.Current, overStdio},
		{"http/protobuf", mcptest.Older, overStdio},
		{"grpc", mcptest.Older, overHTTP}, // with sessions, without which the newer one is spoken
	} {
		t.Run(run.protocol+"/"+run.era, func(t *testing.T) {
			c := startCollector(t)
			reference, stderr := run.play(t, run.era, "OTEL_EXPORTER_OTLP_ENDPOINT="+c.endpoints[run.protocol], "OTEL_EXPORTER_OTLP_PROTOCOL="+run.protocol)
			c.mu.Lock()
			defer c.mu.Unlock()
			spans := spansOf(c.traces)
			checkSpans(t, spans, run.era, reference)
			checkMetrics(t, pointsOf(t, c.metrics), spans)
			checkLogs(t, recordsOf(c.logs), spans, reference)
			checkPrivate(t, c, stderr)
		})
	}
}

// A span is one that arrived.
type span struct {
	ptrace.Span

	scope, service string
	attrs          map[string]any
}

// spansOf returns the spans of calls of tools, by their names, the first ones first.
func spansOf(all []ptrace.Traces) map[string][]span {
	found := map[string][]span{}
	for _, traces := range all {
		for _, of := range traces.ResourceSpans().All() {
			service, _ := of.Resource().Attributes().Get("service.name")
			for _, in := range of.ScopeSpans().All() {
				for _, s := range in.Spans().All() {
					if strings.HasPrefix(s.Name(), "tools/call") {
						found[s.Name()] = append(found[s.Name()], span{s, in.Scope().Name(), service.Str(), s.Attributes().AsRaw()})
					}
				}
			}
		}
	}
	for _, same := range found {
		slices.SortFunc(same, func(a, b span) int { return int(a.StartTimestamp()) - int(b.StartTimestamp()) })
	}
	return found
}

func checkSpans(t *testing.T, spans map[string][]span, era, reference string) {
	t.Helper()
	const now, history, storms, forecast, unknown = "tools/call now", "tools/call history", "tools/call storms", "tools/call forecast", "tools/call"
	require.ElementsMatch(t, []string{now, history, storms, forecast, unknown}, slices.Collect(maps.Keys(spans)))
	for name, want := range map[string]map[string]any{
		now:     {"gen_ai.tool.name": "now"},
		history: {"gen_ai.tool.name": "history", "error.type": "tool_error", "mcpchain.kind": "permission_denied", "mcpchain.party": "caller"},
		storms: {
			"gen_ai.tool.name": "storms", "error.type": "tool_error", "mcpchain.kind": "internal_error", "mcpchain.party": "server",
			"mcpchain.reference": reference,
		},
		forecast: {"gen_ai.tool.name": "forecast", "mcpchain.attempts": int64(2)},
		unknown:  {"gen_ai.tool.name": "made-up", "rpc.response.status_code": "-32602"},
	} {
		got := spans[name][0]
		require.Equal(t, "weather", got.service)
		require.Equal(t, "github.com/mcpchain/mcpchain/contrib/otel", got.scope)
		require.Equal(t, ptrace.SpanKindServer, got.Kind())
		require.True(t, got.ParentSpanID().IsEmpty())
		require.Greater(t, got.EndTimestamp(), got.StartTimestamp())
		want["mcp.method.name"], want["gen_ai.operation.name"] = "tools/call", "execute_tool"
		want["mcp.protocol.version"] = era
		for key, value := range want {
			require.Equal(t, value, got.attrs[key], "%s: %s", name, key)
		}
		if _, ok := want["error.type"]; !ok {
			require.NotContains(t, got.attrs, "error.type", name)
		}

		// A caller's mistake is no error of the server's.
		if name == storms {
			require.Equal(t, ptrace.StatusCodeError, got.Status().Code())
			require.Equal(t, "the server failed unexpectedly", got.Status().Message())
		} else {
			require.Equal(t, ptrace.StatusCodeUnset, got.Status().Code(), name)
		}
	}

	// The context of a caller that nobody trusts is linked.
	links := spans[now][0].Links()
	require.Equal(t, 1, links.Len())
	require.Equal(t, callersTrace, links.At(0).TraceID().String())
	require.NotEqual(t, callersTrace, spans[now][0].TraceID().String())

	// Two attempts below the call; the second is linked to the first, which failed.
	attempts := spans[forecast]
	require.Len(t, attempts, 3)
	for i, attempt := range attempts[1:] {
		require.Equal(t, attempts[0].SpanID(), attempt.ParentSpanID())
		require.Equal(t, ptrace.SpanKindInternal, attempt.Kind())
		require.EqualValues(t, i+1, attempt.attrs["mcpchain.attempt"])
	}
	require.Equal(t, ptrace.StatusCodeError, attempts[1].Status().Code())
	require.Equal(t, "service_unavailable", attempts[1].attrs["mcpchain.kind"])
	require.Equal(t, 1, attempts[2].Links().Len())
	require.Equal(t, attempts[1].SpanID(), attempts[2].Links().At(0).SpanID())
	require.Equal(t, ptrace.StatusCodeUnset, attempts[2].Status().Code())
}

// pointsOf returns the last measurements of calls, by tool.
func pointsOf(t *testing.T, all []pmetric.Metrics) map[string]pmetric.HistogramDataPoint {
	t.Helper()
	points := map[string]pmetric.HistogramDataPoint{}
	for _, metrics := range all {
		for _, of := range metrics.ResourceMetrics().All() {
			for _, in := range of.ScopeMetrics().All() {
				for _, m := range in.Metrics().All() {
					require.Equal(t, "mcp.server.operation.duration", m.Name())
					require.Equal(t, "s", m.Unit())
					for _, p := range m.Histogram().DataPoints().All() {
						if tool, ok := p.Attributes().Get("gen_ai.tool.name"); ok {
							points[tool.Str()] = p
						}
					}
				}
			}
		}
	}
	return points
}

func checkMetrics(t *testing.T, points map[string]pmetric.HistogramDataPoint, spans map[string][]span) {
	t.Helper()
	require.ElementsMatch(t, []string{"now", "history", "storms", "forecast", "_other"}, slices.Collect(maps.Keys(points)))
	for tool, p := range points {
		require.EqualValues(t, 1, p.Count(), tool)
		attrs := p.Attributes().AsRaw()
		require.NotContains(t, attrs, "mcpchain.reference")
		require.NotContains(t, attrs, "mcp.session.id")
		require.Equal(t, "tools/call", attrs["mcp.method.name"])

		// The exemplar leads to the span of the call, and that to the reference.
		name := "tools/call " + tool
		if tool == "_other" {
			name = "tools/call"
		}
		require.Equal(t, 1, p.Exemplars().Len(), tool)
		require.Equal(t, spans[name][0].SpanID(), p.Exemplars().At(0).SpanID(), tool)
		require.Equal(t, spans[name][0].TraceID(), p.Exemplars().At(0).TraceID(), tool)
	}
	failed := points["storms"].Attributes().AsRaw()
	require.Equal(t, "tool_error", failed["error.type"])
	require.Equal(t, "server", failed["mcpchain.party"])
}

// A record is one of the log that arrived.
type record struct {
	plog.LogRecord

	attrs map[string]any
}

// recordsOf returns the records of calls of tools, by tool.
func recordsOf(all []plog.Logs) map[string]record {
	records := map[string]record{}
	for _, logs := range all {
		for _, of := range logs.ResourceLogs().All() {
			for _, in := range of.ScopeLogs().All() {
				for _, r := range in.LogRecords().All() {
					if tool, ok := r.Attributes().Get("tool"); ok && r.Body().Str() == "mcp call" {
						records[tool.Str()] = record{r, r.Attributes().AsRaw()}
					}
				}
			}
		}
	}
	return records
}

func checkLogs(t *testing.T, records map[string]record, spans map[string][]span, reference string) {
	t.Helper()
	require.ElementsMatch(t, []string{"now", "history", "storms", "forecast", "made-up"}, slices.Collect(maps.Keys(records)))
	for tool, want := range map[string]struct {
		severity plog.SeverityNumber
		outcome  string
	}{
		"now":      {plog.SeverityNumberDebug, "ok"},
		"history":  {plog.SeverityNumberInfo, "denied"},
		"storms":   {plog.SeverityNumberError, "internal_error"},
		"forecast": {plog.SeverityNumberDebug, "ok"},
		"made-up":  {plog.SeverityNumberInfo, "protocol_error"},
	} {
		got := records[tool]
		require.Equal(t, want.severity, got.SeverityNumber(), tool)
		require.Equal(t, want.outcome, got.attrs["outcome"], tool)
		name := "tools/call " + tool
		if tool == "made-up" {
			name = "tools/call"
		}
		require.Equal(t, spans[name][0].TraceID(), got.TraceID(), tool)
		require.Equal(t, spans[name][0].SpanID(), got.SpanID(), tool)
	}
	require.Equal(t, reference, records["storms"].attrs["reference"])
	require.Contains(t, records["storms"].attrs["error"], `pq: relation "storms" does not exist at `)
}

// checkPrivate looks for what is private in all that arrived, and in the server's own log.
func checkPrivate(t *testing.T, c *collector, stderr string) {
	t.Helper()
	spans, points, records := arrived(t, c)
	for _, left := range []string{spans, points} {
		for _, word := range []string{private, "hunter2", "10.0.0.7", "pq:"} {
			require.NotContains(t, left, word)
		}
	}
	require.NotContains(t, records, "hunter2", "the log of the Collector has the error without the credential")
	require.NotContains(t, records, private)
	require.Contains(t, records, "pq: ")
	require.Contains(t, stderr, "postgres://app:hunter2@10.0.0.7", "the server's own log has the whole error")
}

// arrived is all that arrived, as JSON.
func arrived(t *testing.T, c *collector) (spans, points, records string) {
	t.Helper()
	for _, all := range c.traces {
		text, err := (&ptrace.JSONMarshaler{}).MarshalTraces(all)
		require.NoError(t, err)
		spans += string(text)
	}
	for _, all := range c.metrics {
		text, err := (&pmetric.JSONMarshaler{}).MarshalMetrics(all)
		require.NoError(t, err)
		points += string(text)
	}
	for _, all := range c.logs {
		text, err := (&plog.JSONMarshaler{}).MarshalLogs(all)
		require.NoError(t, err)
		records += string(text)
	}
	return spans, points, records
}

// TestWithoutCollector holds that calls are answered and recorded when nobody listens.
func TestWithoutCollector(t *testing.T) {
	reference, stderr := overStdio(t, mcptest.Current, "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1")
	require.Contains(t, stderr, reference, "the record")
	require.Contains(t, stderr, "connection refused", "what could not be sent")
}
