package main

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/provider/yamlprovider"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/otelcol"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/service/telemetry"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
)

// collectorConfig is that of a Collector which passes on what it is sent, to an exporter of
// the test's.
const collectorConfig = `yaml:
receivers:
  otlp:
    protocols:
      grpc: {endpoint: 127.0.0.1:0}
      http: {endpoint: 127.0.0.1:0}
exporters:
  keep: {}
service:
  pipelines:
    traces: {receivers: [otlp], exporters: [keep]}
    metrics: {receivers: [otlp], exporters: [keep]}
    logs: {receivers: [otlp], exporters: [keep]}
`

// A collector is an OpenTelemetry Collector that keeps what arrives.
type collector struct {
	endpoints map[string]string // by protocol

	mu      sync.Mutex
	traces  []ptrace.Traces
	metrics []pmetric.Metrics
	logs    []plog.Logs
}

// startCollector runs a Collector until the test ends.
func startCollector(t *testing.T) *collector {
	t.Helper()
	c := &collector{}
	core, said := observer.New(zapcore.InfoLevel)
	col, err := otelcol.NewCollector(otelcol.CollectorSettings{
		BuildInfo:               component.NewDefaultBuildInfo(),
		Factories:               func() (otelcol.Factories, error) { return c.factories(core) },
		DisableGracefulShutdown: true, // signals are the test's
		ConfigProviderSettings: otelcol.ConfigProviderSettings{ResolverSettings: confmap.ResolverSettings{
			URIs: []string{collectorConfig}, ProviderFactories: []confmap.ProviderFactory{yamlprovider.NewFactory()},
		}},
	})
	require.NoError(t, err)
	ended := make(chan error, 1)
	go func() { ended <- col.Run(context.WithoutCancel(t.Context())) }()
	t.Cleanup(func() {
		col.Shutdown()
		require.NoError(t, <-ended)
	})
	require.Eventually(t, func() bool { return col.GetState() == otelcol.StateRunning }, time.Minute, time.Millisecond,
		"%v", said.All())
	c.endpoints = map[string]string{
		"grpc":          "http://" + listensAt(t, said, "Starting GRPC server"),
		"http/protobuf": "http://" + listensAt(t, said, "Starting HTTP server"),
	}
	return c
}

// listensAt returns where a server of the Collector's listens, as its log says.
func listensAt(t *testing.T, said *observer.ObservedLogs, message string) string {
	t.Helper()
	all := said.FilterMessage(message).All()
	require.Len(t, all, 1, "%v", said.All())
	return fmt.Sprint(all[0].ContextMap()["endpoint"])
}

// factories make the parts of the Collector: its receiver of OTLP, the exporter of the
// test's and its own log.
func (c *collector) factories(core zapcore.Core) (otelcol.Factories, error) {
	type lifecycle struct {
		component.StartFunc
		component.ShutdownFunc
	}
	keep := exporter.NewFactory(component.MustNewType("keep"), func() component.Config { return &struct{}{} },
		exporter.WithTraces(func(context.Context, exporter.Settings, component.Config) (exporter.Traces, error) {
			sink, err := consumer.NewTraces(func(_ context.Context, all ptrace.Traces) error {
				c.mu.Lock()
				defer c.mu.Unlock()
				c.traces = append(c.traces, all)
				return nil
			})
			return struct {
				lifecycle
				consumer.Traces
			}{Traces: sink}, err
		}, component.StabilityLevelStable),
		exporter.WithMetrics(func(context.Context, exporter.Settings, component.Config) (exporter.Metrics, error) {
			sink, err := consumer.NewMetrics(func(_ context.Context, all pmetric.Metrics) error {
				c.mu.Lock()
				defer c.mu.Unlock()
				c.metrics = append(c.metrics, all)
				return nil
			})
			return struct {
				lifecycle
				consumer.Metrics
			}{Metrics: sink}, err
		}, component.StabilityLevelStable),
		exporter.WithLogs(func(context.Context, exporter.Settings, component.Config) (exporter.Logs, error) {
			sink, err := consumer.NewLogs(func(_ context.Context, all plog.Logs) error {
				c.mu.Lock()
				defer c.mu.Unlock()
				c.logs = append(c.logs, all)
				return nil
			})
			return struct {
				lifecycle
				consumer.Logs
			}{Logs: sink}, err
		}, component.StabilityLevelStable),
	)
	otlp := otlpreceiver.NewFactory()
	return otelcol.Factories{
		Receivers: map[component.Type]receiver.Factory{otlp.Type(): otlp},
		Exporters: map[component.Type]exporter.Factory{keep.Type(): keep},
		Telemetry: telemetry.NewFactory(func() component.Config { return &struct{}{} },
			telemetry.WithCreateLogger(func(context.Context, telemetry.LoggerSettings, component.Config) (*zap.Logger, component.ShutdownFunc, error) {
				return zap.New(core), nil, nil
			})),
	}, nil
}
