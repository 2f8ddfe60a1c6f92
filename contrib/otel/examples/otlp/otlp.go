package main

import (
	"context"
	"errors"
	"log"
	"os"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploggrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploghttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// exporting is what a program needs to send by OTLP.
type exporting struct {
	traces *sdktrace.TracerProvider
	meters *sdkmetric.MeterProvider
	logs   *sdklog.LoggerProvider
}

// export sends to the Collector that the variables OTEL_EXPORTER_OTLP_* name, over HTTP, or
// over gRPC if they say so. A Collector that is away holds no call up.
func export(ctx context.Context) (*exporting, error) {
	var (
		spans        sdktrace.SpanExporter
		measurements sdkmetric.Exporter
		records      sdklog.Exporter
		failed       [4]error
	)
	if os.Getenv("OTEL_EXPORTER_OTLP_PROTOCOL") == "grpc" {
		spans, failed[0] = otlptracegrpc.New(ctx)
		measurements, failed[1] = otlpmetricgrpc.New(ctx)
		records, failed[2] = otlploggrpc.New(ctx)
	} else {
		spans, failed[0] = otlptracehttp.New(ctx)
		measurements, failed[1] = otlpmetrichttp.New(ctx)
		records, failed[2] = otlploghttp.New(ctx)
	}
	about, err := resource.New(ctx, resource.WithAttributes(attribute.String("service.name", "weather")),
		resource.WithTelemetrySDK(), resource.WithFromEnv())
	failed[3] = err
	if err := errors.Join(failed[:]...); err != nil {
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
		log.Print("not everything was sent: ", err)
	}
}
