package validate

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/explain"
	"github.com/mcpchain/mcpchain/internal/scrub"
	"github.com/mcpchain/mcpchain/internal/secrets"
	"github.com/mcpchain/mcpchain/middleware"
)

// Credentials says what becomes of a call whose arguments carry a credential that the tool
// or the prompt does not ask for.
type Credentials uint8

const (
	// AllowCredentials looks for nothing.
	AllowCredentials Credentials = iota

	// RecordCredentials writes a warning with the place of the argument, and lets the call go on.
	RecordCredentials

	// RefuseCredentials refuses the call before the handler runs.
	RefuseCredentials
)

const (
	// mostSearched is how long arguments may be that are searched, in bytes.
	mostSearched = 1 << 20
	// maxCarried is how many places are reported.
	maxCarried = 10
)

// credentials returns the fault of a call that is refused because its arguments carry a credential. It is nil for a
// call that goes on. The record never has the credential.
func (v *validator) credentials(ctx context.Context, c *call.Call, req mcp.Request, next mcp.MethodHandler) *fault.Error {
	policy, what := v.Credentials, "prompt"
	if c.Method() == middleware.MethodCallTool {
		what = "tool"
		if own, ok := v.ToolCredentials[call.Target(req)]; ok {
			policy = own
		}
	}
	if policy == AllowCredentials {
		return nil
	}
	raw, record := call.ArgumentsOf(req), func(what string, more ...slog.Attr) {
		call.Warn(c, c.Logger(), "validate: the arguments of a call "+what,
			append(more, slog.String("method", c.Method()), slog.String("name", call.Name(req)), slog.String("reference", c.ID()))...)
	}
	if len(raw) > mostSearched {
		if policy == RecordCredentials {
			record("have more than 1 MiB, and are not searched for credentials")
			return nil
		}
		return faultOf(&explain.Report{Violations: []fault.Violation{{
			Rule: "credential", Message: "The arguments have more than 1 MiB, and are not searched for credentials.", Suggestion: "Send less at a time.",
		}}}, "")
	}
	places := carried(raw, func(string) bool { return false }, 1)
	if len(places) > 0 { // only now it matters what is asked for
		v.asks(ctx, c, req, next, func(asked func(name string) bool) bool {
			places = carried(raw, asked, maxCarried)
			return len(places) > 0
		})
	}
	if len(places) == 0 {
		return nil
	}
	var args any
	_ = json.Unmarshal(raw, &args) // a text that is not JSON has no places
	violations, names := make([]fault.Violation, len(places)), make([]string, len(places))
	for i, at := range places {
		one, subject := fault.Violation{Rule: "credential"}, "The arguments carry"
		if len(at) > 0 {
			one.Field, one.Pointer = explain.Place(args, at)
			subject = "Argument '" + one.Field + "' carries"
		}
		one.Message = subject + " a credential, and this " + what + " does not ask for one."
		violations[i], names[i] = one, one.Field
	}
	if policy == RecordCredentials {
		record("carry a credential that it does not ask for", slog.String("arguments", strings.Join(names, ", ")))
		return nil
	}
	return faultOf(&explain.Report{Violations: violations, More: len(violations) == maxCarried}, "").
		Suggest("Send the call without it: the credentials that the server needs are in its own configuration.")
}

// carried returns the places of credentials in arguments, at most so many.
func carried(raw []byte, asked func(name string) bool, most int) [][]string {
	switch {
	case json.Valid(raw):
		return scrub.CredentialsIn(raw, asked, most)
	case scrub.Whole(string(raw)) != string(raw):
		return [][]string{nil}
	default:
		return nil
	}
}

// asks runs refuses, see [byTool]. The function asked reports whether the tool or the prompt asks for a secret under
// a name. A prompt asks for the arguments that it declares.
func (v *validator) asks(ctx context.Context, c *call.Call, req mcp.Request, next mcp.MethodHandler, refuses func(asked func(name string) bool) bool) {
	c = callOf(ctx, c, req)
	if c.Method() == middleware.MethodCallTool {
		byTool(c, next, func(tool *mcp.Tool, _ error) bool { return refuses(v.arguments.Of(tool).Asks) })
		return
	}
	prompt, err := c.Server().Prompt(next)
	if err != nil {
		refuses((&secrets.Schema{Unsure: true}).Asks)
		return
	}
	refuses(func(name string) bool {
		return scrub.SecretName(name) && slices.ContainsFunc(prompt.Arguments, func(a *mcp.PromptArgument) bool { return a != nil && a.Name == name })
	})
}
