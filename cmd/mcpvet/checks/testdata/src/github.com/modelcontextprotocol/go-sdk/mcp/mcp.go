// Package mcp has the declarations of the SDK that the checks look for.
package mcp

import (
	"context"
	"encoding/json"
)

type (
	Params interface{ params() }
	Result interface{ result() }

	CallToolParamsRaw struct {
		Name      string
		Arguments json.RawMessage
	}
	GetPromptParams struct {
		Name      string
		Arguments map[string]string
	}
	ReadResourceParams struct{ URI string }
	CompleteParams     struct{}

	ServerSession           struct{}
	ServerRequest[P Params] struct {
		Session *ServerSession
		Params  P
	}

	Request interface{}

	CallToolRequest     = ServerRequest[*CallToolParamsRaw]
	GetPromptRequest    = ServerRequest[*GetPromptParams]
	ReadResourceRequest = ServerRequest[*ReadResourceParams]
	CompleteRequest     = ServerRequest[*CompleteParams]

	Content     interface{ content() }
	TextContent struct{ Text string }

	CallToolResult struct {
		Content           []Content
		StructuredContent any
		IsError           bool
	}
	PromptMessage   struct{ Content Content }
	GetPromptResult struct {
		Description string
		Messages    []*PromptMessage
	}
	ReadResourceResult struct{}
	CompleteResult     struct{}
	ListToolsResult    struct{ Tools []*Tool }
	ListPromptsResult  struct{ Prompts []*Prompt }

	ToolAnnotations struct {
		Title        string
		ReadOnlyHint bool
	}
	Tool struct {
		Name, Description string
		Annotations       *ToolAnnotations
	}
	PromptArgument struct {
		Name     string
		Required bool
	}
	Prompt struct {
		Name      string
		Arguments []*PromptArgument
	}
	Resource struct{ URI string }

	ToolHandler                 func(context.Context, *CallToolRequest) (*CallToolResult, error)
	ToolHandlerFor[In, Out any] func(context.Context, *CallToolRequest, In) (*CallToolResult, Out, error)
	PromptHandler               func(context.Context, *GetPromptRequest) (*GetPromptResult, error)
	ResourceHandler             func(context.Context, *ReadResourceRequest) (*ReadResourceResult, error)
	MethodHandler               func(ctx context.Context, method string, params any) (Result, error)
	Middleware                  func(MethodHandler) MethodHandler
	ServerOptions               struct {
		CompletionHandler func(context.Context, *CompleteRequest) (*CompleteResult, error)
	}
	Server         struct{}
	ClientSession  struct{}
	StdioTransport struct{}
)

func (*CallToolParamsRaw) params()  {}
func (*GetPromptParams) params()    {}
func (*ReadResourceParams) params() {}
func (*CompleteParams) params()     {}
func (*TextContent) content()       {}
func (*CallToolResult) result()     {}
func (*ListToolsResult) result()    {}
func (*ListPromptsResult) result()  {}

func (*CallToolResult) SetError(error) {}
func (*ServerSession) ID() string      { return "" }

func NewServer() *Server                                           { return nil }
func (*Server) AddReceivingMiddleware(...Middleware)               {}
func (*Server) AddSendingMiddleware(...Middleware)                 {}
func (*Server) AddTool(*Tool, ToolHandler)                         {}
func (*Server) AddPrompt(*Prompt, PromptHandler)                   {}
func (*Server) AddResource(*Resource, ResourceHandler)             {}
func AddTool[In, Out any](*Server, *Tool, ToolHandlerFor[In, Out]) {}

func (*Server) Run(context.Context, *StdioTransport) error                    { return nil }
func (*ClientSession) CallTool(context.Context, any) (*CallToolResult, error) { return nil, nil }
