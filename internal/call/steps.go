package call

import (
	"encoding/json"
	"log/slog"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
)

// executable returns e without the calls that this caller cannot make: of a tool that it
// may not list, or with arguments that the tool's schema refuses. What such a step says
// in words stays. Where the server cannot be asked, as around a single handler, every
// step stays as it is.
func (c *Call) executable(e *fault.Error) *fault.Error {
	steps := e.Data().RecoverySteps
	tools := map[string]*mcp.Tool{}
	for i := range steps {
		eachCall(&steps[i], func(tool *string, _ *map[string]any) { tools[*tool] = nil })
	}
	if len(tools) == 0 {
		return e
	}
	missing := len(tools)
	for tool, err := range c.Tools() {
		if err != nil {
			return e
		}
		if have, ok := tools[tool.Name]; ok && have == nil {
			tools[tool.Name] = tool
			if missing--; missing == 0 {
				break
			}
		}
	}
	changed := false
	for i := range steps {
		eachCall(&steps[i], func(tool *string, parameters *map[string]any) {
			if why := refused(tools[*tool], *parameters); why != "" {
				c.warnOfStep(*tool, why)
				*tool, *parameters, changed = "", nil, true
			}
		})
	}
	if !changed {
		return e
	}
	d := e.Data()
	d.RecoverySteps = steps
	return fault.FromData(d).Because(e.Unwrap())
}

// eachCall calls visit for each call that a step is or offers.
func eachCall(s *fault.Step, visit func(tool *string, parameters *map[string]any)) {
	if s.Tool != "" {
		visit(&s.Tool, &s.Parameters)
	}
	for i := range s.Options {
		if o := &s.Options[i]; o.Tool != "" {
			visit(&o.Tool, &o.Parameters)
		}
	}
}

// refused says why a call cannot be made, "" if it can.
func refused(tool *mcp.Tool, parameters map[string]any) string {
	if tool == nil {
		return "the caller cannot list this tool"
	}
	if err := fits(tool, parameters); err != nil {
		return "the tool's schema refuses these arguments: " + err.Error()
	}
	return ""
}

// fits reports why a tool's schema refuses arguments. A schema that cannot be read
// refuses nothing.
func fits(tool *mcp.Tool, parameters map[string]any) error {
	raw, err := json.Marshal(tool.InputSchema)
	if err != nil {
		return nil //nolint:nilerr // nobody knows what the tool takes
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(raw, &schema); err != nil {
		return nil //nolint:nilerr // as above
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		return nil //nolint:nilerr // as above
	}
	if parameters == nil {
		parameters = map[string]any{}
	}
	return resolved.Validate(parameters)
}

// warned has the tools of steps about which the log was told, so that it is told once.
// It is bounded by maxWarned; what does not fit is not told.
var warned struct {
	sync.Mutex
	tools map[string]bool
}

const maxWarned = 256

func (c *Call) warnOfStep(tool, why string) {
	warned.Lock()
	known := warned.tools[tool] || len(warned.tools) >= maxWarned
	if !known {
		if warned.tools == nil {
			warned.tools = map[string]bool{}
		}
		warned.tools[tool] = true
	}
	warned.Unlock()
	if !known {
		c.warn("a recovery step names a call that cannot be made; the caller reads its words only",
			slog.String("step_tool", oneLine(tool)), slog.String("reason", clip(why)))
	}
}

// warn writes a warning about the program itself into the log of the call.
func (c *Call) warn(message string, attrs ...slog.Attr) { Warn(c, c.Logger(), message, attrs...) }
