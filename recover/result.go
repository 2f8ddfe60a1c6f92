package recover

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/classify"
	"github.com/mcpchain/mcpchain/internal/failure"
	"github.com/mcpchain/mcpchain/internal/safe"
	"github.com/mcpchain/mcpchain/internal/table"
	"github.com/mcpchain/mcpchain/internal/words"
	"github.com/mcpchain/mcpchain/middleware"
)

var (
	// ErrNilResult is the error of a handler that returned neither a result nor an
	// error where the protocol wants one.
	ErrNilResult = errors.New("mcprecover: the handler returned neither a result nor an error")

	// ErrTooLarge is the error of a handler whose result is larger than
	// Options.MaxResult.
	ErrTooLarge = errors.New("mcprecover: the result is larger than Options.MaxResult")

	// ErrGoexit is the error of a function that ended its goroutine instead of
	// returning.
	ErrGoexit = errors.New("mcprecover: the function ended its goroutine with runtime.Goexit")
)

// A MarshalError is the error of a handler whose result cannot be written as
// JSON.
type MarshalError struct {
	// Where names the part of the result, such as "structuredContent" or
	// "content[2]".
	Where string
	// Err is what encoding/json said, or a [*fault.PanicError] when a MarshalJSON
	// method panicked.
	Err error
}

// Error returns where and why. It is for the log.
func (e *MarshalError) Error() string {
	return "mcprecover: the result cannot be sent: " + e.Where + ": " + safe.Error(e.Err)
}

// Unwrap returns Err.
func (e *MarshalError) Unwrap() error { return e.Err }

// isNil reports whether there is no result. It is on the success path of tools.
func isNil(res mcp.Result) bool {
	if tool, ok := res.(*mcp.CallToolResult); ok {
		return tool == nil
	}
	return safe.Nil(res)
}

// nilResult returns the error that replaces a nil result. It returns nil where no result is right:
// a notification has none, and the SDK itself answers subscriptions/listen.
func nilResult(c *call.Call) error {
	if c.Unanswered() {
		return nil
	}
	return classify.HideError(ErrNilResult, nil)
}

// unsendable returns the error for a result that cannot be sent, with public for the caller. The
// handler has finished, and the middlewares inside saw no failure that they could guide: unless the
// tool only reads, the call may have taken effect.
func unsendable(c *call.Call, err error, public *fault.Error) error {
	bug := &failure.Known{
		Finding: classify.Finding{Origin: classify.Bug, Fault: fault.Generic(fault.KindInternal), By: classify.Cut},
		Hint:    &fault.Hint{Effect: fault.EffectUnknown},
	}
	retry := failure.Again(bug, failure.Situation{Safety: func() failure.Safety { return c.Safety(nil) }, Witness: c.Witness()}).Retry
	if said, ok := public.Retry(); ok {
		retry.Reason = said.Reason
	}
	return classify.HideError(err, public.WithRetry(retry))
}

// oversized returns the error of a result above the bound, with the error of the call if it failed.
func oversized(res mcp.Result, size int) error {
	if tool, ok := res.(*mcp.CallToolResult); ok && tool.GetError() != nil {
		return fmt.Errorf("%w: %d bytes, of a call that failed: %w", ErrTooLarge, size, tool.GetError())
	}
	return fmt.Errorf("%w: %d bytes", ErrTooLarge, size)
}

// tooLarge returns the fault that the caller reads in the place of a result above the bound.
func tooLarge(method string, limit int) *fault.Error {
	suggestion := "Ask for less: a part, a page, or fewer items at a time, if the tool has an argument for it."
	if method != middleware.MethodCallTool {
		suggestion = "Ask for a part of it, if the server has one to ask for."
	}
	size := words.Plural(limit, "byte")
	if limit >= 10<<10 {
		size = words.Plural(limit>>10, "KiB", "KiB")
	}
	return fault.New(fault.KindClientError, "the result is larger than "+size+", which is the most that is sent").
		Suggest(suggestion).Never("The same call has the same result")
}

// sendable returns res in a form that can be sent, and how many bytes its texts and data have. It
// returns an error if res cannot be sent.
func sendable(c *call.Call, res mcp.Result) (_ mcp.Result, size int, err error) {
	var l look
	var wrong *MarshalError
	switch r := res.(type) {
	case *mcp.CallToolResult:
		res, wrong = l.toolResult(c, r)
	case *mcp.ReadResourceResult, *mcp.GetPromptResult, *mcp.CompleteResult,
		*mcp.ListToolsResult, *mcp.ListPromptsResult, *mcp.ListResourcesResult, *mcp.ListResourceTemplatesResult:
		wrong = l.at(reflect.ValueOf(r))
	default: // rare: the answer to initialize, for example, or a type of another package
		wrong = below("result", marshals(r))
	}
	if wrong != nil {
		wrong.Where = strings.TrimPrefix(wrong.Where, ".")
		return nil, 0, wrong
	}
	return res, l.size, nil
}

// A look at a result finds what encoding/json could not write, and adds up the bytes of texts and
// data, in base64. It walks through the SDK's types, which costs less than JSON, and marshals the
// values of other types.
type look struct{ size int }

func (l *look) toolResult(of *call.Call, r *mcp.CallToolResult) (mcp.Result, *MarshalError) {
	for i, c := range r.Content {
		if t, ok := c.(*mcp.TextContent); ok && t != nil && t.Meta == nil && t.Annotations == nil {
			l.size += len(t.Text) // most content, without reflection
		} else if err := l.at(reflect.ValueOf(r.Content).Index(i)); err != nil {
			return nil, below(fmt.Sprintf("content[%d]", i), err)
		}
	}
	if err := meta(r.Meta); err != nil {
		return nil, below("_meta", err)
	}
	if r.InputRequests != nil {
		if err := marshals(r.InputRequests); err != nil {
			return nil, below("inputRequests", err)
		}
	}
	if r.StructuredContent == nil {
		return r, nil
	}
	raw, isRaw := r.StructuredContent.(json.RawMessage)
	var err error
	if !isRaw {
		raw, err = classify.JSON(r.StructuredContent)
	} else if raw != nil && !json.Valid(raw) { // nil is null
		err = errors.New("it is raw JSON that is not valid")
	}
	if err != nil {
		return nil, &MarshalError{Where: "structuredContent", Err: err}
	}
	l.size += len(raw)
	if isRaw || r.IsError && of.Cleans() {
		return r, nil
	}
	cp := *r
	cp.StructuredContent = raw
	return &cp, nil
}

var sdkPath = reflect.TypeFor[mcp.Tool]().PkgPath()

// at checks a value. Its error says which part below the value cannot be written.
func (l *look) at(v reflect.Value) *MarshalError {
	t := v.Type()
	of := t.PkgPath()
	if v.Kind() == reflect.Pointer {
		of = t.Elem().PkgPath()
	}
	if of != "" && of != sdkPath { // it may have methods of its own
		return marshals(v.Interface())
	}
	switch v.Kind() {
	case reflect.String:
		l.size += v.Len()
	case reflect.Float64:
		return value(v.Float())
	case reflect.Interface:
		switch {
		case t.NumMethod() == 0:
			return value(v.Interface())
		case safe.Nil(v.Interface()): // the method that writes it would panic
			return errNil
		}
		if e := v.Elem(); e.Kind() == reflect.Pointer && e.Type().Elem().PkgPath() == sdkPath {
			return l.at(e)
		}
		return marshals(v.Interface()) // it wraps a type of the SDK, and may have a MarshalJSON of its own
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		if tool, ok := reflect.TypeAssert[*mcp.Tool](v); ok {
			return checkTool(tool)
		}
		return l.at(v.Elem())
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			l.size += base64.StdEncoding.EncodedLen(v.Len())
			return nil
		}
		for i := range v.Len() {
			e := v.Index(i)
			err := l.at(e)
			if e.Kind() == reflect.Pointer && e.IsNil() { // JSON writes null for it
				err = errNil
			}
			if err != nil {
				return below(fmt.Sprintf("[%d]", i), err)
			}
		}
	case reflect.Map:
		if m, ok := reflect.TypeAssert[mcp.Meta](v); ok {
			return meta(m)
		}
		return marshals(v.Interface())
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Field(i); f.CanInterface() {
				if err := l.at(f); err != nil {
					name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
					return below("."+cmp.Or(name, t.Field(i).Name), err)
				}
			}
		}
	}
	return nil
}

var errNil = &MarshalError{Err: errors.New("it is nil")}

func meta(meta mcp.Meta) *MarshalError {
	for key, v := range meta {
		if err := value(v); err != nil {
			return below("["+key+"]", err)
		}
	}
	return nil
}

// value checks a value of any type, which may have methods of its own.
func value(v any) *MarshalError {
	switch v := v.(type) {
	case nil, string, bool, int, int64:
		return nil
	case float64:
		if v-v == 0 { // neither NaN nor infinite
			return nil
		}
		return &MarshalError{Err: fmt.Errorf("it is %v", v)}
	default:
		return marshals(v)
	}
}

// below puts the name of a part before the place of an error.
func below(part string, err *MarshalError) *MarshalError {
	if err == nil {
		return nil
	}
	return &MarshalError{Where: part + err.Where, Err: err.Err}
}

// marshals says why a value cannot be marshalled.
func marshals(v any) *MarshalError {
	if _, err := classify.JSON(v); err != nil {
		return &MarshalError{Err: err}
	}
	return nil
}

// checkedTools remembers the tools that were marshalled once: a tool must not change after it was
// added (see [mcp.Server.AddTool]). Without it every list of tools would be marshalled twice. It
// has one entry for each tool that is in use.
var checkedTools table.Weak[mcp.Tool, struct{}]

func checkTool(t *mcp.Tool) *MarshalError {
	if _, checked := checkedTools.Get(t); checked {
		return nil
	}
	err := marshals(t)
	if err == nil {
		checkedTools.Set(t, struct{}{})
	}
	return err
}
