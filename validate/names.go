package validate

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/classify"
	"github.com/mcpchain/mcpchain/internal/explain"
	"github.com/mcpchain/mcpchain/internal/failure"
	"github.com/mcpchain/mcpchain/internal/faults"
	"github.com/mcpchain/mcpchain/internal/near"
	"github.com/mcpchain/mcpchain/internal/safe"
	"github.com/mcpchain/mcpchain/internal/scrub"
	"github.com/mcpchain/mcpchain/internal/words"
	"github.com/mcpchain/mcpchain/middleware"
)

// suggest adds the names that were probably meant to the failure of a call whose
// tool, prompt or resource does not exist. The code and what stands in the data
// stay as they are. It reports whether the failure is that of an unknown name.
func (v *validator) suggest(ctx context.Context, c *call.Call, f *failure.Failure) bool {
	wire, what := f.Wire(), unknown(c, f)
	if what == "" {
		return false
	}
	name := c.Target()
	matches := near.Matches(name, guarded(func() [][]string {
		if v.Names != nil {
			return [][]string{v.Names(ctx, c.Method())}
		}
		return c.Server().Names()
	})...)
	message := wire.Message
	if runes := []rune(name); len(name) > maxShownName && len(runes) > maxShownName {
		name = string(runes[:maxShownName]) + "..."
		message = fmt.Sprintf("unknown %s %q", what, name) // nothing is close to it, so that it is only told of a tool
	}
	told := faults.ScrubbedBy(fault.FromData(fault.Data{
		Type: fault.KindNotFound, Message: message, ResourceType: what, Identifier: name, SimilarMatches: matches,
	}), scrub.Credentials) // what the caller sent; the other names are listed
	switch {
	case what == "tool" && v.UnknownToolAsToolError:
		if len(matches) == 0 {
			told = told.Suggest("Call one of the tools that this server lists.")
		}
		c.Explain(f, classify.Finding{Fault: told})
	case len(matches) > 0:
		c.Explain(f, withData(wire, told))
	}
	return true
}

// misfit adds what is wrong with the arguments to a protocol error with which a handler failed. Its
// words stand first, and its code and what stands in its data stay as they are.
func (v *validator) misfit(ctx context.Context, c *call.Call, req mcp.Request, next mcp.MethodHandler, f *failure.Failure) {
	wire := f.Wire()
	switch wire.Code {
	case jsonrpc.CodeInvalidRequest, jsonrpc.CodeInvalidParams, jsonrpc.CodeInternalError:
	default:
		return // it says something that is not about the arguments
	}
	args := call.ArgumentsOf(req)
	report := v.explained(func() *explain.Schema { return v.known(callOf(ctx, c, req).Server().Tool(next)) }, orObject(args))
	if report == nil {
		return
	}
	about := answered(c, report, toolName(c, req), args)
	told := about.Data()
	told.Type, told.Message, told.Suggestion = fault.KindTool, wire.Message, mayBeWhy(report)
	tool, arguments := faults.Correction(about)
	c.Explain(f, withData(wire, c.Corrected(faults.Corrected(fault.FromData(told), tool, arguments))))
}

// maxShownName is how many characters of an unknown name are repeated.
const maxShownName = 64

// unknown tells what does not exist: "tool", "prompt" or "resource", and "" for any other error. The
// handler says so itself ([call.UnknownError]), or the error is one of the SDK, which has no type for it.
func unknown(c *call.Call, f *failure.Failure) string {
	if e, ok := safe.As[*call.UnknownError](f.Err()); ok && e != nil {
		return e.What
	}
	wire := f.Wire()
	what := map[string]string{
		middleware.MethodCallTool: "tool", middleware.MethodGetPrompt: "prompt", middleware.MethodReadResource: "resource",
	}[c.Method()]
	says := fmt.Sprintf("unknown %s %q", what, c.Target())
	code := wire.Code
	if what == "resource" {
		says = "Resource not found"
		if code == -32002 { // until go-sdk v1.7, and with its compatibility setting
			code = jsonrpc.CodeInvalidParams
		}
	}
	if what == "" || code != jsonrpc.CodeInvalidParams || wire.Message != says {
		return ""
	}
	return what
}

// withData returns the finding for the protocol error with the suggestion in its message, and with
// the machine form added to its data.
func withData(wire *jsonrpc.Error, told *fault.Error) classify.Finding {
	data, own := map[string]json.RawMessage{}, map[string]json.RawMessage{}
	raw, err := told.MarshalJSON()
	if err != nil || json.Unmarshal(raw, &data) != nil {
		return classify.Finding{Wire: wire} // cannot be: a fault holds only what JSON can hold
	}
	public := told
	if its := bytes.TrimSpace(wire.Data); len(its) > 0 && string(its) != "null" {
		public = nil // the data says more, or something else
		if json.Unmarshal(its, &own) == nil {
			maps.Copy(data, own)
		} else {
			data = nil // there is no place for ours
		}
	} else if d := told.Data(); d.ResourceType == "resource" { // the SDK writes no JSON of some addresses
		if data["uri"], err = json.Marshal(d.Identifier); err != nil {
			return classify.Finding{Wire: wire}
		}
	}
	if raw = wire.Data; data != nil {
		if raw, err = json.Marshal(data); err != nil {
			return classify.Finding{Wire: wire}
		}
	}
	message, ours := words.Free(told.Message(), false), faults.Besides(told)
	switch {
	case ours == "":
	case len(told.Data().SimilarMatches) > 0 && !words.Quotes(message): // in the line of its sentence
		message = words.Ended(message) + " " + ours
	default:
		message += "\n" + ours
	}
	return classify.Finding{Wire: &jsonrpc.Error{Code: wire.Code, Message: message, Data: raw}, Fault: public, Beside: true}
}
