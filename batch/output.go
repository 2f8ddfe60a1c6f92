package batch

import (
	"encoding/json"
	"reflect"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/wire"
	"github.com/mcpchain/mcpchain/middleware"
)

// A Mode says which items an answer lists.
type Mode string

// The modes. The counts, the summary of the errors and what to send again are in each.
const (
	ModeAll          Mode = "all"           // what became of every item; the default
	ModeFailuresOnly Mode = "failures_only" // the errors
	ModeSummary      Mode = "summary"       // nothing
)

// An ErrorPolicy says when an answer is an error.
type ErrorPolicy uint8

// The policies.
const (
	ErrorWhenNothingSucceeded ErrorPolicy = iota // the default: see Result.Success
	ErrorWhenAnyFailed                           // or was not run
	ErrorNever
)

// OutputOptions say what [Result.Output] and [Result.ToolResult] make of a result. The
// zero value is the recommended default.
type OutputOptions struct {
	// Mode says which items are listed. Empty means [ModeAll].
	Mode Mode

	// MaxBytes bounds the text and the structured value, each. What does not fit is left
	// out: results first, then errors, then what to send again; the answer says how
	// many. Zero means 64 KiB, and 1 KiB is the least.
	MaxBytes int

	// ErrorWhen says when the answer is an error.
	ErrorWhen ErrorPolicy
}

// Output is the structured value of an answer, and the output of a typed tool that
// answers with a batch: the SDK infers its schema.
type Output[Out any] struct {
	Success     bool       `json:"success" jsonschema:"whether anything succeeded"`
	Message     string     `json:"message" jsonschema:"how the batch ended, in one sentence"`
	Total       int        `json:"total"`
	Succeeded   int        `json:"succeeded"`
	Failed      int        `json:"failed"`
	Skipped     int        `json:"skipped,omitempty" jsonschema:"items that were done already"`
	NotRun      int        `json:"not_run" jsonschema:"items that were not begun before the batch was stopped"`
	SuccessRate float64    `json:"success_rate" jsonschema:"from 0 to 1"`
	Stopped     StopReason `json:"stopped,omitempty" jsonschema:"why the batch did not run to its end"`

	Results      []OutputItem[Out] `json:"results,omitempty" jsonschema:"what became of the items that did not fail, in the order of the input"`
	Errors       []OutputError     `json:"errors,omitempty" jsonschema:"the items that failed, in the order of the input"`
	ErrorSummary *ErrorSummary     `json:"error_summary,omitempty"`
	RetryItems   []any             `json:"retry_items,omitempty" jsonschema:"exactly what to send again"`
	CheckItems   []any             `json:"check_items,omitempty" jsonschema:"what may have taken effect although it failed: to be checked before it is sent again"`
	Omitted      *Omitted          `json:"omitted,omitempty" jsonschema:"what was left out of this answer because it would be too long"`
}

// OutputItem is an item that did not fail, as it stands in an answer.
type OutputItem[Out any] struct {
	Index  int    `json:"index" jsonschema:"the place in the input, from 0"`
	Key    string `json:"key,omitempty"`
	Status string `json:"status" jsonschema:"succeeded, skipped or not_run"`
	Value  Out    `json:"value,omitempty"`

	raw json.RawMessage // the value as it was written when its size was measured
}

// MarshalJSON writes the value of an item that succeeded, whatever it is, and of others
// none. A null is left out: schemas of maps do not allow it.
func (i OutputItem[Out]) MarshalJSON() ([]byte, error) {
	raw := i.raw
	if raw == nil && i.Status == Succeeded.String() {
		var err error
		if raw, err = json.Marshal(i.Value); err != nil {
			return nil, err
		}
	}
	if string(raw) == "null" {
		raw = nil
	}
	return json.Marshal(struct {
		Index  int             `json:"index"`
		Key    string          `json:"key,omitempty"`
		Status string          `json:"status"`
		Value  json.RawMessage `json:"value,omitempty"`
	}{i.Index, i.Key, i.Status, raw})
}

// OutputError is a failure of an item, as it stands in an answer: the members of a
// fault ("type", "message" ...), "index", the key under the name that the options give
// it, and "recoverable". It is a map because of that name.
type OutputError map[string]any

// Fault returns the failure.
func (e OutputError) Fault() *fault.Error {
	f, _ := middleware.FaultOf(&mcp.CallToolResult{IsError: true, Meta: mcp.Meta{wire.ErrorKey: map[string]any(e)}}, nil)
	return f
}

// Index returns the item's place in the input.
func (e OutputError) Index() int {
	switch i := e["index"].(type) {
	case int:
		return i
	case float64: // decoded
		return int(i)
	case json.Number:
		n, _ := i.Int64()
		return int(n)
	default:
		return -1
	}
}

// reserved are the members of an OutputError that a key cannot be called.
var reserved = func() map[string]bool {
	names := map[string]bool{"index": true, "recoverable": true}
	for i, members := 0, reflect.TypeFor[fault.Data](); i < members.NumField(); i++ {
		name, _, _ := strings.Cut(members.Field(i).Tag.Get("json"), ",")
		names[name] = true
	}
	return names
}()

// Omitted counts what was left out of an answer.
type Omitted struct {
	Results    int `json:"results,omitempty"`
	Errors     int `json:"errors,omitempty"`
	RetryItems int `json:"retry_items,omitempty"`
	CheckItems int `json:"check_items,omitempty"`
	MaxBytes   int `json:"max_bytes" jsonschema:"the limit of this answer"`
}
