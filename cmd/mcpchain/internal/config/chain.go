package config

import (
	"log/slog"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/audit"
	"github.com/mcpchain/mcpchain/budget"
	"github.com/mcpchain/mcpchain/deadline"
	"github.com/mcpchain/mcpchain/limit"
	"github.com/mcpchain/mcpchain/mask"
	"github.com/mcpchain/mcpchain/replay"
	"github.com/mcpchain/mcpchain/retry"
	"github.com/mcpchain/mcpchain/validate"
)

// Chain returns the middlewares. hide takes the values of secrets out of a text. record is nil
// without an audit.
func (c *Config) Chain(logger *slog.Logger, hide func(string) string, record *audit.Log) mcp.Middleware {
	opts := &mcpchain.Options{
		Logger:   logger,
		Mask:     &mask.Options{Reader: mask.Operator, Scrub: hide}, // who reads a server's answers over stdio has started it
		Validate: &validate.Options{AfterFailure: !c.Strict, RawTools: c.Strict, NoDefaults: c.Strict, StrictPrompts: c.Strict},
		Retry:    &retry.Options{},
	}
	for i := range c.Rules {
		opts.Mask.Rules = append(opts.Mask.Rules, c.Rules[i].rule())
	}
	if !c.RefuseRepeated {
		opts.Retry.RefuseAfter = -1
	}
	if c.RetryReads {
		opts.RetryServer = &retry.ServerOptions{}
	}
	if c.Deadline > 0 || len(c.ToolDeadlines) > 0 {
		limits := &deadline.Options{Limit: time.Duration(c.Deadline), Tools: map[string]time.Duration{}}
		if limits.Limit == 0 {
			limits.Limit = -1 // only the tools that are named
		}
		for name, d := range c.ToolDeadlines {
			limits.Tools[name] = time.Duration(d)
		}
		opts.Deadline = limits
	}
	if c.Rate > 0 || c.Running > 0 {
		opts.Limit = &limit.Options{Limits: []limit.Limit{{Scope: limit.ForAll, Calls: c.Rate, Running: c.Running}}}
	}
	if c.Budget > 0 {
		opts.Budget = &budget.Options{Size: c.Budget}
	}
	if c.Keys {
		opts.Replay = &replay.Options{}
	}
	if record != nil {
		opts.Audit = &audit.Options{Log: record}
	}
	var inner []mcp.Middleware
	if c.ScrubResults {
		inner = append(inner, mask.Successes())
	}
	return mcpchain.Standard(opts, inner...)
}

// Decodes reports whether a middleware looks into successes.
func (c *Config) Decodes() bool { return c.Budget > 0 || c.Keys || c.ScrubResults }
