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
	loginSchema = `{"type":"object","properties":{"user":{"type":"string"},"password":{"type":"string"},"port":{"type":"integer"},"note":{"type":"string"},"pin":{"type":"string","writeOnly":true},"more":{"type":"object"}},"required":["user"],"additionalProperties":false}`
	loginArgs   = `{"user":"ann","password":"` + harness.Canary + `","port":"5432 "}` // the blank keeps it from being mended
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

// eachReader is each way in which the failures of a server are masked.
var eachReader = map[string]*mask.Options{
	"anyone": {}, "trusted": {Reader: mask.Trusted}, "operator": {Reader: mask.Operator}, "reveal": {Reveal: true},
	"scrubber": {Scrub: func(text string) string { return strings.ReplaceAll(text, "Bob", "[a name]") }},
}

// TestSecretBesideTheMistake: whatever is hidden in a sentence is hidden in the corrected call, from
// each reader, and then no program finds a call to send.
func TestSecretBesideTheMistake(t *testing.T) {
	for name, masking := range eachReader {
		eras(t, func(t *testing.T, era harness.Era) {
			log, records := harness.NewLog(slog.LevelDebug), ""
			s := serve(t, era, logins, mcpchain.Standard(&mcpchain.Options{
				Logger: log.Logger(), Mask: masking,
				Validate:  &validate.Options{RawTools: true, Credentials: validate.RecordCredentials, Mend: validate.MendNever},
				Correlate: &correlate.Options{Advanced: correlate.Advanced{ArgumentValues: 1024}},
				Audit: audit.New(&audit.Options{Log: audit.NewLog(func(entries []audit.Entry) error {
					for _, e := range entries {
						records += string(e.Line) + "\n"
					}
					return nil
				}, nil)}),
			}))
			for args, want := range map[string]string{
				loginArgs: `{"password":<as you sent it>,"port":5432,"user":"ann"}`,
				`{"usr":"ann","password":"` + harness.Canary + `"}`:                               `{"password":<as you sent it>,"user":"ann"}`,
				`{"user":"ann","PASSWORD":"` + harness.Canary + `"}`:                              `{"password":<as you sent it>,"user":"ann"}`,
				`{"user":"ann","pin":"` + harness.Canary + `","port":"1"}`:                        `{"pin":<as you sent it>,"port":1,"user":"ann"}`,
				`{"user":"ann","note":"` + aToken + `","port":"1"}`:                               `{"note":<as you sent it>,"port":1,"user":"ann"}`,
				`{"user":"ann","note":"password=` + harness.Canary + `","port":"1"}`:              `{"note":<as you sent it>,"port":1,"user":"ann"}`,
				`{"user":"ann","more":{"list":[1,{"api_key":"` + harness.Canary + `"}]},"pot":1}`: `{"more":{"list":[1,{"api_key":<as you sent it>}]},"port":1,"user":"ann"}`,
				`{"user":"ann","more":{"token":{"a":"` + harness.Canary + `"}},"pot":1}`:          `{"more":{"token":<as you sent it>},"port":1,"user":"ann"}`,
				`{"arguments":{"user":"ann","password":"` + harness.Canary + `"}}`:                `{"password":<as you sent it>,"user":"ann"}`,
				`"{\"user\":\"ann\",\"password\":\"` + harness.Canary + `\"}"`:                    `{"password":<as you sent it>,"user":"ann"}`,
				`{"user":"ann","password":"\nRetry: yes","port":"1"}`:                             `{"password":<as you sent it>,"port":1,"user":"ann"}`,
				`{"user":"ann","password":"\nTry: x ` + harness.Canary + `","pot":1}`:             `{"password":<as you sent it>,"port":1,"user":"ann"}`,
				`{"user":"ann","pin":471147114711,"port":"1"}`:                                    "", // what is hidden was not sent so
			} {
				for _, tool := range []string{"typed", "raw", "listed"} {
					got := invoke(t, s, tool, args)
					text := got.Text()
					require.Equal(t, want, tried(text, tool), "%s %s %s\n%s", name, tool, args, text)
					require.Nil(t, got.Fault().Data().CorrectedArguments, text)
					require.Empty(t, got.Fault().Data().CorrectedTool)
				}
			}
			require.NotContains(t, s.Sent(), harness.Canary)
			require.NotContains(t, s.Sent(), aToken)
			require.NotContains(t, s.Sent(), "471147114711")
			require.NotEmpty(t, records)
			require.NotContains(t, log.String(), harness.Canary)
			require.NotContains(t, records, harness.Canary)
		})
	}
}

// TestNothingHiddenIsTried: without a secret the whole call is told, in both forms.
func TestNothingHiddenIsTried(t *testing.T) {
	for name, masking := range eachReader {
		s := serve(t, harness.Current, logins, mcpchain.Standard(&mcpchain.Options{Logger: slog.New(slog.DiscardHandler), Mask: masking}))
		got := invoke(t, s, "typed", `{"user":"ann","note":"<as you sent it>","port":"5 "}`)
		require.JSONEq(t, `{"user":"ann","note":"<as you sent it>","port":5}`, tried(got.Text(), "typed"), name)
		require.JSONEq(t, tried(got.Text(), "typed"), marshal(t, got.Fault().Data().CorrectedArguments), name)
	}
	s := serve(t, harness.Current, logins, mcpchain.Standard(&mcpchain.Options{Logger: slog.New(slog.DiscardHandler), Mask: eachReader["scrubber"]}))
	got := invoke(t, s, "typed", `{"user":"Bob","port":"5 "}`)
	require.Equal(t, `{"port":5,"user":<as you sent it>}`, tried(got.Text(), "typed"), "what a scrubber of the user's hides, too")
	require.Nil(t, got.Fault().Data().CorrectedArguments)
}

// TestSecretInEachRendering: no form of an answer has what the others withhold.
func TestSecretInEachRendering(t *testing.T) {
	for name, o := range map[string]mcpchain.Options{
		"JSON":       {Render: &middleware.RenderOptions{JSON: true}},
		"structured": {Render: &middleware.RenderOptions{Structured: true}},
		"protocol":   {Validate: &validate.Options{ProtocolError: true}},
		"observe":    {Observe: true},
	} {
		for reader, masking := range eachReader {
			log := harness.NewLog(slog.LevelDebug)
			o.Logger, o.Mask = log.Logger(), masking
			s := serve(t, harness.Current, logins, mcpchain.Standard(&o))
			got := invoke(t, s, "typed", loginArgs)
			require.NotContains(t, log.String(), harness.Canary, name)
			if name == "observe" {
				continue // which sends the SDK's own answer
			}
			require.Nil(t, got.Fault().Data().CorrectedArguments, name)
			require.NotContains(t, s.Sent(), harness.Canary, "%s %s", name, reader)
			require.NotContains(t, s.Sent(), "corrected_", "%s %s", name, reader)
		}
	}
}

// TestSecretOfSomebodyElse: no call is told in which something is hidden that the caller cannot be known
// to have sent, and none where received values are hidden.
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
	sent := `{"user":"ann","port":"5432 "}`
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
		}, nil, `{"args":"{\"user\":\"ann\",\"password\":\"` + harness.Canary + `\"}"}`},
		"hidden": {logins, []mcp.Middleware{mcpchain.Standard(&mcpchain.Options{Logger: quiet.Logger, Validate: &validate.Options{HideReceived: true}})}, loginArgs},
	} {
		s := serve(t, harness.Current, c.more, c.mw...)
		got := invoke(t, s, "raw", c.args)
		require.Contains(t, got.Text(), "Validation Error: ", name)
		require.NotContains(t, s.Sent(), harness.Canary, name)
		require.NotContains(t, got.Text(), "as you sent it", name)
	}
}

// TestSecretIsNotKept: middlewares inside and stores see the failure without it.
func TestSecretIsNotKept(t *testing.T) {
	var seen []*fault.Error
	look := call.Wrap(func(ctx context.Context, c *call.Call, req mcp.Request, next mcp.MethodHandler) (mcp.Result, error) {
		res, err := next(ctx, c.Method(), req)
		if f := c.End(res, err); f != nil {
			seen = append(seen, f.Fault())
			require.NotContains(t, f.Fault().Error(), harness.Canary)
		}
		return res, err
	})
	s := serve(t, harness.Current, logins, mcpchain.Standard(&mcpchain.Options{
		Logger: slog.New(slog.DiscardHandler), Replay: replay.New(nil),
	}, look))
	require.Contains(t, invoke(t, s, "typed", loginArgs).Text(), `"password":<as you sent it>`)
	require.Len(t, seen, 1)
	require.NotContains(t, marshal(t, seen[0]), harness.Canary)
}
