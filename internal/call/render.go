package call

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/internal/classify"
	"github.com/mcpchain/mcpchain/internal/failure"
	"github.com/mcpchain/mcpchain/internal/faults"
	"github.com/mcpchain/mcpchain/internal/sink"
	"github.com/mcpchain/mcpchain/internal/table"
	"github.com/mcpchain/mcpchain/internal/wire"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/kinds"
	"github.com/mcpchain/mcpchain/internal/safe"
	"github.com/mcpchain/mcpchain/internal/scrub"
	"github.com/mcpchain/mcpchain/internal/words"
)

// Rendering says how failures are written on the wire, see middleware.RenderOptions.
type Rendering struct{ JSON, Structured, LegacyCodes bool }

// answer renders the answer of a failed call.
func (c *Call) answer(res mcp.Result, err error, f *failure.Failure) (mcp.Result, error) {
	// A middleware of the user's may have copied the result from which the failure was made. The SDK
	// does not send a result that came with an error. Neither do we, except for our own keys in its
	// _meta.
	tool, _ := res.(*mcp.CallToolResult)
	if err != nil && tool != nil {
		tool = c.ours(tool)
	}
	switch {
	case (err == nil || tool == nil) && c.passes(f, err):
		return res, err
	case f.Wire() != nil:
		return nil, c.protocolError(f)
	case tool != nil && f.LeftAlone():
		return c.ownWords(f, tool), nil
	case tool != nil && f.View().Beside && c.settings().KeepBlocks && !f.View().Protocol:
		return c.besideOwnWords(f, tool), nil
	case c.method == MethodCallTool && !f.View().Protocol:
		return c.toolResult(f, tool), nil
	default:
		return nil, c.methodError(f)
	}
}

// passes reports whether a failure is sent unchanged: no middleware of the Call rewords failures,
// and none has added anything to this one. A failure that cannot be sent or has no text is not
// passed.
func (c *Call) passes(f *failure.Failure, err error) bool {
	return !c.settings().words() && !c.part && f.Foreign() && !c.serverEnded() && sendable(err) && (f.Err() == nil || safe.Error(f.Err()) != "")
}

// sendable reports whether the SDK can send an error, which is nil for a result. The SDK calls
// Error and searches what it wraps for a protocol error, without a bound. So no method may panic,
// the wrapped errors must end, and the data of the protocol error must be JSON.
func sendable(err error) (ok bool) {
	if err == nil {
		return true
	}
	defer func() { ok = recover() == nil && ok }()
	left := maxWrapped
	wire, found := protocolErrorIn(err, &left)
	if left < 0 || found && (wire == nil || len(wire.Data) > 0 && !json.Valid(wire.Data)) {
		return false
	}
	_ = err.Error()
	return true
}

// maxWrapped bounds the errors in which sendable looks for a protocol error.
const maxWrapped = 1000

// protocolErrorIn is errors.As for a protocol error, with a bound.
func protocolErrorIn(err error, left *int) (wire *jsonrpc.Error, found bool) {
	for err != nil {
		if *left--; *left < 0 {
			return nil, false
		}
		if wire, found = err.(*jsonrpc.Error); found {
			return wire, true
		}
		if as, ok := err.(interface{ As(target any) bool }); ok && as.As(&wire) {
			return wire, true
		}
		switch inner := err.(type) {
		case interface{ Unwrap() error }:
			err = inner.Unwrap()
		case interface{ Unwrap() []error }:
			for _, e := range inner.Unwrap() {
				if wire, found = protocolErrorIn(e, left); found || *left < 0 {
					return wire, found
				}
			}
			return nil, false
		default:
			return nil, false
		}
	}
	return nil, false
}

// ownWords writes a failure that a tool reported in its own words. The words stay, without
// credentials and without what the program itself hides; _meta gets the reference of the record.
func (c *Call) ownWords(f *failure.Failure, have *mcp.CallToolResult) *mcp.CallToolResult {
	res := c.clean(have)
	if c.referable(f) {
		res, _ = edited(res, func(r *mcp.CallToolResult) bool {
			r.Meta = withMeta(r.Meta, wire.ReferenceKey, c.ID())
			return true
		})
	}
	return res
}

// clean returns the result in which a tool reports a failure in its own words as its caller may read it.
func (c *Call) clean(have *mcp.CallToolResult) *mcp.CallToolResult {
	if s := c.settings(); s.Mask != nil {
		return reported(have, s.Own, s.Mask)
	}
	return have
}

// besideOwnWords writes a failure that a tool reported in its own words and that was explained, see
// [Settings.KeepBlocks]: many clients show a model only the first block.
func (c *Call) besideOwnWords(f *failure.Failure, have *mcp.CallToolResult) *mcp.CallToolResult {
	e, _ := c.public(f)
	res := *c.clean(have) // keeps the SDK's unexported fields
	res.Meta = withMeta(res.Meta, wire.ErrorKey, e)
	res.Content = below(res.Content, strings.TrimPrefix(c.finished(e, "\n"+faults.Besides(e)), "\n"))
	return &res
}

// below returns content with a text below the words of its first text, or in front of content without
// one.
func below(content []mcp.Content, text string) []mcp.Content {
	if text == "" {
		return content
	}
	for i, block := range content {
		if own, ok := block.(*mcp.TextContent); ok && own != nil {
			with := *own
			if with.Text != "" && !strings.HasSuffix(with.Text, "\n") {
				with.Text += "\n"
			}
			with.Text += text
			content = slices.Clone(content)
			content[i] = &with
			return content
		}
	}
	return append(textOf(text), content...)
}

// ours returns a result with only mcpchain's own _meta keys, nil if there are none.
func (c *Call) ours(tool *mcp.CallToolResult) *mcp.CallToolResult {
	meta := maps.Clone(tool.Meta)
	maps.DeleteFunc(meta, func(key string, _ any) bool { return !strings.HasPrefix(key, wire.Prefix) })
	if len(meta) == 0 {
		return nil
	}
	res := NewResult(c.req)
	res.Meta, res.IsError = meta, true
	return res
}

// Cleans reports whether the renderer masks the structured content of a failed tool call. The
// content must keep its Go types until then: JSON does not show that a value was an error or bytes.
func (c *Call) Cleans() bool { return c.settings().Mask != nil }

// giveUp answers when untrusted code panicked while the answer was rendered.
func (c *Call) giveUp(p any) (mcp.Result, error) {
	sink.Report("an answer could not be rendered", p)
	e := fault.Generic(fault.KindInternal)
	if c.method != MethodCallTool {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: e.Error(), Data: jsonOf(e)}
	}
	res := NewResult(c.req)
	res.Meta, res.Content, res.IsError = mcp.Meta{wire.ErrorKey: e}, textOf(e.Error()), true
	return res, nil
}

// toolResult writes a failed tool call. have is the result that it came with, nil
// if it came as an error.
func (c *Call) toolResult(f *failure.Failure, have *mcp.CallToolResult) *mcp.CallToolResult {
	e, showReference := c.public(f)
	var res *mcp.CallToolResult
	if have != nil {
		cp := *have // keeps the SDK's unexported fields: the result type and the error
		res = &cp
	} else {
		res = NewResult(c.req)
		res.IsError = true
	}
	mask := c.settings().Mask
	if len(res.Meta) > 0 && mask != nil {
		masking(mask).clean(&res.Meta)
		stepsIn(res, mask)
	}
	res.Meta = withMeta(res.Meta, wire.ErrorKey, e)
	render := c.settings().Render
	if f.View().Own {
		if !c.isMasked(have) {
			res.Content = masking(mask).content(res.Content)
			res.StructuredContent = masked(res.StructuredContent, mask)
		}
		if len(res.Content) == 0 {
			res.Content = textOf(e.Text()) // the caller must read something
		}
		return res
	}
	var text string
	if render.JSON {
		text = envelope(e)
	} else {
		text = c.text(e, showReference)
	}
	res.StructuredContent, res.InputRequests, res.RequestState = nil, nil, ""
	if render.Structured {
		if tool, err := c.Server().Tool(nil); err == nil && tool.OutputSchema == nil {
			res.StructuredContent = json.RawMessage(envelope(e))
		}
	}
	res.Content = textOf(text)
	if res.GetError() == nil {
		res.SetError(f.Err()) // does not replace the content
	}
	return res
}

// text returns the finished text of a failure. Finished runs last, because parts that are harmless
// alone may form a secret together. The corrected call follows unchanged: see [Call.Corrected].
func (c *Call) text(e *fault.Error, reference bool) string {
	if !reference {
		return c.finished(e, e.Text())
	}
	whole := e.Error()
	if before, ok := strings.CutSuffix(whole, words.ToReport); ok && c.settings().Trust == failure.Operator {
		whole = before + words.InLog
	}
	return c.finished(e, whole)
}

// finished returns a text of a failure as its caller gets it.
func (c *Call) finished(e *fault.Error, whole string) string {
	finished := c.settings().finished()
	line := faults.Tries(e)
	if line == "" {
		return finished(whole)
	}
	i := strings.LastIndex(whole, "\nTry: "+line) // a correction contains no line break, so the last one is ours
	return finished(whole[:i]) + whole[i:]
}

// Corrected returns the fault with what may be shown of its corrected call, in the text and in the
// machine form. If something is hidden in the whole line only, nobody knows in which value it stands:
// the call is left out.
func (c *Call) Corrected(e *fault.Error) *fault.Error {
	if _, arguments := faults.Correction(e); len(arguments) == 0 {
		return e
	}
	shown := c.settings().finished()
	if mask := c.settings().Mask; mask != nil {
		shown = inTurn(mask, shown)
	}
	e = faults.HidingBy(e, shown)
	line := strings.ReplaceAll(faults.Tries(e), string(words.AsSent), `"`+scrub.Redacted+`"`)
	if shown(line) != line {
		return faults.Corrected(e, "", nil)
	}
	return e
}

// textOf returns content with one text.
func textOf(text string) []mcp.Content {
	one := &struct {
		text mcp.TextContent
		list [1]mcp.Content
	}{text: mcp.TextContent{Text: text}}
	one.list[0] = &one.text
	return one.list[:]
}

// methodError writes the failure of any other method.
func (c *Call) methodError(f *failure.Failure) *jsonrpc.Error {
	e, showReference := c.public(f)
	data := struct {
		fault.Data
		URI string `json:"uri,omitempty"`
	}{Data: e.Data()}
	if c.method == MethodReadResource && e.Kind() == fault.KindNotFound {
		data.URI = Target(c.req)
	}
	wire := &jsonrpc.Error{Code: codeOf(e, c.settings().Render.LegacyCodes), Message: c.text(e, showReference), Data: jsonOf(data)}
	rendered.Set(wire, f.Err())
	return wire
}

// public returns the fault as the caller gets it, with its reference. showReference reports whether
// the text shows the reference too, because the log knows more than the caller reads. There is no
// reference without a record.
func (c *Call) public(f *failure.Failure) (_ *fault.Error, showReference bool) {
	e, s, v := c.executable(f.Fault()), c.settings(), f.View()
	switch f.Text(s.Mask != nil) {
	case failure.AsItIs:
		if v.Beside && s.Mask != nil {
			e = e.WithMessage(c.besideMessage(f, e.Message()))
		}
	case failure.Original:
		e = e.WithMessage(clip(safe.Error(f.Err())))
	case failure.Scrubbed:
		if v.Quotes {
			e = c.quoted(f, e)
		}
		if v.Own && e.Message() == failure.ContentText(f.Result().Content) {
			// Masked before it is cut, because half of a secret would not be recognised.
			e = e.WithMessage(failure.ContentText(masking(s.Mask).content(f.Result().Content)))
		}
		e = faults.ScrubbedBy(e, s.Mask)
	}
	e = c.Corrected(e)
	if methods[c.method].client && e.Kind() == fault.KindInternal && !f.Worded() {
		e = e.WithMessage("the client failed unexpectedly")
	}
	if v.Says.Status != 0 && v.Origin != classify.Worded {
		e = e.With("status_code", v.Says.Status)
	}
	if v.Party != "" && e.Party() == "" {
		e = e.WithParty(v.Party)
	}
	if e.Message() == "" {
		e = e.WithMessage(fault.Generic(e.Kind()).Message()) // the sentence that the text shows
	}
	if v.Own && e.Reference() != "" {
		return e, false // rendered by another server, or before a middleware lost the context
	}
	if !c.referable(f) {
		return e, false
	}
	return faults.WithReference(e, c.ID()), v.Refers
}

// besideMessage returns the message of a failure that explains the words of others.
func (c *Call) besideMessage(f *failure.Failure, message string) string {
	s := c.settings()
	if res := f.Result(); res != nil && message == failure.ContentText(res.Content) {
		// Masked before it is cut, as above.
		return failure.ContentText(masking(s.Mask).content(res.Content))
	}
	return s.Mask(message)
}

// referable reports whether the failure is recorded, or will be, under the ID of the call. subscriptions/listen
// is not recorded.
func (c *Call) referable(f *failure.Failure) bool {
	return f.Recorded() || c.settings().Recorder != nil && c.method != MethodListen
}

// quoted adds the words of a service to a fault, if Quote allows it: as a quotation in one line.
func (c *Call) quoted(f *failure.Failure, e *fault.Error) *fault.Error {
	said, host, errorType := f.View().Upstream()
	if said = words.Line(scrub.TextBut(said, c.Sent())); said == "" || !c.settings().Quote(host, errorType) {
		return e
	}
	return e.WithMessage(strings.TrimRight(e.Message(), ".") + ". The service says: " + words.Quote(said, failure.MaxRepeated))
}

// protocolError returns the deliberate protocol error alone: the texts of errors around it were not
// written for the caller, except for the SDK's.
func (c *Call) protocolError(f *failure.Failure) error {
	if text := safe.Error(f.Err()); classify.SDKChecks[text] {
		return f.Err()
	}
	wire, scrubbed := f.Wire(), f.View().Text == failure.Scrubbed || f.View().Beside && c.settings().Mask != nil
	message, data := wire.Message, wire.Data
	if scrubbed {
		message = c.settings().Mask(message)
	}
	broken := len(data) > 0 && !json.Valid(data)
	if broken {
		// The SDK could not send it, and over stdio the session would break. The SDK makes such data
		// itself, from the strange URI of an unknown resource.
		data = nil
		if c.method == MethodReadResource && wire.Code == jsonrpc.CodeInvalidParams {
			if uri, err := json.Marshal(map[string]string{"uri": Target(c.req)}); err == nil {
				data = uri
			}
		}
	}
	if f.View().Origin != classify.Explained { // whose lines of ours must not be quoted
		message = words.Free(message, false)
	}
	if scrubbed && len(data) > 0 {
		data = scrub.Cleaner{Text: c.settings().Mask}.JSON(data)
	}
	if message == wire.Message && bytes.Equal(data, wire.Data) {
		return wire
	}
	return &jsonrpc.Error{Code: wire.Code, Message: message, Data: data}
}

// rendered finds the original error of a protocol error that a Call rendered. It is for a user's
// middleware that does not pass on its context: then the middlewares inside it open a second Call
// and render, and the mask outside must not take that answer for a deliberate protocol error. A
// result of a tool carries its original itself, in GetError; a protocol error has no place for it.
var rendered table.Weak[jsonrpc.Error, error]

// completeResult has the result type that clients of protocol version 2026-07-28
// and later require, which only the SDK can set.
var completeResult = func() mcp.CallToolResult {
	var res mcp.CallToolResult
	if err := json.Unmarshal([]byte(`{"content":[],"resultType":"complete"}`), &res); err != nil {
		panic("middleware: the SDK does not read its own results: " + err.Error())
	}
	return res
}()

const version20260728 = "2026-07-28"

// NewResult returns an empty result of a tool that is complete in the protocol version of
// the request.
func NewResult(req mcp.Request) *mcp.CallToolResult {
	if olderThan20260728(req) {
		return &mcp.CallToolResult{}
	}
	res := completeResult
	return &res
}

// olderThan20260728 reports whether a request has an older protocol version. A request of a custom
// method may have none.
func olderThan20260728(req mcp.Request) (older bool) {
	r, ok := req.(interface{ ProtocolVersion() string })
	if ok && !safe.Nil(req) {
		safe.Call(func() { older = r.ProtocolVersion() < version20260728 }, nil)
	}
	return older
}

func envelope(e *fault.Error) string {
	return string(jsonOf(struct {
		Success bool         `json:"success"`
		Error   *fault.Error `json:"error"`
	}{Error: e}))
}

// jsonOf returns the JSON of a value that always has one, such as a fault or a text.
func jsonOf(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return raw
}

// WithMeta returns a copy of the result of a tool, a resource, a prompt or a completion with one
// more member in its _meta. It does not write to anything that a handler may have shared. Other
// results are returned unchanged.
func WithMeta(res mcp.Result, key string, value any) mcp.Result {
	add := func(meta *mcp.Meta) bool {
		*meta = withMeta(*meta, key, value)
		return true
	}
	switch r := res.(type) {
	case *mcp.CallToolResult:
		res, _ = edited(r, func(r *mcp.CallToolResult) bool { return add(&r.Meta) })
	case *mcp.ReadResourceResult:
		res, _ = edited(r, func(r *mcp.ReadResourceResult) bool { return add(&r.Meta) })
	case *mcp.GetPromptResult:
		res, _ = edited(r, func(r *mcp.GetPromptResult) bool { return add(&r.Meta) })
	case *mcp.CompleteResult:
		res, _ = edited(r, func(r *mcp.CompleteResult) bool { return add(&r.Meta) })
	}
	return res
}

// withMeta returns meta with one more key. It does not write to meta, which a handler may have
// shared.
func withMeta(meta mcp.Meta, key string, value any) mcp.Meta {
	if len(meta) == 0 {
		return mcp.Meta{key: value}
	}
	meta = maps.Clone(meta)
	meta[key] = value
	return meta
}

// codeOf returns the JSON-RPC code with which a fault is sent.
func codeOf(e *fault.Error, legacy bool) int64 {
	retry, _ := e.Retry()
	return kinds.CodeOf(string(e.Kind()), legacy, retry.ShouldRetry)
}
