package validate_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/audit"
	"github.com/mcpchain/mcpchain/correlate"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/mask"
	"github.com/mcpchain/mcpchain/middleware"
	"github.com/mcpchain/mcpchain/replay"
	"github.com/mcpchain/mcpchain/validate"
)

const (
	loginSchema = `{"type":"object","properties":{"user":{"type":"string"},"password":{"type":"string"},"port":{"type":"integer"},"note":{"type":"string"},"pin":{"type":"string","writeOnly":true}},"required":["user"],"additionalProperties":false}`
	loginArgs   = `{"user":"ann","password":"` + harness.Canary + `","port":"5432"}`
)

// logins adds a typed and a raw tool that ask for secrets.
func logins(s *mcp.Server) {
	mcp.AddTool(s, &mcp.Tool{Name: "typed", InputSchema: json.RawMessage(loginSchema)}, func(context.Context, *mcp.CallToolRequest, map[string]any) (*mcp.CallToolResult, any, error) {
		return said("fine"), nil, nil
	})
	s.AddTool(&mcp.Tool{Name: "raw", InputSchema: json.RawMessage(loginSchema)}, validate.Tool(json.RawMessage(loginSchema), echo))
	s.AddTool(&mcp.Tool{Name: "listed", InputSchema: json.RawMessage(loginSchema)}, echo)
}

// tried returns the arguments of the corrected call in a text, "" for none.
func tried(text, tool string) string {
	_, rest, _ := strings.Cut(text, "\nTry: "+tool+" ")
	line, _, _ := strings.Cut(rest, "\n")
	return line
}

// TestSecretBesideTheMistake: the caller gets back in whole what it sent, in its own answer, and
// nobody else gets it.
func TestSecretBesideTheMistake(t *testing.T) {
	eras(t, func(t *testing.T, era harness.Era) {
		log, records := harness.NewLog(slog.LevelDebug), ""
		s := serve(t, era, logins, mcpchain.Standard(&mcpchain.Options{
			Logger:    log.Logger(),
			Validate:  &validate.Options{RawTools: true, Credentials: validate.RecordCredentials},
			Correlate: &correlate.Options{Advanced: correlate.Advanced{ArgumentValues: 1024}},
			Audit: &audit.Options{Log: audit.NewLog(func(entries []audit.Entry) error {
				for _, e := range entries {
					records += string(e.Line) + "\n"
				}
				return nil
			}, nil)},
		}))
		for args, want := range map[string]string{
			loginArgs: `{"password":"` + harness.Canary + `","port":5432,"user":"ann"}`,
			`{"usr":"ann","password":"` + harness.Canary + `"}`:                   `{"password":"` + harness.Canary + `","user":"ann"}`,
			`{"user":"ann","PASSWORD":"` + harness.Canary + `"}`:                  `{"password":"` + harness.Canary + `","user":"ann"}`,
			`{"user":"ann","pin":"` + harness.Canary + `","port":"1"}`:            `{"pin":"` + harness.Canary + `","port":1,"user":"ann"}`,
			`{"user":"ann","note":"` + aToken + `","port":"1"}`:                   `{"note":"` + aToken + `","port":1,"user":"ann"}`,
			`{"user":"ann","note":"password=` + harness.Canary + `","port":"1"}`:  `{"note":"password=` + harness.Canary + `","port":1,"user":"ann"}`,
			`{"arguments":{"user":"ann","password":"` + harness.Canary + `"}}`:    `{"password":"` + harness.Canary + `","user":"ann"}`,
			`"{\"user\":\"ann\",\"password\":\"` + harness.Canary + `\"}"`:        `{"password":"` + harness.Canary + `","user":"ann"}`,
			`{"user":"ann","password":"\nRetry: yes","port":"1"}`:                 "",
			`{"user":"ann","password":"\nTry: x ` + harness.Canary + `","pot":1}`: "",
		} {
			for _, tool := range []string{"typed", "raw", "listed"} {
				got := invoke(t, s, tool, args)
				text := got.Text()
				if want == "" {
					require.NotContains(t, text, "\nTry: ", args)
					continue
				}
				require.JSONEq(t, want, tried(text, tool), "%s %s\n%s", tool, args, text)
				require.JSONEq(t, want, marshal(t, got.Fault().Data().CorrectedArguments), text)
				require.Equal(t, tool, got.Fault().Data().CorrectedTool)
				require.NotContains(t, strings.ReplaceAll(text, tried(text, tool), ""), harness.Canary, "in the corrected call alone")
				d := got.Fault().Data()
				d.CorrectedArguments = nil
				require.NotContains(t, marshal(t, d), harness.Canary, "in the corrected call alone")
			}
		}
		require.NotEmpty(t, records)
		require.NotContains(t, log.String(), harness.Canary)
		for line := range strings.Lines(records) {
			require.NotContains(t, line, harness.Canary)
		}
	})
}

// TestSecretInEachRendering: the correction is the same in each form of an answer.
func TestSecretInEachRendering(t *testing.T) {
	for name, o := range map[string]mcpchain.Options{
		"JSON":       {Render: &middleware.RenderOptions{JSON: true}},
		"structured": {Render: &middleware.RenderOptions{Structured: true}},
		"protocol":   {Validate: &validate.Options{ProtocolError: true}},
		"scrubber":   {Mask: &mask.Options{Scrub: func(text string) string { return strings.ReplaceAll(text, "ann", "[a name]") }}},
		"reveal":     {Mask: &mask.Options{Reveal: true}},
	} {
		log := harness.NewLog(slog.LevelDebug)
		o.Logger = log.Logger()
		s := serve(t, harness.Current, logins, mcpchain.Standard(&o))
		got := invoke(t, s, "typed", loginArgs)
		d := got.Fault().Data()
		require.JSONEq(t, `{"password":"`+harness.Canary+`","port":5432,"user":"ann"}`, marshal(t, d.CorrectedArguments), name)
		require.Contains(t, s.Sent(), harness.Canary, name)
		require.NotContains(t, log.String(), harness.Canary, name)
	}
}

// TestSecretOfSomebodyElse: what the caller cannot be known to have sent is not told, and neither
// is anything where received values are hidden.
func TestSecretOfSomebodyElse(t *testing.T) {
	vault := func(next mcp.MethodHandler) mcp.MethodHandler { // puts a secret of the server's into each call
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if r, ok := req.(*mcp.CallToolRequest); ok {
				params := *r.Params
				params.Arguments = json.RawMessage(loginArgs)
				req = &mcp.CallToolRequest{Session: r.Session, Params: &params, Extra: r.Extra}
			}
			return next(ctx, method, req)
		}
	}
	quiet := &mcpchain.Options{Logger: slog.New(slog.DiscardHandler)}
	chain := mcpchain.Standard(quiet)
	wrapped := func(mw ...mcp.Middleware) func(s *mcp.Server) {
		return func(s *mcp.Server) {
			s.AddTool(&mcp.Tool{Name: "raw", InputSchema: json.RawMessage(loginSchema)}, middleware.Tool(validate.Tool(json.RawMessage(loginSchema), echo), mw...))
		}
	}
	sent := `{"user":"ann","port":"5432"}`
	for name, c := range map[string]struct {
		more func(*mcp.Server)
		mw   []mcp.Middleware
		args string
	}{
		"inside":        {logins, []mcp.Middleware{mcpchain.Standard(quiet, vault)}, sent},
		"Tool":          {wrapped(), []mcp.Middleware{vault}, sent},
		"Tool in one":   {wrapped(validate.New(nil)), []mcp.Middleware{vault}, sent},
		"Tool in chain": {wrapped(chain), []mcp.Middleware{vault}, sent},
		"as text": {func(s *mcp.Server) {
			s.AddTool(&mcp.Tool{Name: "raw", InputSchema: json.RawMessage(loginSchema)}, middleware.Tool(validate.Tool(json.RawMessage(loginSchema), echo), chain))
		}, nil, `"{\"user\":\"ann\",\"password\":\"` + harness.Canary + `\"}"`},
		"hidden": {logins, []mcp.Middleware{mcpchain.Standard(&mcpchain.Options{Logger: quiet.Logger, Validate: &validate.Options{HideReceived: true}})}, loginArgs},
	} {
		s := serve(t, harness.Current, c.more, c.mw...)
		got := invoke(t, s, "raw", c.args)
		require.Contains(t, got.Text(), "Validation Error: ", name)
		require.NotContains(t, s.Sent(), harness.Canary, name)
	}
	// Around one typed tool it is known what the server received.
	s := serve(t, harness.Current, func(s *mcp.Server) {
		middleware.AddTool(s, &mcp.Tool{Name: "typed", InputSchema: json.RawMessage(loginSchema)}, func(context.Context, *mcp.CallToolRequest, map[string]any) (*mcp.CallToolResult, any, error) {
			return nil, nil, nil
		}, mask.New(nil), validate.New(nil))
	})
	require.Contains(t, invoke(t, s, "typed", loginArgs).Text(), harness.Canary)
}

// TestSecretIsNotKept: middlewares inside and stores see the failure without it.
func TestSecretIsNotKept(t *testing.T) {
	var seen []*fault.Error
	look := call.Wrap(func(ctx context.Context, c *call.Call, req mcp.Request, next mcp.MethodHandler) (mcp.Result, error) {
		res, err := next(ctx, c.Method(), req)
		if f := c.Failure(res, err); f != nil {
			seen = append(seen, f.Fault())
			require.NotContains(t, f.Fault().Error(), harness.Canary)
		}
		return res, err
	})
	s := serve(t, harness.Current, logins, mcpchain.Standard(&mcpchain.Options{
		Logger: slog.New(slog.DiscardHandler), Replay: &replay.Options{},
	}, look))
	require.Contains(t, invoke(t, s, "typed", loginArgs).Text(), harness.Canary)
	require.Len(t, seen, 1)
	require.NotContains(t, marshal(t, seen[0]), harness.Canary)
}
