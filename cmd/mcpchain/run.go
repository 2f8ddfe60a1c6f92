package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/audit"
	"github.com/mcpchain/mcpchain/drain"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/config"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/hide"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/proxy"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/remote"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/rpc"
)

func runCommand() command {
	return command{
		name: "run", usage: "[FLAGS] -- COMMAND ...", short: "start a server, or reach one with -to, and stand in front of it",
		run: run, help: runHelp, flags: config.Flags(),
	}
}

func runHelp(w io.Writer) {
	fmt.Fprint(w, `Examples:
  mcpchain run -- npx -y @modelcontextprotocol/server-everything
  mcpchain run -strict -deadline 50s -log mcp.log -- python3 server.py
  mcpchain run -to https://example.com/mcp -header 'Authorization: Bearer ${TOKEN}' -http 127.0.0.1:8080
`)
	config.Help(w)
	fmt.Fprint(w, `
Exit status:
  that of the server; 1 if the server ends with 0 before it says anything; 2 for wrong flags;
  127 if the server cannot be started; 128 and its number after a signal.
  With -http: 0 after a signal; 1 if the address cannot be served, or calls did not end in the time of -drain
`)
}

func configHelp(w io.Writer) {
	fmt.Fprintf(w, "  %-22s %s\n", "-schema", "print the JSON schema of the file, for $schema in it")
	config.Help(w)
}

func configCommand() command {
	return command{
		name: "config", usage: "[FLAGS] [-- COMMAND ...]", short: "print what the flags and the file of run come to",
		run: printConfig, help: configHelp, flags: append(config.Flags(), "schema"),
	}
}

// parsed reads the flags of a command, and says what is wrong with them.
func parsed(name string, args []string, std streams) (*config.Config, int) {
	c, err := config.Parse(args)
	switch {
	case errors.Is(err, config.ErrHelp):
		return nil, execute([]string{"help", name}, std)
	case err != nil:
		fmt.Fprintf(std.err, "mcpchain %s: %v\n", name, err)
		return nil, exitUsage
	}
	return c, exitOK
}

func printConfig(args []string, std streams) int {
	if len(args) > 0 && (args[0] == "-schema" || args[0] == "--schema") {
		if len(args) > 1 {
			fmt.Fprintln(std.err, "mcpchain config: -schema stands alone: the schema is the same whatever is set")
			return exitUsage
		}
		schema, err := config.Schema()
		if err != nil {
			fmt.Fprintln(std.err, "mcpchain config:", err)
			return exitFailed
		}
		fmt.Fprintf(std.out, "%s\n", schema)
		return exitOK
	}
	c, status := parsed("config", args, std)
	if c == nil {
		return status
	}
	text, err := c.Text()
	if err != nil {
		fmt.Fprintln(std.err, "mcpchain config:", err)
		return exitFailed
	}
	// A shell has put the values of variables into the command.
	_, _ = std.out.Write(hide.Document(text, config.Hider(os.Environ(), nil, c.SecretEnv)))
	return exitOK
}

func run(args []string, std streams) int {
	c, status := parsed("run", args, std)
	if c == nil {
		return status
	}
	r := &running{Config: c}
	defer r.end()
	if err := r.prepare(std); err != nil {
		fmt.Fprintln(std.err, "mcpchain run:", err)
		return exitUsage
	}
	ctx, ended := untilSignal()
	if c.HTTP != "" {
		return r.serve(ctx)
	}
	if isTerminal(std.in) {
		fmt.Fprintln(std.err, "mcpchain run: waiting for a client, which starts this command itself; Ctrl-D ends it")
	}
	status = proxy.New(r.opts).Run(ctx)
	if sig := ended(); sig != 0 {
		return 128 + sig
	}
	return status
}

// running is what the configuration comes to.
type running struct {
	*config.Config

	parts config.Parts
	opts  proxy.Options
	start func(accepted func(authorization string)) (proxy.Server, error) // nil for a server that is started
	ends  []func()                                                        // what is to be closed, in this order
}

func (r *running) end() {
	for _, end := range slices.Backward(r.ends) {
		end()
	}
}

// prepare opens all that is needed. An error is one of the configuration.
func (r *running) prepare(std streams) error {
	if len(r.Command) == 0 && r.To == "" {
		return config.ErrNoCommand
	}
	header, secrets, err := r.Header(os.LookupEnv)
	if err != nil {
		return err
	}
	errs, logs, err := r.outputs(std.err)
	if err != nil {
		return err
	}
	r.parts.Hide = config.Hider(append(os.Environ(), "redis="+r.Redis), r.Command, r.SecretEnv, secrets...)
	r.parts.Logger = newLogger(logs, r.Config, r.parts.Hide)
	slog.SetDefault(r.parts.Logger) // what libraries write with package log, too
	if r.To != "" {
		if r.start, err = reached(r.Config, header, r.parts.Logger); err != nil {
			return err
		}
	}
	chain, err := r.chain()
	if err != nil {
		return err
	}
	stderr := proxy.Lines(errs)
	if r.LogJSON && r.Log == "" {
		stderr = func(line string) { r.parts.Logger.Info("the server writes", slog.String("line", line)) }
	}
	r.opts = proxy.Options{
		Command: r.Command, In: std.in, Out: rpc.NewWriter(std.out), Strange: !r.ForOperator(), Logger: r.parts.Logger, Stderr: stderr, Hide: r.parts.Hide,
		HideResults: r.ScrubResults, Chain: chain, Decode: r.Decodes(), Tasks: r.After > 0, Serial: r.SerialWrites,
		MaxRequest: r.MaxRequest, MaxAnswer: r.MaxAnswer, StartTimeout: time.Duration(r.StartTimeout), Hang: time.Duration(r.Hang),
		Strict: r.Strict, Mend: r.Mend, Learn: time.Duration(r.Deadline),
		Tools:   proxy.Tools{Hide: r.Hide, Reads: r.Reads, ReadOnly: r.ReadOnly},
		Restart: proxy.Restart{First: 100 * time.Millisecond, Most: 30 * time.Second, Steady: time.Minute},
	}
	if r.start != nil {
		r.opts.Start = func() (proxy.Server, error) { return r.start(nil) }
	}
	return nil
}

// chain returns the middlewares, and opens what they keep things in.
func (r *running) chain() (mcp.Middleware, error) {
	if r.Audit != "" {
		record, err := audit.Open(r.Audit, nil)
		if err != nil {
			return nil, err
		}
		r.ends = append(r.ends, func() { _ = record.Close() }) // each record was written before its call was answered
		r.parts.Record = record
	}
	if r.Redis != "" {
		shared, end, err := openRedis(r.Redis, r.parts.Logger)
		if err != nil {
			return nil, err
		}
		r.ends = append(r.ends, end)
		r.parts.Shared = shared
	}
	if r.HTTP != "" {
		r.parts.Drain = &drain.Drain{Lag: time.Duration(r.Lag)}
	}
	chain := r.Chain(r.parts)
	if r.OTel {
		tracing, end, err := export(context.Background(), r.Config, r.parts.Logger)
		if err != nil {
			return nil, err
		}
		r.ends = append(r.ends, end)
		chain = mcpchain.Chain(tracing, chain)
	}
	return chain, nil
}

// reached returns what begins a session with a server over HTTP.
func reached(c *config.Config, header http.Header, logger *slog.Logger) (func(accepted func(authorization string)) (proxy.Server, error), error) {
	if u, err := remote.Check(c.To); err == nil && u.Scheme == "http" && len(header) > 0 && !loopback(u.Hostname()) {
		logger.Warn("headers are sent unencrypted, because the URL of -to is not https", slog.String("host", u.Host))
	}
	client, err := remote.New(remote.Options{URL: c.To, Header: header, MaxAnswer: c.MaxAnswer, Logger: logger})
	if err != nil {
		return nil, err
	}
	return func(accepted func(authorization string)) (proxy.Server, error) { return client.Start(accepted), nil }, nil
}

func loopback(host string) bool {
	address := net.ParseIP(host)
	return host == "localhost" || address != nil && address.IsLoopback()
}

// untilSignal returns a context that ends with a signal to end the program, and a function for its number,
// zero for none. A pipe without a reader is an error of its write, and not a signal: the server has to end, too.
func untilSignal() (ctx context.Context, ended func() int) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	signal.Ignore(syscall.SIGPIPE)
	var number atomic.Int64
	go func() {
		if sig, ok := (<-signals).(syscall.Signal); ok {
			number.Store(int64(sig))
		}
		cancel()
	}()
	return ctx, func() int { return int(number.Load()) }
}
