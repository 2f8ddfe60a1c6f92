package validate

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/classify"
	"github.com/mcpchain/mcpchain/internal/failure"
	"github.com/mcpchain/mcpchain/internal/faults"
	"github.com/mcpchain/mcpchain/internal/near"
	"github.com/mcpchain/mcpchain/internal/scrub"
	"github.com/mcpchain/mcpchain/middleware"
)

// suggest adds the names that were probably meant to the failure of a call whose
// tool, prompt or resource does not exist. The code and what stands in the data
// stay as they are.
func (v *validator) suggest(ctx context.Context, c *call.Call, f *failure.Failure) {
	wire, what := f.Wire(), unknown(c, f.Wire())
	if what == "" {
		return
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
}

// maxShownName is how many characters of an unknown name are repeated.
const maxShownName = 64

// unknown tells what does not exist, by the errors of the SDK: "tool", "prompt" or
// "resource", and "" for any other error.
func unknown(c *call.Call, wire *jsonrpc.Error) string {
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
	if len(wire.Data) > 0 && json.Unmarshal(wire.Data, &own) == nil {
		maps.Copy(data, own)
		public = nil // the data says more, or something else
	} else if d := told.Data(); d.ResourceType == "resource" { // the SDK writes no JSON of some addresses
		if data["uri"], err = json.Marshal(d.Identifier); err != nil {
			return classify.Finding{Wire: wire}
		}
	}
	if raw, err = json.Marshal(data); err != nil {
		return classify.Finding{Wire: wire}
	}
	text, label := told.Text(), told.Kind().Label()+": "
	return classify.Finding{Wire: &jsonrpc.Error{Code: wire.Code, Message: text[len(label):], Data: raw}, Fault: public}
}
