package call

import (
	"log/slog"
	"slices"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/ask"
	"github.com/mcpchain/mcpchain/internal/faults"
	"github.com/mcpchain/mcpchain/internal/table"
	"github.com/mcpchain/mcpchain/internal/wire"
	"github.com/mcpchain/mcpchain/internal/words"
)

// executable returns e with only those calls in its steps that this caller can make. A call that
// lacks required parameters names them, for the caller to fill in. A call of a tool that the caller
// may not list, or with arguments that the tool's schema refuses, keeps only its text. That is the
// program's mistake, so it is recorded once for each tool and step. If the server cannot be asked,
// as around a single handler, every step stays unchanged.
func (c *Call) executable(e *fault.Error) *fault.Error {
	d := e.Data()
	steps := d.RecoverySteps // changed in place
	tools := map[string]*mcp.Tool{}
	for i := range steps {
		eachCall(&steps[i], func(s suggested) { tools[*s.tool] = nil })
	}
	if len(tools) == 0 {
		return e
	}
	if _, err := c.Server().Pages(func(all []*ask.Page) bool {
		missing := false
		for name, have := range tools {
			if have == nil {
				have = all[len(all)-1].Tool(name)
				tools[name], missing = have, missing || have == nil
			}
		}
		return !missing
	}); err != nil {
		return e
	}
	changed := false
	for i := range steps {
		eachCall(&steps[i], func(s suggested) {
			missing, refusal := lacks(tools[*s.tool], *s.parameters, *s.missing)
			switch {
			case refusal != "":
				c.dropped(Dropped{Message: e.Message(), Action: steps[i].Action, Tool: *s.tool, Reason: refusal})
				*s.tool, *s.parameters, *s.missing, changed = "", nil, nil, true
			case !slices.Equal(missing, *s.missing):
				*s.missing, changed = missing, true
			}
		})
	}
	if !changed {
		return e
	}
	tool, arguments := faults.Correction(e) // Data has none that is withheld
	return faults.Corrected(fault.FromData(d), tool, arguments).Because(e.Unwrap())
}

// suggested is a call in a step or in one of its options.
type suggested struct {
	tool       *string
	parameters *map[string]any
	missing    *[]string
}

// eachCall calls visit for each call in a step and in its options.
func eachCall(s *fault.Step, visit func(suggested)) {
	if s.Tool != "" {
		visit(suggested{&s.Tool, &s.Parameters, &s.Missing})
	}
	for i := range s.Options {
		if o := &s.Options[i]; o.Tool != "" {
			visit(suggested{&o.Tool, &o.Parameters, &o.Missing})
		}
	}
}

// The reasons why a call is left out of a step.
const (
	notListed = "the tool is not listed for this caller"
	refused   = "its schema refuses the parameters"
)

// lacks returns the parameters that a call lacks: those that its author marked as missing and those
// that the tool's schema requires. refusal says why the call fails whatever the caller fills in. A
// schema that cannot be read refuses nothing.
func lacks(tool *mcp.Tool, parameters map[string]any, said []string) (missing []string, refusal string) {
	if tool == nil {
		return nil, notListed
	}
	if parameters == nil {
		parameters = map[string]any{}
	}
	given := func(name string) bool { _, ok := parameters[name]; return ok }
	missing = slices.DeleteFunc(slices.Clone(said), given)
	schema := ask.JSONSchema(tool.InputSchema)
	if schema == nil {
		return missing, ""
	}
	var required []string
	for _, name := range schema.Required {
		switch {
		case given(name):
			required = append(required, name)
		case !slices.Contains(missing, name):
			missing = append(missing, name)
		}
	}
	schema.Required = required
	if r, err := schema.Resolve(nil); err == nil && r.Validate(parameters) != nil {
		return nil, refused
	}
	return missing, ""
}

// Dropped is a call that was left out of a step.
type Dropped struct{ Message, Action, Tool, Reason string } // the message is that of the failure

// OnDropped is called for each call that is left out of a step. It is for tests, and may be called
// concurrently.
var OnDropped atomic.Pointer[func(Dropped)]

// dropped records that a call was left out of a step, once for each failing tool and each named
// tool.
func (c *Call) dropped(d Dropped) {
	if f := OnDropped.Load(); f != nil {
		(*f)(d)
	}
	if c.quiet || c.by == nil {
		return
	}
	target := Name(c.req)
	key := c.method + "\x00" + target + "\x00" + d.Tool + "\x00" + d.Reason
	if _, before := c.by.drops.Get(key); before || c.by.drops.Len() >= table.MaxNames {
		return
	}
	c.by.drops.Put(key, true)
	Warn(c, c.Logger(), "a step of a failure names a call that its caller cannot make, and is sent without it",
		slog.String("method", c.method), slog.String("name", target), slog.String("step", words.Cut(d.Action, maxAction)),
		slog.String("tool", words.Cut(d.Tool, maxAction)), slog.String("reason", d.Reason))
}

// maxAction is how many characters of a step a record shows.
const maxAction = 200

// PendingSteps are the steps of a successful result whose text is not in its content yet,
// because the SDK writes the output of a typed handler only into a result without content.
type PendingSteps []fault.Step

// withSteps adds the text of pending steps.
func withSteps(res mcp.Result) mcp.Result {
	r, ok := res.(*mcp.CallToolResult)
	if !ok || r == nil || r.Meta == nil {
		return res
	}
	steps, ok := r.Meta[wire.StepsKey].(PendingSteps)
	if !ok {
		return res
	}
	out := *r
	out.Content = append(slices.Clone(out.Content), &mcp.TextContent{Text: faults.StepsText(steps)})
	out.Meta = withMeta(out.Meta, wire.StepsKey, []fault.Step(steps))
	return &out
}
