// Package outcome has a type for tools whose negative answers are normal results: no seat
// is left, the card was declined, the name is taken.
//
//	func reserve(_ context.Context, _ *mcp.CallToolRequest, in request) (*mcp.CallToolResult, outcome.Of[seat], error) {
//		free, ok := find(in.Row)
//		if !ok {
//			return nil, outcome.Failure[seat](fault.New("sold_out", "no seat is left in row "+in.Row)), nil
//		}
//		return nil, outcome.Success(free), nil
//	}
//
//	mcp.AddTool(server, &mcp.Tool{Name: "reserve", OutputSchema: outcome.Schema[seat]("sold_out")}, reserve)
//
// The structured content of the answer has one of two forms; "success" says which:
//
//	{"success":true,"data":{"seat":"7a"}}
//	{"success":false,"error":{"type":"sold_out","message":"no seat is left in row 7"}}
//
// A client reads it back into the same type:
//
//	got, err := outcome.Read[seat](session.CallTool(ctx, params))
//	if err != nil {
//		return err // the call failed
//	}
//	switch data, no := got.Get(); no.Kind() {
//	case "":
//		fmt.Println("reserved", data.Seat)
//	case "sold_out":
//		...
//	}
//
// # An outcome or a fault
//
// Return an outcome if the tool worked and its answer is no. A program will branch on the
// answer, the output schema of the tool declares it, and no operator has to look into it.
// All middlewares treat it as a success: they do not record it as a failure, count it in
// the loop breaker of package retry, try again or mask it.
//
// Return a fault, as an error, if the call failed: wrong arguments, no permission, a
// service that is down, a bug. Then isError is set, the text says whether to call again,
// and the failure is recorded.
//
// Only the public part of the fault in an outcome is sent, never its cause.
package outcome

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/failure"
)

// Of is the output of a typed tool: data, or an expected error. Make one with [Success] or
// [Failure]; the zero value cannot be written as JSON.
//
// The SDK infers an output schema from it. Both forms fit that schema; [Schema] is stricter.
type Of[T any] struct {
	Success bool   `json:"success" jsonschema:"whether there is data; if not, there is an error"`
	Data    *T     `json:"data,omitempty"`
	Error   *Error `json:"error,omitempty" jsonschema:"why not: an expected answer, not a failure of the call"`
}

// An Error is the public part of a fault.
type Error struct {
	fault.Data

	// RecoverySteps are the steps of the fault, as they are sent.
	RecoverySteps []any `json:"recovery_steps,omitempty" jsonschema:"what to do now"`
}

// Success returns the outcome with data.
func Success[T any](data T) Of[T] { return Of[T]{Success: true, Data: &data} }

// Failure returns the outcome that says why there is no data. A client branches on the kind
// of the fault, so use kinds of your own, such as "sold_out".
func Failure[T any](f *fault.Error) Of[T] {
	if f == nil {
		return Of[T]{}
	}
	e := &Error{Data: f.Data()}
	for _, step := range e.Data.RecoverySteps {
		e.RecoverySteps = append(e.RecoverySteps, step)
	}
	e.Data.RecoverySteps = nil
	return Of[T]{Error: e}
}

// Get returns the data and nil, or the zero T and why there is none.
func (o Of[T]) Get() (T, *fault.Error) {
	if o.Success && o.Data != nil {
		return *o.Data, nil
	}
	var none T
	return none, o.Error.fault()
}

// fault returns the fault that e was made of, without its cause.
func (e *Error) fault() *fault.Error {
	if e == nil {
		return fault.New(fault.KindInternal, errZero.Error())
	}
	var f fault.Error
	raw, err := json.Marshal(e)
	if err == nil {
		err = f.UnmarshalJSON(raw)
	}
	if err != nil { // a client received something that is no fault
		return fault.FromData(fault.Data{Type: e.Type, Message: e.Message})
	}
	return &f
}

var (
	errZero = errors.New("outcome: there is neither data nor an error; use Success or Failure")
	errBoth = errors.New("outcome: there are data and an error, or the one that success does not tell of")
)

// check returns an error unless o is one of the two forms.
func (o Of[T]) check() error {
	switch {
	case o.Data == nil && o.Error == nil:
		return errZero
	case o.Success != (o.Data != nil) || o.Success == (o.Error != nil):
		return errBoth
	default:
		return nil
	}
}

// MarshalJSON writes one of the two forms, and fails for anything else.
func (o Of[T]) MarshalJSON() ([]byte, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	type plain Of[T] // without this method
	return json.Marshal(plain(o))
}

// UnmarshalJSON reads one of the two forms, and fails for anything else.
func (o *Of[T]) UnmarshalJSON(raw []byte) error {
	type plain Of[T] // without this method
	var members struct {
		Data json.RawMessage `json:"data"`
	}
	var p plain
	if err := errors.Join(json.Unmarshal(raw, &p), json.Unmarshal(raw, &members)); err != nil {
		return fmt.Errorf("outcome: %w", err)
	}
	if p.Data == nil && members.Data != nil { // null is data if T allows it
		p.Data = new(T)
		if err := json.Unmarshal(members.Data, p.Data); err != nil {
			return fmt.Errorf("outcome: %w", err)
		}
	}
	if err := Of[T](p).check(); err != nil {
		return err
	}
	*o = Of[T](p)
	return nil
}

// Schema returns the output schema of a tool with outcomes, for [mcp.Tool.OutputSchema]: an
// object whose "success" says which of the two forms it has. If kinds are given, the type
// of an error is one of them. It panics for a type that has no schema.
func Schema[T any](kinds ...fault.Kind) *jsonschema.Schema {
	s, err := jsonschema.For[Of[T]](nil)
	if err != nil {
		panic(fmt.Sprintf("outcome.Schema: %v; give a type that JSON can hold, or write the schema by hand", err))
	}
	if s.Properties["data"], err = jsonschema.For[T](nil); err != nil {
		panic(fmt.Sprintf("outcome.Schema: %v; give a type that JSON can hold, or write the schema by hand", err))
	}
	e := s.Properties["error"]
	e.Type, e.Types = "object", nil // never null
	if len(kinds) > 0 {
		e.Properties["type"].Enum = nil
		for _, kind := range slices.Compact(slices.Sorted(slices.Values(kinds))) {
			e.Properties["type"].Enum = append(e.Properties["type"].Enum, string(kind))
		}
	}
	form := func(success bool, has, hasNot string) *jsonschema.Schema {
		return &jsonschema.Schema{
			Properties: map[string]*jsonschema.Schema{"success": {Const: jsonschema.Ptr[any](success)}},
			Required:   []string{"success", has},
			Not:        &jsonschema.Schema{Required: []string{hasNot}},
		}
	}
	s.OneOf = []*jsonschema.Schema{form(true, "data", "error"), form(false, "error", "data")}
	return s
}

// Read returns the outcome of a call, on a client. Pass it what CallTool returned. If the
// call failed, the error is a *fault.Error. If the answer is no outcome, the error says
// why.
func Read[T any](res *mcp.CallToolResult, err error) (Of[T], error) {
	if err != nil {
		return Of[T]{}, err
	}
	if f, failed := failure.FaultOf(res, nil); failed {
		return Of[T]{}, f
	}
	if res == nil {
		return Of[T]{}, errors.New("outcome: there is no result")
	}
	raw, err := json.Marshal(res.StructuredContent)
	if err != nil {
		return Of[T]{}, fmt.Errorf("outcome: %w", err)
	}
	if res.StructuredContent == nil && len(res.Content) > 0 { // it was dropped on the way, but the text is the same JSON
		if text, ok := res.Content[0].(*mcp.TextContent); ok && text != nil {
			raw = []byte(text.Text)
		}
	}
	var o Of[T]
	if err := o.UnmarshalJSON(raw); err != nil {
		return Of[T]{}, err
	}
	return o, nil
}
