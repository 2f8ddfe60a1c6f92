package config

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/audit"
	"github.com/mcpchain/mcpchain/budget"
	"github.com/mcpchain/mcpchain/deadline"
	"github.com/mcpchain/mcpchain/drain"
	"github.com/mcpchain/mcpchain/limit"
	"github.com/mcpchain/mcpchain/mask"
	"github.com/mcpchain/mcpchain/replay"
	"github.com/mcpchain/mcpchain/retry"
	"github.com/mcpchain/mcpchain/store"
	"github.com/mcpchain/mcpchain/task"
	"github.com/mcpchain/mcpchain/validate"
)

// Parts are what the middlewares need that this package does not make.
type Parts struct {
	Logger *slog.Logger
	Hide   func(string) string // takes the values of secrets out of a text
	Record *audit.Log          // nil without an audit
	Drain  *drain.Drain        // nil over stdio, where the client ends the server
	Shared Store               // nil without Redis
}

// A Store is what many of these programs share.
type Store interface {
	store.Store
	Take(ctx context.Context, tokens ...store.Tokens) (wait time.Duration, of int, err error)
}

// Chain returns the middlewares.
func (c *Config) Chain(parts Parts) mcp.Middleware {
	opts := &mcpchain.Options{
		Logger:   parts.Logger,
		Mask:     &mask.Options{Reader: c.readerOf(), Scrub: parts.Hide, CallersCredentials: c.PassAuthorization},
		Validate: &validate.Options{AfterFailure: !c.Strict, RawTools: c.Strict, NoDefaults: c.Strict, StrictPrompts: c.Strict},
		Retry:    &retry.Options{},
	}
	opts.Validate.Mend = validate.MendNever // what a server takes beyond its schema is its own affair
	if c.Mend {
		opts.Validate.Mend = validate.MendBefore
	}
	for i := range c.Rules {
		opts.Mask.Rules = append(opts.Mask.Rules, c.Rules[i].rule())
	}
	if !c.RefuseRepeated {
		opts.Retry.RefuseAfter = -1
	}
	if c.RetryReads {
		opts.RetryServer = retry.Server(nil)
	}
	if c.Deadline > 0 || len(c.ToolDeadlines) > 0 {
		times := &deadline.Options{Limit: time.Duration(c.Deadline), Tools: map[string]time.Duration{}}
		if times.Limit == 0 {
			times.Limit = -1 // only the tools that are named
		}
		for name, d := range c.ToolDeadlines {
			times.Tools[name] = time.Duration(d)
		}
		opts.Deadline = deadline.New(times)
	}
	limits := &limit.Options{}
	keys, tasks := &replay.Options{}, &task.Options{
		After: time.Duration(c.After), Wait: min(time.Duration(c.After), 20*time.Second), // what the client waits for at least
		Limit: c.taskLimit(), Keep: max(24*time.Hour, c.taskLimit()), Limits: task.Limits{AnswerBytes: min(c.MaxAnswer, 4<<20)},
	}
	if parts.Shared != nil {
		keys.Store, tasks.Store, limits.Shared = parts.Shared, parts.Shared, parts.Shared
	}
	if c.RateEach > 0 || c.RunningEach > 0 {
		limits.Limits = append(limits.Limits, limit.Limit{Scope: limit.PerOwner, Calls: c.RateEach, Running: c.RunningEach})
	}
	if c.Rate > 0 || c.Running > 0 {
		limits.Limits = append(limits.Limits, limit.Limit{Scope: limit.ForAll, Calls: c.Rate, Running: c.Running})
	}
	if limits.Limits != nil {
		opts.Limit = limit.New(limits)
	}
	if c.Budget > 0 {
		opts.Budget = budget.New(&budget.Options{Size: c.Budget})
	}
	if c.Keys {
		opts.Replay = replay.New(keys)
	}
	if c.After > 0 {
		opts.Task = task.New(tasks)
	}
	if parts.Record != nil {
		opts.Audit = audit.New(&audit.Options{Log: parts.Record})
	}
	if parts.Drain != nil {
		opts.Drain = drain.New(&drain.Options{Drain: parts.Drain})
	}
	var inner []mcp.Middleware
	if c.ScrubResults {
		inner = append(inner, mask.Successes())
	}
	return mcpchain.Standard(opts, inner...)
}

// taskLimit returns how long a call may take that is answered with an ID: an hour, or the longest deadline if that is
// longer.
func (c *Config) taskLimit() time.Duration {
	most := max(time.Hour, time.Duration(c.Deadline))
	for _, d := range c.ToolDeadlines {
		most = max(most, time.Duration(d))
	}
	return most
}

// readers are the readers of failures by their names.
var readers = map[string]mask.Reader{"": mask.Anyone, "anyone": mask.Anyone, "trusted": mask.Trusted, "operator": mask.Operator}

// readerOf returns the configured reader of failures. The default over stdio is Operator: the reader started the
// server.
func (c *Config) readerOf() mask.Reader {
	if c.Reader == "" && c.HTTP == "" {
		return mask.Operator
	}
	return readers[c.Reader]
}

// ForOperator reports whether the operator of the server reads failures.
func (c *Config) ForOperator() bool { return c.readerOf() == mask.Operator }

// Where the health of the program is asked over HTTP.
const (
	livePath  = "/livez"
	readyPath = "/readyz"
)

// Mux returns what answers over HTTP: the endpoint, and the health of the program.
func (c *Config) Mux(endpoint http.Handler, d *drain.Drain) *http.ServeMux {
	mux := http.NewServeMux()
	mux.Handle(c.Path, endpoint)
	mux.Handle(livePath, d.Live())
	mux.Handle(readyPath, d.Ready())
	return mux
}

// Decodes reports whether a middleware looks into successes.
func (c *Config) Decodes() bool { return c.Budget > 0 || c.Keys || c.ScrubResults }
