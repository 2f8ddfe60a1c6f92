package mcpgo

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/middleware"
)

// The texts that middlewares see share memory with those that the handler returned. Other
// content is rare, and is converted through JSON.

var tools = &kind[mcpgo.CallToolRequest, *mcpgo.CallToolResult]{
	method: middleware.MethodCallTool,
	request: func(own *mcpgo.CallToolRequest, session *mcp.ServerSession) mcp.Request {
		p := &own.Params
		if len(p.RawArguments) == 0 && p.Arguments != nil {
			if raw, err := json.Marshal(p.Arguments); err == nil { // a program called the handler, without a message
				p.RawArguments = raw
			}
		}
		params := &mcp.CallToolParamsRaw{Meta: metaOf(p.Meta), Name: p.Name, Arguments: p.RawArguments, RequestState: p.RequestState}
		params.InputResponses = responses(p.InputResponses)
		return &mcp.CallToolRequest{Session: session, Params: params, Extra: extra(own.Header)}
	},
	changed: func(own mcpgo.CallToolRequest, req mcp.Request) (mcpgo.CallToolRequest, error) {
		r, err := as[*mcp.CallToolRequest](req)
		if err != nil {
			return own, err
		}
		own.Params.Name = r.Params.Name
		if args := r.Params.Arguments; !shared(args, own.Params.RawArguments) {
			own.Params.RawArguments, own.Params.Arguments = args, nil
			if len(args) > 0 {
				err = json.Unmarshal(args, &own.Params.Arguments)
			}
		}
		return own, err
	},
	fails: wrongArguments,
	view: func(own *mcpgo.CallToolResult) (mcp.Result, error) {
		if own == nil {
			return nil, nil //nolint:nilnil // as the handler did
		}
		view := &mcp.CallToolResult{Meta: metaOf(own.Meta), IsError: own.IsError}
		if own.NeedsInput() {
			view.InputRequests = asking
			return view, nil
		}
		var err error
		if view.Content, err = contents(own.Content); err != nil {
			return nil, err
		}
		if len(own.RawStructuredContent) > 0 {
			view.StructuredContent = own.RawStructuredContent
		} else if own.StructuredContent != nil {
			// Encode it here: later, package recover would return a copy that has it
			// encoded.
			raw, err := json.Marshal(own.StructuredContent)
			if err != nil {
				return nil, err
			}
			view.StructuredContent = json.RawMessage(raw)
		}
		return view, nil
	},
	same: func(own *mcpgo.CallToolResult, res mcp.Result) bool {
		view, _ := res.(*mcp.CallToolResult)
		if own.NeedsInput() {
			return true
		}
		if len(view.Content) != len(own.Content) || view.IsError != own.IsError || len(view.Meta) != len(metaOf(own.Meta)) {
			return false
		}
		for i, c := range view.Content {
			is, ok := c.(*mcp.TextContent)
			if was, text := own.Content[i].(mcpgo.TextContent); text && (!ok || is == nil || is.Text != was.Text) {
				return false
			}
		}
		return true
	},
	back: func(res mcp.Result) (*mcpgo.CallToolResult, error) {
		r, err := as[*mcp.CallToolResult](res)
		if err != nil {
			return nil, err
		}
		own := &mcpgo.CallToolResult{IsError: r.IsError, StructuredContent: r.StructuredContent, Content: make([]mcpgo.Content, len(r.Content))}
		own.Meta = ownMeta(r.Meta)
		for i, c := range r.Content {
			if own.Content[i], err = ownContent(c); err != nil {
				return nil, err
			}
		}
		return own, nil
	},
}

var resources = &kind[mcpgo.ReadResourceRequest, []mcpgo.ResourceContents]{
	method: middleware.MethodReadResource,
	request: func(own *mcpgo.ReadResourceRequest, session *mcp.ServerSession) mcp.Request {
		params := &mcp.ReadResourceParams{Meta: metaOf(own.Params.Meta), URI: own.Params.URI, RequestState: own.Params.RequestState}
		params.InputResponses = responses(own.Params.InputResponses)
		return &mcp.ReadResourceRequest{Session: session, Params: params, Extra: extra(own.Header)}
	},
	changed: func(own mcpgo.ReadResourceRequest, req mcp.Request) (mcpgo.ReadResourceRequest, error) {
		r, err := as[*mcp.ReadResourceRequest](req)
		if err == nil {
			own.Params.URI = r.Params.URI
		}
		return own, err
	},
	fails: func(_ mcpgo.ReadResourceRequest, _ []mcpgo.ResourceContents, err error) error { return err },
	view: func(own []mcpgo.ResourceContents) (mcp.Result, error) {
		view := &mcp.ReadResourceResult{Contents: make([]*mcp.ResourceContents, len(own))}
		for i, c := range own {
			switch c := c.(type) {
			case mcpgo.TextResourceContents:
				view.Contents[i] = &mcp.ResourceContents{Meta: c.Meta, URI: c.URI, MIMEType: c.MIMEType, Text: c.Text}
			case mcpgo.BlobResourceContents:
				blob, err := base64.StdEncoding.DecodeString(c.Blob)
				if err != nil {
					return nil, err
				}
				view.Contents[i] = &mcp.ResourceContents{Meta: c.Meta, URI: c.URI, MIMEType: c.MIMEType, Blob: blob}
			default:
				if err := remade(c, &view.Contents[i]); err != nil {
					return nil, err
				}
			}
		}
		return view, nil
	},
	same: func(own []mcpgo.ResourceContents, res mcp.Result) bool {
		view, _ := res.(*mcp.ReadResourceResult)
		if len(view.Contents) != len(own) || len(view.Meta) > 0 {
			return false
		}
		for i, c := range own {
			if was, text := c.(mcpgo.TextResourceContents); text && (view.Contents[i] == nil || view.Contents[i].Text != was.Text) {
				return false
			}
		}
		return true
	},
	back: func(res mcp.Result) ([]mcpgo.ResourceContents, error) {
		r, err := as[*mcp.ReadResourceResult](res)
		if err != nil {
			return nil, err
		}
		own := make([]mcpgo.ResourceContents, len(r.Contents))
		for i, c := range r.Contents {
			switch {
			case c == nil:
				return nil, errNil
			case c.Blob != nil:
				own[i] = mcpgo.BlobResourceContents{Meta: c.Meta, URI: c.URI, MIMEType: c.MIMEType, Blob: base64.StdEncoding.EncodeToString(c.Blob)}
			default:
				own[i] = mcpgo.TextResourceContents{Meta: c.Meta, URI: c.URI, MIMEType: c.MIMEType, Text: c.Text}
			}
		}
		return own, nil
	},
}

var prompts = &kind[mcpgo.GetPromptRequest, *mcpgo.GetPromptResult]{
	method: middleware.MethodGetPrompt,
	request: func(own *mcpgo.GetPromptRequest, session *mcp.ServerSession) mcp.Request {
		p := &own.Params
		params := &mcp.GetPromptParams{Meta: metaOf(p.Meta), Name: p.Name, Arguments: p.Arguments, RequestState: p.RequestState}
		params.InputResponses = responses(p.InputResponses)
		return &mcp.GetPromptRequest{Session: session, Params: params, Extra: extra(own.Header)}
	},
	changed: func(own mcpgo.GetPromptRequest, req mcp.Request) (mcpgo.GetPromptRequest, error) {
		r, err := as[*mcp.GetPromptRequest](req)
		if err == nil {
			own.Params.Name, own.Params.Arguments = r.Params.Name, r.Params.Arguments
		}
		return own, err
	},
	fails: func(_ mcpgo.GetPromptRequest, _ *mcpgo.GetPromptResult, err error) error { return err },
	view: func(own *mcpgo.GetPromptResult) (mcp.Result, error) {
		if own == nil {
			return nil, nil //nolint:nilnil // as the handler did
		}
		view := &mcp.GetPromptResult{Meta: metaOf(own.Meta), Description: own.Description}
		if own.NeedsInput() {
			view.InputRequests = asking
			return view, nil
		}
		content := make([]mcpgo.Content, len(own.Messages))
		for i, m := range own.Messages {
			content[i] = m.Content
		}
		views, err := contents(content)
		for i := range views {
			view.Messages = append(view.Messages, &mcp.PromptMessage{Role: mcp.Role(own.Messages[i].Role), Content: views[i]})
		}
		return view, err
	},
	same: func(own *mcpgo.GetPromptResult, res mcp.Result) bool {
		view, _ := res.(*mcp.GetPromptResult)
		return own.NeedsInput() || len(view.Messages) == len(own.Messages) && view.Description == own.Description && len(view.Meta) == len(metaOf(own.Meta))
	},
	back: func(res mcp.Result) (*mcpgo.GetPromptResult, error) {
		r, err := as[*mcp.GetPromptResult](res)
		if err != nil {
			return nil, err
		}
		own := &mcpgo.GetPromptResult{Description: r.Description, Messages: make([]mcpgo.PromptMessage, len(r.Messages))}
		own.Meta = ownMeta(r.Meta)
		for i, m := range r.Messages {
			if m == nil {
				return nil, errNil
			}
			own.Messages[i].Role = mcpgo.Role(m.Role)
			if own.Messages[i].Content, err = ownContent(m.Content); err != nil {
				return nil, err
			}
		}
		return own, nil
	},
}

const (
	refPrompt   = "ref/prompt"
	refResource = "ref/resource"
)

// A completeRequest has what mcp-go passes to a provider of completions.
type completeRequest struct {
	kind, ref string
	argument  mcpgo.CompleteArgument
	context   mcpgo.CompleteContext
}

var completions = &kind[completeRequest, *mcpgo.Completion]{
	method: middleware.MethodComplete,
	request: func(own *completeRequest, session *mcp.ServerSession) mcp.Request {
		params := &mcp.CompleteParams{
			Ref:      &mcp.CompleteReference{Type: own.kind},
			Argument: mcp.CompleteParamsArgument{Name: own.argument.Name, Value: own.argument.Value},
		}
		if own.kind == refPrompt {
			params.Ref.Name = own.ref
		} else {
			params.Ref.URI = own.ref
		}
		if own.context.Arguments != nil {
			params.Context = &mcp.CompleteContext{Arguments: own.context.Arguments}
		}
		return &mcp.CompleteRequest{Session: session, Params: params, Extra: &mcp.RequestExtra{}}
	},
	changed: func(own completeRequest, req mcp.Request) (completeRequest, error) {
		r, err := as[*mcp.CompleteRequest](req)
		if err == nil {
			own.argument = mcpgo.CompleteArgument{Name: r.Params.Argument.Name, Value: r.Params.Argument.Value}
		}
		return own, err
	},
	fails: func(_ completeRequest, _ *mcpgo.Completion, err error) error { return err },
	view: func(own *mcpgo.Completion) (mcp.Result, error) {
		if own == nil {
			own = &mcpgo.Completion{} // which is what mcp-go takes it for
		}
		return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: own.Values, Total: own.Total, HasMore: own.HasMore}}, nil
	},
	same: func(own *mcpgo.Completion, res mcp.Result) bool {
		view, _ := res.(*mcp.CompleteResult)
		return own == nil || len(view.Completion.Values) == len(own.Values)
	},
	back: func(res mcp.Result) (*mcpgo.Completion, error) {
		r, err := as[*mcp.CompleteResult](res)
		if err != nil {
			return nil, err
		}
		return &mcpgo.Completion{Values: r.Completion.Values, Total: r.Completion.Total, HasMore: r.Completion.HasMore}, nil
	},
}

// asking stands for the questions of a result that needs input; middlewares let such a
// result pass.
var asking = mcp.InputRequestMap{"": &mcp.ElicitParams{}}

// as returns what a middleware passed on, as the type T that it must have.
func as[T comparable](v any) (T, error) {
	typed, ok := v.(T)
	var none T
	if !ok || typed == none {
		return none, fmt.Errorf("mcpgo: a middleware gave a %T in the place of a %T", v, none)
	}
	return typed, nil
}

// errNil is the error for a middleware's answer that has a list with a nil entry.
var errNil = errors.New("mcpgo: a middleware put nil into a result")

// shared reports whether two texts have the same memory.
func shared(a, b []byte) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// remade converts a value through JSON.
func remade(from, to any) error {
	raw, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, to)
}

func extra(header http.Header) *mcp.RequestExtra {
	if len(header) == 0 { // mcp-go makes an empty one over stdio
		header = nil
	}
	return &mcp.RequestExtra{Header: header}
}

func responses(own mcpgo.InputResponses) (to mcp.InputResponseMap) {
	if len(own) == 0 {
		return nil
	}
	if remade(own, &to) != nil || to == nil {
		return mcp.InputResponseMap{} // middlewares check whether it is nil
	}
	return to
}

// metaOf leaves the progress token out: there is no session to which a middleware could
// report progress.
func metaOf(own *mcpgo.Meta) mcp.Meta {
	if own == nil || len(own.AdditionalFields) == 0 {
		return nil
	}
	return own.AdditionalFields
}

func ownMeta(meta mcp.Meta) *mcpgo.Meta {
	if len(meta) == 0 {
		return nil
	}
	return mcpgo.NewMetaFromMap(maps.Clone(meta))
}

// contents returns what the middlewares see of content.
func contents(own []mcpgo.Content) ([]mcp.Content, error) {
	view := make([]mcp.Content, len(own))
	for i, c := range own {
		switch c := c.(type) {
		case mcpgo.TextContent:
			if c.Meta == nil && c.Annotations == nil {
				view[i] = &mcp.TextContent{Text: c.Text}
				continue
			}
		case mcpgo.ImageContent:
			if c.Meta == nil && c.Annotations == nil {
				data, err := base64.StdEncoding.DecodeString(c.Data)
				if err != nil {
					return nil, fmt.Errorf("content[%d]: %w", i, err)
				}
				view[i] = &mcp.ImageContent{Data: data, MIMEType: c.MIMEType}
				continue
			}
		}
		if isNil(c) {
			return nil, fmt.Errorf("content[%d] is nil", i)
		}
		var one mcp.CallToolResult
		if err := remade(map[string]any{"content": []any{c}}, &one); err != nil {
			return nil, fmt.Errorf("content[%d]: %w", i, err)
		}
		view[i] = one.Content[0]
	}
	return view, nil
}

func ownContent(c mcp.Content) (mcpgo.Content, error) {
	if isNil(c) {
		return nil, errNil
	}
	if text, ok := c.(*mcp.TextContent); ok && text.Meta == nil && text.Annotations == nil {
		return mcpgo.NewTextContent(text.Text), nil
	}
	raw, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	return mcpgo.UnmarshalContent(raw)
}

// elicitation returns the failure that asks the caller to visit an URL, as the official SDK
// has it, nil for any other error.
func elicitation(err error) *jsonrpc.Error {
	asks, ok := held[mcpgo.URLElicitationRequiredError](err)
	if !ok {
		pointer, ok := held[*mcpgo.URLElicitationRequiredError](err)
		if !ok {
			return nil
		}
		asks = *pointer
	}
	details := asks.JSONRPCError().Error
	wire := &jsonrpc.Error{Code: int64(details.Code), Message: details.Message}
	if raw, err := json.Marshal(details.Data); err == nil {
		wire.Data = raw
	}
	return wire
}

func isElicitation(err error) bool {
	var wire *jsonrpc.Error
	return errors.As(err, &wire) && wire.Code == mcpgo.URL_ELICITATION_REQUIRED
}
