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
	"sync/atomic"
	"syscall"
	"time"

	"github.com/mcpchain/mcpchain/audit"
	"github.com/mcpchain/mcpchain/mask"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/config"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/proxy"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/remote"
)

func runCommand() command {
	return command{
		name: "run", usage: "[FLAGS] -- COMMAND ...", short: "start a server over stdio, or reach one with -to, and stand in front of it",
		run: run, help: config.Help, flags: config.Flags(),
	}
}

func configCommand() command {
	return command{
		name: "config", usage: "[FLAGS] [-- COMMAND ...]", short: "print what the flags and the file of run come to",
		run: printConfig, help: config.Help, flags: config.Flags(),
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
	c, status := parsed("config", args, std)
	if c == nil {
		return status
	}
	text, err := c.Text()
	if err != nil {
		fmt.Fprintln(std.err, "mcpchain config:", err)
		return exitFailed
	}
	_, _ = std.out.Write(text)
	return exitOK
}

func run(args []string, std streams) int {
	c, status := parsed("run", args, std)
	if c == nil {
		return status
	}
	fail := func(err error) int {
		fmt.Fprintln(std.err, "mcpchain run:", err)
		return exitUsage
	}
	if len(c.Command) == 0 && c.To == "" {
		return fail(config.ErrNoCommand)
	}
	header, secrets, err := c.Header(os.LookupEnv)
	if err != nil {
		return fail(err)
	}
	logs := io.Writer(std.err)
	if c.Log != "" {
		file, err := os.OpenFile(c.Log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return fail(err)
		}
		defer file.Close() //nolint:errcheck // each record is one write
		logs = file
	}
	hide := config.Hider(os.Environ(), c.Command, c.SecretEnv, secrets...)
	logger := newLogger(logs, c, hide)
	var record *audit.Log
	if c.Audit != "" {
		if record, err = audit.Open(c.Audit, nil); err != nil {
			return fail(err)
		}
		defer record.Close() //nolint:errcheck // each record was written before its call was answered
	}
	stderr := proxy.Lines(std.err)
	if c.LogJSON && c.Log == "" {
		stderr = func(line string) { logger.Info("the server writes", slog.String("line", line)) }
	}
	var start func() (proxy.Server, error)
	if c.To != "" {
		if start, err = reached(c, header, logger); err != nil {
			return fail(err)
		}
	}
	p := proxy.New(proxy.Options{
		Command: c.Command, Start: start, In: std.in, Out: std.out, Logger: logger, Stderr: stderr, Hide: hide,
		Chain: c.Chain(logger, hide, record), Decode: c.Decodes(), Serial: c.SerialWrites,
		MaxRequest: c.MaxRequest, MaxAnswer: c.MaxAnswer, Hang: time.Duration(c.Hang),
		Tools:   proxy.Tools{Hide: c.Hide, Reads: c.Reads, ReadOnly: c.ReadOnly},
		Restart: proxy.Restart{First: 100 * time.Millisecond, Most: 30 * time.Second, Steady: time.Minute},
	})
	ctx, ended := untilSignal()
	status = p.Run(ctx)
	if sig := ended(); sig != 0 {
		return 128 + sig
	}
	return status
}

// reached returns what begins a session with a server over HTTP.
func reached(c *config.Config, header http.Header, logger *slog.Logger) (func() (proxy.Server, error), error) {
	if u, err := remote.Check(c.To); err == nil && u.Scheme == "http" && len(header) > 0 && !loopback(u.Hostname()) {
		logger.Warn("headers are sent unencrypted, because the URL of -to is not https", slog.String("host", u.Host))
	}
	client, err := remote.New(remote.Options{URL: c.To, Header: header, MaxAnswer: c.MaxAnswer, Logger: logger})
	if err != nil {
		return nil, err
	}
	return func() (proxy.Server, error) { return client.Start(), nil }, nil
}

func loopback(host string) bool {
	address := net.ParseIP(host)
	return host == "localhost" || address != nil && address.IsLoopback()
}

// newLogger returns the log of the program, in which no value of a secret stands.
func newLogger(w io.Writer, c *config.Config, hide func(string) string) *slog.Logger {
	opts := &slog.HandlerOptions{Level: slog.LevelInfo}
	if c.Verbose {
		opts.Level = slog.LevelDebug
	}
	var handler slog.Handler = slog.NewTextHandler(w, opts)
	if c.LogJSON {
		handler = slog.NewJSONHandler(w, opts)
	}
	return slog.New(mask.LogHandler(handler, hide))
}

// untilSignal returns a context that ends with a signal that ends the program, and a function that
// returns the number of that signal, zero for none. A pipe that nobody reads is an error of its
// write, and no signal: the server is to be ended, too.
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
