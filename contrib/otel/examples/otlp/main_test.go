package main

import (
	"bufio"
	"bytes"
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
			checkArrived(t, c, reference)
			checkPrivate(t, c, stderr)
		})
	}
}

// checkArrived requires that each call has its span, its measurement and its record. What they say is tested in
// package otel.
func checkArrived(t *testing.T, c *collector, reference string) {
	t.Helper()
	spans, points, records := arrived(t, c)
	for _, tool := range []string{"now", "history", "storms", "forecast"} {
		require.Contains(t, spans, `"name":"tools/call `+tool+`"`)
		require.Contains(t, points, `"stringValue":"`+tool+`"`)
		require.Contains(t, records, `"stringValue":"`+tool+`"`)
	}
	require.Contains(t, points, `"stringValue":"_other"`)
	require.Contains(t, points, `"exemplars":[{`)
	require.NotContains(t, points, "mcpchain.reference")
	require.Contains(t, spans, `"links":[{"traceId":"`+callersTrace, "the context of a caller that nobody trusts is linked")
	require.Contains(t, spans, reference)
	require.Contains(t, records, reference)
	require.Contains(t, records, "traceId")
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
