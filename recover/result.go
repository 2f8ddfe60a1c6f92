package recover

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/classify"
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
	// Err is what encoding/json said, or a [*PanicError] when a MarshalJSON
	// method panicked.
	Err error
}

// Error returns where and why. It is for the log.
func (e *MarshalError) Error() string {
	return "mcprecover: the result cannot be sent: " + e.Where + ": " + safe.Error(e.Err)
}

// Unwrap returns Err.
func (e *MarshalError) Unwrap() error { return e.Err }

// isNil reports whether there is no result. It is on the success path, so it
// knows the common types and asks reflection for the rest.
func isNil(res mcp.Result) bool {
	switch r := res.(type) {
	case nil:
		return true
	case *mcp.CallToolResult:
		return r == nil
	case *mcp.ReadResourceResult:
		return r == nil
	case *mcp.GetPromptResult:
		return r == nil
	case *mcp.CompleteResult:
		return r == nil
	case *mcp.ListToolsResult:
		return r == nil
	default:
		return safe.Nil(res)
	}
}

// nilResult turns a nil result into an error, except where it is right: a
// notification has none, and the answer of subscriptions/listen is the SDK's own.
func nilResult(c *call.Call, res mcp.Result) (mcp.Result, error) {
	if c.Notification() || c.Method() == call.MethodListen {
		return res, nil
	}
	return nil, bug(ErrNilResult)
}

func bug(err error) error { return classify.HideError(err, fault.Generic(fault.KindInternal)) }

// unsendable tells of a result that cannot be sent. Its handler came to an end, and
// nobody inside has seen a failure that could be guided: unless the tool only reads,
// the call may have taken effect.
func unsendable(c *call.Call, err error, told *fault.Error) error {
	bug := classify.Finding{Origin: classify.Bug, Fault: fault.Generic(fault.KindInternal)}
	retry := bug.Advise(classify.Hint{Effect: fault.EffectUnknown}, c.Safety(nil))
	if said, ok := told.Retry(); ok {
		retry.Reason = said.Reason
	}
	return classify.HideError(err, told.WithRetry(retry))
}

// tooLarge is what the caller reads of a result above the bound.
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

// tooLarge returns the size of a result that is above the bound, else 0. It counts and
// marshals nothing.
func (r *recovery) tooLarge(res mcp.Result) int {
	if r.maxResult == 0 {
		return 0
	}
	size := 0
	switch res := res.(type) {
	case *mcp.CallToolResult:
		for _, c := range res.Content {
			b, _ := blockOf(c)
			size += b.size
		}
		raw, _ := res.StructuredContent.(json.RawMessage)
		size += len(raw)
	case *mcp.ReadResourceResult:
		for _, c := range res.Contents {
			size += sizeOf(c)
		}
	case *mcp.GetPromptResult:
		for _, m := range res.Messages {
			b, _ := blockOf(m.Content)
			size += b.size
		}
	}
	if size <= r.maxResult {
		return 0
	}
	return size
}

// A block is what is looked at of content.
type block struct {
	meta, inner mcp.Meta // inner is that of a resource in it
	annotations *mcp.Annotations
	size        int // of its texts, and its data in base64
}

// blockOf reports false for nil and for what is of a type that only its maker knows. It is on the
// success path, so it knows the types and needs no reflection.
func blockOf(c mcp.Content) (_ block, known bool) {
	switch c := c.(type) {
	case *mcp.TextContent:
		if c != nil {
			return block{c.Meta, nil, c.Annotations, len(c.Text)}, true
		}
	case *mcp.ImageContent:
		if c != nil {
			return block{c.Meta, nil, c.Annotations, base64.StdEncoding.EncodedLen(len(c.Data))}, true
		}
	case *mcp.AudioContent:
		if c != nil {
			return block{c.Meta, nil, c.Annotations, base64.StdEncoding.EncodedLen(len(c.Data))}, true
		}
	case *mcp.ResourceLink:
		if c != nil {
			return block{c.Meta, nil, c.Annotations, len(c.URI) + len(c.Name) + len(c.Title) + len(c.Description)}, true
		}
	case *mcp.EmbeddedResource:
		if c != nil && c.Resource != nil {
			return block{c.Meta, c.Resource.Meta, c.Annotations, sizeOf(c.Resource)}, true
		} else if c != nil {
			return block{c.Meta, nil, c.Annotations, 0}, true
		}
	}
	return block{}, false
}

func sizeOf(r *mcp.ResourceContents) int {
	return len(r.URI) + len(r.Text) + base64.StdEncoding.EncodedLen(len(r.Blob))
}

// sendable returns res as it can be sent, or an error. Everything that cannot
// fail to be marshalled is told by its type, without JSON or reflection.
func sendable(ctx context.Context, method string, res mcp.Result) (mcp.Result, error) {
	var err error
	switch r := res.(type) {
	case *mcp.CallToolResult:
		return toolResult(ctx, r)
	case *mcp.ReadResourceResult:
		err = first(checkMeta(r.Meta), checkInput(r.InputRequests), each("contents", r.Contents, func(c *mcp.ResourceContents) error {
			return checkMeta(c.Meta)
		}))
	case *mcp.GetPromptResult:
		err = first(checkMeta(r.Meta), checkInput(r.InputRequests), each("messages", r.Messages, func(m *mcp.PromptMessage) error {
			return checkContent(m.Content)
		}))
	case *mcp.CompleteResult:
		err = checkMeta(r.Meta)
	case *mcp.ListToolsResult:
		err = first(checkMeta(r.Meta), each("tools", r.Tools, checkTool))
	case *mcp.ListPromptsResult:
		err = first(checkMeta(r.Meta), each("prompts", r.Prompts, func(p *mcp.Prompt) error {
			return first(checkMeta(p.Meta), each("arguments", p.Arguments, func(*mcp.PromptArgument) error { return nil }))
		}))
	case *mcp.ListResourcesResult:
		err = first(checkMeta(r.Meta), each("resources", r.Resources, func(r *mcp.Resource) error {
			return first(checkMeta(r.Meta), checkAnnotations(r.Annotations))
		}))
	case *mcp.ListResourceTemplatesResult:
		err = first(checkMeta(r.Meta), each("resourceTemplates", r.ResourceTemplates, func(t *mcp.ResourceTemplate) error {
			return first(checkMeta(t.Meta), checkAnnotations(t.Annotations))
		}))
	default:
		// The rest is rare (the start of a session) or of a type that only its
		// maker knows (a custom method).
		switch method {
		case call.MethodPing, call.MethodSetLevel, call.MethodSubscribe, call.MethodUnsubscribe, call.MethodListen:
			return res, nil
		}
		err = checkValue("result", res)
	}
	if err != nil {
		return nil, err
	}
	return res, nil
}

func toolResult(ctx context.Context, r *mcp.CallToolResult) (mcp.Result, error) {
	if len(r.Meta) > 0 {
		if err := checkMeta(r.Meta); err != nil {
			return nil, err
		}
	}
	for i, c := range r.Content {
		if err := checkContent(c); err != nil {
			return nil, at("content", i, err)
		}
	}
	if err := checkInput(r.InputRequests); err != nil {
		return nil, err
	}
	switch s := r.StructuredContent.(type) {
	case nil:
		return r, nil
	case json.RawMessage:
		if s != nil && !json.Valid(s) { // nil is null
			return nil, &MarshalError{Where: "structuredContent", Err: errors.New("it is raw JSON that is not valid")}
		}
		return r, nil
	}
	raw, err := marshal(r.StructuredContent)
	if err != nil {
		return nil, &MarshalError{Where: "structuredContent", Err: err}
	}
	if r.IsError && call.Cleans(ctx) {
		return r, nil
	}
	cp := *r
	cp.StructuredContent = json.RawMessage(raw)
	return &cp, nil
}

func checkContent(c mcp.Content) error {
	b, known := blockOf(c)
	switch {
	case known && b.meta == nil && b.inner == nil && b.annotations == nil:
		return nil
	case known:
		return first(checkMeta(b.inner), checkMeta(b.meta), checkAnnotations(b.annotations))
	case safe.Nil(c): // json.Marshal writes null, but not where it stands in a list
		return &MarshalError{Where: "content", Err: errors.New("it is nil")}
	default:
		return checkValue("content", c)
	}
}

func checkAnnotations(a *mcp.Annotations) error {
	if a == nil || a.Priority-a.Priority == 0 { // neither NaN nor infinite
		return nil
	}
	return &MarshalError{Where: "annotations", Err: fmt.Errorf("the priority is %v", a.Priority)}
}

func checkMeta(meta mcp.Meta) error {
	for key, value := range meta {
		switch v := value.(type) {
		case nil, string, bool, int, int64:
		case float64:
			if v-v != 0 {
				return &MarshalError{Where: "_meta[" + key + "]", Err: fmt.Errorf("it is %v", v)}
			}
		default:
			if err := checkValue("_meta["+key+"]", v); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkInput(requests mcp.InputRequestMap) error {
	if requests == nil {
		return nil
	}
	return checkValue("inputRequests", requests)
}

// each checks the items of a list, in which a nil pointer is an error.
func each[T any](name string, items []*T, check func(*T) error) error {
	for i, item := range items {
		if item == nil {
			return at(name, i, &MarshalError{Err: errors.New("it is nil")})
		}
		if err := check(item); err != nil {
			return at(name, i, err)
		}
	}
	return nil
}

// at says of an error in which item of a list it is.
func at(name string, i int, err error) error {
	where := fmt.Sprintf("%s[%d]", name, i)
	if e := (*MarshalError)(nil); errors.As(err, &e) {
		if e.Where != "" && e.Where != "content" {
			where += "." + e.Where
		}
		return &MarshalError{Where: where, Err: e.Err}
	}
	return &MarshalError{Where: where, Err: err}
}

func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// checkValue marshals a value to see whether it can be.
func checkValue(where string, v any) error {
	if _, err := marshal(v); err != nil {
		return &MarshalError{Where: where, Err: err}
	}
	return nil
}

// marshal guards a MarshalJSON method, which is untrusted.
func marshal(v any) (raw []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = classify.NewPanicError(p, 1)
		}
	}()
	return json.Marshal(v)
}

// checkedTools remembers the tools that were marshalled once, because a tool must
// not change after it was added (see [mcp.Server.AddTool]): without it every list of
// tools would be marshalled twice. It is as large as the tools that there are.
var checkedTools table.Weak[mcp.Tool, struct{}]

func checkTool(t *mcp.Tool) error {
	if _, checked := checkedTools.Get(t); checked {
		return nil
	}
	err := checkValue("tool", t)
	if err == nil {
		checkedTools.Set(t, struct{}{})
	}
	return err
}
