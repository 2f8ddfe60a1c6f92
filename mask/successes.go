package mask

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/ask"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/failure"
	"github.com/mcpchain/mcpchain/middleware"
)

// Successes returns a middleware that hides credentials in the results of calls that
// succeed, as [ScrubCredentials] finds them: of the named tools, or, without a name, of
// every tool, resource and prompt that it stands around. Give it to mcpchain.Standard as
// the first inner middleware: there it stands inside of what keeps answers or cuts them,
// and outside of your own middlewares. Or wrap a single handler:
//
//	mcpchain.Standard(nil, mask.Successes("query", "read_file"))
//	middleware.AddTool(server, tool, handler, mask.Successes())
//
// It looks at texts, structured content, links, the texts of resources, their bytes if
// those are a text, and _meta. JSON in a text is treated as structured content is:
// a text under a name that says secret, such as "api_key", becomes "[redacted]", a number
// 0, and everything else stays as it is. So types stay what they were. In an object under
// such a name a member stays that describes the secret by its name and by its looks:
// {"auth": {"code": "expired"}}, {"token": {"expires_in": 3600}}. A name there that a machine
// made, as of a map by token, is hidden like a text. The output schema
// of a tool may no longer allow the result, for example because it has a pattern for the
// secret. Then the call fails, and the failure says that the call was carried out.
//
// What the handler returned is not written to. Nothing is cut off, and nothing bounds the
// size of what is searched; recover.Options.MaxResult does. Images, sounds and bytes that
// are not text are not searched. Content of a type of the program's own is searched as it is
// sent. As everywhere the scrubber is a second net: it hides what
// looks like a credential, also one that the tool is there to return. With
// [Options].Reveal nothing is hidden.
//
// A tool that is named and that the server does not list is reported to the log once, as
// a warning. An empty name panics.
func Successes(tools ...string) mcp.Middleware {
	if i := slices.Index(tools, ""); i >= 0 {
		panic(fmt.Sprintf("mask.Successes: tools[%d] is empty; give a name", i))
	}
	var schemas ask.Outputs
	mw := call.Wrap(func(ctx context.Context, c *call.Call, req mcp.Request, next mcp.MethodHandler) (mcp.Result, error) {
		res, err := next(ctx, c.Method(), req)
		if err != nil || c.Quiet() || c.Reveals() || call.NeedsInput(res) || failure.IsError(res) {
			return res, err
		}
		return scrubbed(c, res, next, &schemas)
	})
	if len(tools) == 0 {
		return mw
	}
	return middleware.ForTools(mw, tools...)
}

// scrubbed returns a result without credentials, or a fault if the tool's output schema does not allow that.
func scrubbed(c *call.Call, res mcp.Result, next mcp.MethodHandler, schemas *ask.Outputs) (mcp.Result, error) {
	clean, structured := call.Scrubbed(res)
	tool, ok := clean.(*mcp.CallToolResult)
	if !structured || !ok {
		return clean, nil
	}
	raw, _ := tool.StructuredContent.(json.RawMessage)
	if valid := c.Server().Output(schemas, next); valid == nil || valid(raw) {
		return clean, nil
	}
	retry := fault.Retry{Effect: fault.EffectCommitted, Reason: "The call has been carried out; only its answer is withheld."}
	if c.Safety(next) == failure.Reads {
		retry = fault.Retry{Effect: fault.EffectNone, Reason: "The same call has the same answer."}
	}
	return nil, fault.New(fault.KindInternal, "the answer is withheld: without the credential in it, it does not fit the output schema of the tool").
		WithParty(fault.PartyServer).WithRetry(retry)
}
