// Production is one of several equal servers behind a load balancer: bearer tokens, limits and
// idempotency keys that all of them share in a Redis, deadlines, an audit, an end that loses no call, a
// log in JSON, and OpenTelemetry to a Collector. HTTP is in http.go, OTLP and the log in otlp.go, the tools in billing.go.
//
//	go run . -story               # in this directory: two of them, and what each failure looks like
//	go run . -http 127.0.0.1:8080 # one, to try it: what the variables below do not name stands in
//	docker compose up --build     # two, with a Redis, a Collector and a load balancer
//
// Copied without story.go it needs all of these, and takes REDIS_PREFIX and the other variables of OTLP, too:
//
//	REDIS_URL    rediss://user:password@redis:6379, which keeps what it acknowledged (docs/stores.md)
//	BILLING_URL  https://name:password@billing.internal, the service behind the tools
//	TOKENS       {"SHA-256 of a token in hex": {"UserID": "ada", "Scopes": ["pay"]}}
//	AUDIT_DIR    a directory of this server alone, with a backup (docs/audit.md)
//	AUDIT_KEY    16 bytes at least, from a secret store
//	OTEL_EXPORTER_OTLP_ENDPOINT  http://collector:4318
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	goredis "github.com/redis/go-redis/v9"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/audit"
	mcpotel "github.com/mcpchain/mcpchain/contrib/otel"
	mcpredis "github.com/mcpchain/mcpchain/contrib/redis"
	"github.com/mcpchain/mcpchain/correlate"
	"github.com/mcpchain/mcpchain/deadline"
	"github.com/mcpchain/mcpchain/drain"
	"github.com/mcpchain/mcpchain/limit"
	"github.com/mcpchain/mcpchain/replay"
)

func main() {
	address := flag.String("http", "127.0.0.1:8080", "serve HTTP on this address")
	longest := flag.Duration("deadline", 20*time.Second, "how long a call may take")
	lag := flag.Duration("lag", 5*time.Second, "how long a load balancer takes to see that readiness has fallen")
	flag.Parse()
	slog.SetDefault(slog.New(slog.NewJSONHandler(os.Stderr, nil)))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *address, *longest, &drain.Drain{Lag: *lag}); err != nil {
		slog.Error("the server ends", "error", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, address string, longest time.Duration, calls *drain.Drain) (err error) {
	for _, name := range []string{"REDIS_URL", "BILLING_URL", "TOKENS", "AUDIT_DIR", "AUDIT_KEY"} {
		if os.Getenv(name) == "" {
			return fmt.Errorf("%s is not set", name)
		}
	}
	var users tokens
	if err := json.Unmarshal([]byte(os.Getenv("TOKENS")), &users); err != nil {
		return fmt.Errorf("TOKENS: %w", err)
	}
	redis, err := goredis.ParseURL(os.Getenv("REDIS_URL"))
	if err != nil {
		return fmt.Errorf("REDIS_URL: %w", err)
	}
	redis.ContextTimeoutEnabled, redis.DialerRetries = true, 1
	client := goredis.NewClient(redis)
	defer client.Close()
	shared := mcpredis.New(client, &mcpredis.Options{Prefix: os.Getenv("REDIS_PREFIX")}) // or mcpchain:

	otlp, err := export(ctx)
	if err != nil {
		return err
	}
	defer otlp.shutdown() // sends what is left
	logger := newLogger(otlp)
	slog.SetDefault(logger) // of what belongs to no call

	dir := os.Getenv("AUDIT_DIR")
	records, err := audit.Open(dir, &audit.FileOptions{Key: []byte(os.Getenv("AUDIT_KEY"))})
	if err != nil {
		return err
	}
	tell := func() { // to where this server can change nothing
		head := records.Head()
		logger.Info("audit", "dir", dir, "seq", head.Seq, "hash", head.Hash)
	}
	defer func() { err = errors.Join(err, records.Close()); tell() }()
	go func() {
		for range time.Tick(time.Minute) {
			tell()
		}
	}()

	replays := &replay.Options{Store: shared, Rerun: func(tool string) bool { return tool == "pay_invoice" }} // which passes the key on
	server := mcp.NewServer(&mcp.Implementation{Name: "billing", Version: "1.0.0"}, nil)
	addTools(server, os.Getenv("BILLING_URL"))
	replay.AddStatusTool(server, replays)
	server.AddReceivingMiddleware(
		mcpotel.New(&mcpotel.Options{TracerProvider: otlp.traces, MeterProvider: otlp.meters}), // outermost
		mcpchain.Standard(&mcpchain.Options{
			Logger:    logger,
			Correlate: &correlate.Options{Slow: 2 * time.Second},
			Audit:     audit.New(&audit.Options{Log: records}),
			Drain:     drain.New(&drain.Options{Drain: calls}),
			Limit: limit.New(&limit.Options{Shared: shared, Limits: []limit.Limit{
				{Scope: limit.PerOwner, Calls: 1200, Running: 8}, // a minute, over all servers; at once, on each
				{Name: "payments", Scope: limit.PerOwner, Tools: []string{"pay_invoice"}, Calls: 5},
				{Scope: limit.ForAll, Running: 64},
			}}),
			Replay:   replay.New(replays),
			Deadline: deadline.New(&deadline.Options{Limit: longest}),
		}))
	return serve(ctx, server, address, users.verify, calls)
}
