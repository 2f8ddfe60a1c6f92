package batch

import (
	"reflect"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/wire"
	"github.com/mcpchain/mcpchain/middleware"
)

// Output is the structured value of an answer, and the output of a typed tool that
// answers with a batch: the SDK infers its schema.
type Output[Out any] struct {
	Success bool   `json:"success" jsonschema:"whether anything succeeded"`
	Message string `json:"message" jsonschema:"how the batch ended, in one sentence"`
	Counts
	SuccessRate float64 `json:"success_rate" jsonschema:"from 0 to 1"`

	Results      []Item[Out]    `json:"results,omitempty" jsonschema:"what became of the items that did not fail, in the order of the input"`
	Errors       []OutputError  `json:"errors,omitempty" jsonschema:"the items that failed, in the order of the input"`
	ErrorSummary *ErrorSummary  `json:"error_summary,omitempty"`
	RetryItems   []any          `json:"retry_items,omitempty" jsonschema:"exactly what to send again"`
	CheckItems   []any          `json:"check_items,omitempty" jsonschema:"what may have taken effect although it failed: to be checked before it is sent again"`
	Omitted      map[string]int `json:"omitted,omitempty" jsonschema:"what was left out of this answer because it would be too long"`
}

// Counts say what became of the items of a batch, and why it did not run to its end.
type Counts struct {
	Total     int `json:"total"` // the sum of the other three
	Succeeded int `json:"succeeded"`
	Failed    int `json:"failed"`
	NotRun    int `json:"not_run" jsonschema:"items that were not begun before the batch was stopped"`

	// Stopped is "failures" (MaxFailures), "deadline" or "cancelled" (of the context), "shutdown"
	// (of the server), or "stuck" (too many items did not return in time). It is "" if the batch ran
	// to its end.
	Stopped string `json:"stopped,omitempty" jsonschema:"why the batch did not run to its end"`
}

// ErrorSummary is what the failures of a batch have in common.
type ErrorSummary struct {
	ByType           map[fault.Kind]int `json:"by_type" jsonschema:"how many items failed with each type of error"`
	RecoverableCount int                `json:"recoverable_count" jsonschema:"how many of them may succeed when they are sent again"`
	Suggestion       string             `json:"suggestion,omitempty" jsonschema:"what to do next"`
}

// OutputError is the failure of an item, as it stands in an answer: the members of a fault
// ("type", "message" ...), "index", "recoverable", and the key under the name that the
// options give it. It is a map because that name varies.
type OutputError map[string]any

// Fault returns the failure.
func (e OutputError) Fault() *fault.Error {
	f, _ := middleware.FaultOf(&mcp.CallToolResult{IsError: true, Meta: mcp.Meta{wire.ErrorKey: map[string]any(e)}}, nil)
	return f
}

// reserved are the names that KeyName cannot be: an OutputError has members with these
// names.
var reserved = func() map[string]bool {
	names := map[string]bool{"index": true, "recoverable": true}
	for i, members := 0, reflect.TypeFor[fault.Data](); i < members.NumField(); i++ {
		if name, _, _ := strings.Cut(members.Field(i).Tag.Get("json"), ","); name != "" { // else it is not sent
			names[name] = true
		}
	}
	return names
}()
