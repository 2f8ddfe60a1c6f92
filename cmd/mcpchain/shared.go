package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	goredis "github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	mcpotel "github.com/mcpchain/mcpchain/contrib/otel"
	mcpredis "github.com/mcpchain/mcpchain/contrib/redis"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/config"
)

// openRedis returns the store that many of these programs share. A Redis that is away is not an error: what
// needs it fails until it is there.
func openRedis(address string, logger *slog.Logger) (shared config.Store, end func(), err error) {
	opts, err := goredis.ParseURL(address)
	if err != nil {
		return nil, nil, errors.New("redis: the URL cannot be read") // its password must not be repeated
	}
	opts.ContextTimeoutEnabled, opts.DialerRetries = true, 1
	mcpredis.SetLogger(logger)
	client := goredis.NewClient(opts)
	return mcpredis.New(client, nil), func() { _ = client.Close() }, nil
}

// lastSpans bounds how long the end of the program waits for a Collector.
const lastSpans = 5 * time.Second

// export returns what traces and measures calls. The variables OTEL_* say where it is sent and under which
// name. A Collector that is away holds no call up.
func export(ctx context.Context, c *config.Config, logger *slog.Logger) (tracing mcp.Middleware, end func(), err error) {
	spans, e1 := otlptracehttp.New(ctx)
	measurements, e2 := otlpmetrichttp.New(ctx)
	host, e3 := os.Hostname()
	name := "mcpchain"
	if len(c.Command) > 0 {
		name = filepath.Base(c.Command[0])
	}
	about, e4 := resource.New(ctx, resource.WithAttributes(
		attribute.String("service.name", cmp.Or(os.Getenv("OTEL_SERVICE_NAME"), name)),
		attribute.String("service.instance.id", fmt.Sprintf("%s-%d", host, os.Getpid())), // measurements of two are two
	), resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err := errors.Join(e1, e2, e3, e4); err != nil {
		return nil, nil, fmt.Errorf("otel: %w", err)
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { // what could not be sent
		logger.WarnContext(ctx, "opentelemetry", slog.String("error", err.Error()))
	}))
	traces := sdktrace.NewTracerProvider(sdktrace.WithBatcher(spans), sdktrace.WithResource(about))
	meters := sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewPeriodicReader(measurements)), sdkmetric.WithResource(about))
	end = func() {
		ctx, cancel := context.WithTimeout(context.Background(), lastSpans)
		defer cancel()
		if err := errors.Join(traces.Shutdown(ctx), meters.Shutdown(ctx)); err != nil {
			logger.WarnContext(ctx, "opentelemetry", slog.String("error", err.Error()))
		}
	}
	return mcpotel.New(&mcpotel.Options{TracerProvider: traces, MeterProvider: meters}), end, nil
}
