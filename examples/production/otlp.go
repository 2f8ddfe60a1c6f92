package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"go.opentelemetry.io/contrib/bridges/otelslog"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploghttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/mcpchain/mcpchain/correlate/sinks"
	"github.com/mcpchain/mcpchain/mask"
)

// exporting is what a program needs to send by OTLP.
type exporting struct {
	traces *sdktrace.TracerProvider
	meters *sdkmetric.MeterProvider
	logs   *sdklog.LoggerProvider
}

// export sends over HTTP to the Collector that the variables OTEL_EXPORTER_OTLP_* name. A
// Collector that is away holds no call up.
func export(ctx context.Context) (*exporting, error) {
	spans, e1 := otlptracehttp.New(ctx)
	measurements, e2 := otlpmetrichttp.New(ctx)
	records, e3 := otlploghttp.New(ctx)
	host, e4 := os.Hostname()
	about, e5 := resource.New(ctx, resource.WithAttributes(
		attribute.String("service.name", "billing"),
		attribute.String("service.instance.id", fmt.Sprintf("%s-%d", host, os.Getpid())), // measurements of two servers are two
	), resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err := errors.Join(e1, e2, e3, e4, e5); err != nil {
		return nil, err
	}
	return &exporting{
		traces: sdktrace.NewTracerProvider(sdktrace.WithBatcher(spans), sdktrace.WithResource(about)),
		meters: sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewPeriodicReader(measurements)), sdkmetric.WithResource(about)),
		logs:   sdklog.NewLoggerProvider(sdklog.WithProcessor(sdklog.NewBatchProcessor(records)), sdklog.WithResource(about)),
	}, nil
}

// shutdown sends what is left, for a few seconds at most.
func (e *exporting) shutdown() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := errors.Join(e.traces.Shutdown(ctx), e.meters.Shutdown(ctx), e.logs.Shutdown(ctx)); err != nil {
		otel.Handle(err)
	}
}

// newLogger writes each record twice: whole to standard error, and without credentials to the
// Collector. One that is stuck holds nothing of the other.
func newLogger(otlp *exporting) *slog.Logger {
	stderr := slog.NewJSONHandler(os.Stderr, nil)
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { // what could not be sent
		slog.New(stderr).Warn("opentelemetry", "error", err)
	}))
	return slog.New(sinks.Fanout(stderr,
		sinks.Pipe(otelslog.NewHandler("billing", otelslog.WithLoggerProvider(otlp.logs)), mask.SlogMiddleware(nil))))
}
