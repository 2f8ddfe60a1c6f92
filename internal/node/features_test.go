package node

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/png"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// What the suite calls is said by the descriptions of its scenarios.

type (
	toolHandler = func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error)
	inputs      = mcp.InputRequestMap
)

// pixel is a picture of one pixel, wav is a sound of one sample.
var (
	pixel = func() []byte {
		var out bytes.Buffer
		if err := png.Encode(&out, image.NewGray(image.Rect(0, 0, 1, 1))); err != nil {
			panic(err)
		}
		return out.Bytes()
	}()
	wav = []byte("RIFF\x26\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x40\x1f\x00\x00\x80\x3e\x00\x00\x02\x00\x10\x00data\x02\x00\x00\x00\x00\x00")
)

// newServer returns a server with everything that the suite calls.
func newServer() *mcp.Server {
	nothing := func(context.Context, *mcp.SubscribeRequest) error { return nil }
	server := mcp.NewServer(&mcp.Implementation{Name: "conformance", Version: "1.0.0"}, &mcp.ServerOptions{
		SubscribeHandler:   nothing,
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
		CompletionHandler: func(_ context.Context, req *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
			values := []string{} // null would be no list
			for _, city := range []string{"paris", "park", "party", "porto"} {
				if strings.HasPrefix(city, req.Params.Argument.Value) {
					values = append(values, city)
				}
			}
			return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: values, Total: len(values)}}, nil
		},
	})
	addTools(server)
	addQuestions(server)
	addResources(server)
	addPrompts(server)
	return server
}

const noArguments = `{"type":"object","properties":{}}`

// add adds a raw tool.
func add(server *mcp.Server, name, schema string, handler toolHandler) {
	server.AddTool(&mcp.Tool{Name: name, Description: "What the suite calls " + name + ".", InputSchema: json.RawMessage(schema)}, handler)
}

// says returns a result of these contents.
func says(content ...mcp.Content) *mcp.CallToolResult { return &mcp.CallToolResult{Content: content} }

func text(format string, a ...any) *mcp.TextContent {
	return &mcp.TextContent{Text: fmt.Sprintf(format, a...)}
}

func embedded(uri, mime, content string) *mcp.EmbeddedResource {
	return &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: uri, MIMEType: mime, Text: content}}
}

func addTools(server *mcp.Server) {
	picture := &mcp.ImageContent{Data: pixel, MIMEType: "image/png"}
	for name, content := range map[string][]mcp.Content{
		"test_simple_text":       {text("This is a simple text response for testing.")},
		"test_image_content":     {picture},
		"test_audio_content":     {&mcp.AudioContent{Data: wav, MIMEType: "audio/wav"}},
		"test_embedded_resource": {embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")},
		"test_multiple_content_types": {
			text("Multiple content types test:"), picture,
			embedded("test://mixed-content-resource", "application/json", `{"test":"data","value":123}`),
		},
		"test_streaming_elicitation": {text("nothing was asked")},
	} {
		add(server, name, noArguments, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return says(content...), nil })
	}
	// The error of a typed tool, which becomes a result with isError.
	mcp.AddTool(server, &mcp.Tool{Name: "test_error_handling", Description: "Fails."},
		func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			return nil, nil, errors.New("This tool intentionally returns an error for testing")
		})
	add(server, "test_tool_with_logging", noArguments, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for _, message := range []string{"Tool execution started", "Tool processing data", "Tool execution completed"} {
			if err := req.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "info", Data: message}); err != nil {
				return nil, err
			}
			time.Sleep(50 * time.Millisecond)
		}
		return says(text("logged")), nil
	})
	add(server, "test_logging_tool", noArguments, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return says(text("logged")), req.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "info", Data: "called"})
	})
	add(server, "test_tool_with_progress", noArguments, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for done := 0; done <= 100; done += 50 {
			if token := req.Params.GetProgressToken(); token != nil {
				if err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: float64(done), Total: 100}); err != nil {
					return nil, err
				}
			}
			time.Sleep(50 * time.Millisecond)
		}
		return says(text("done")), nil
	})
	add(server, "test_reconnection", noArguments, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if extra := req.GetExtra(); extra != nil && extra.CloseSSEStream != nil {
			extra.CloseSSEStream(mcp.CloseSSEStreamArgs{RetryAfter: 500 * time.Millisecond})
			time.Sleep(100 * time.Millisecond)
		}
		return says(text("The stream was closed and resumed.")), nil
	})
	add(server, "json_schema_2020_12_tool", `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",
		"$defs":{"address":{"$anchor":"addressDef","type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"}}}},
		"properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"},"contactMethod":{"type":"string","enum":["phone","email"]},
			"phone":{"type":"string"},"email":{"type":"string"}},
		"allOf":[{"anyOf":[{"required":["phone"]},{"required":["email"]}]}],
		"if":{"properties":{"contactMethod":{"const":"phone"}},"required":["contactMethod"]},
		"then":{"required":["phone"]},"else":{"required":["email"]},"additionalProperties":false}`,
		func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return says(text("%s", req.Params.Arguments)), nil
		})
	add(server, "test_mirrored_header", `{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}`,
		func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return says(text("%s", req.Params.Arguments)), nil
		})
	add(server, "test_missing_capability", noArguments, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if has := req.ClientCapabilities(); has != nil && has.Sampling != nil {
			return says(text("The client can be asked.")), nil
		}
		data, err := json.Marshal(mcp.MissingRequiredClientCapabilityData{RequiredCapabilities: &mcp.ClientCapabilities{Sampling: &mcp.SamplingCapabilities{}}})
		if err != nil {
			return nil, err
		}
		return nil, &jsonrpc.Error{Code: mcp.CodeMissingRequiredClientCapabilities, Message: "sampling is needed", Data: data}
	})
	// Not of the suite: a failure with structured content that does not fit the output schema.
	server.AddTool(&mcp.Tool{
		Name: "test_misfit", Description: "Fails with another structure than it declares.", InputSchema: json.RawMessage(noArguments),
		OutputSchema: json.RawMessage(`{"type":"object","required":["sky"],"properties":{"sky":{"type":"string"}}}`),
	}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		res := says(text("The sky cannot be seen."))
		res.IsError, res.StructuredContent = true, map[string]any{"success": false}
		return res, nil
	})
	// Adding something that is there already notifies of a change, too.
	add(server, "test_trigger_tool_change", noArguments, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		add(server, "test_changed", noArguments, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return says(), nil })
		return says(text("changed")), nil
	})
	add(server, "test_trigger_prompt_change", noArguments, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		server.AddPrompt(&mcp.Prompt{Name: "test_changed", Description: "Appears while the server runs."}, prompts(text("changed")))
		return says(text("changed")), nil
	})
	addCallsBack(server)
}

// addCallsBack adds the tools that ask the client while they run, as up to 2025-11-25.
func addCallsBack(server *mcp.Server) {
	type ask struct {
		Prompt string `json:"prompt"`
	}
	mcp.AddTool(server, &mcp.Tool{Name: "test_sampling", Description: "Asks the client's model."},
		func(ctx context.Context, req *mcp.CallToolRequest, in ask) (*mcp.CallToolResult, any, error) {
			res, err := req.Session.CreateMessage(ctx, question(in.Prompt, 100))
			if err != nil {
				return nil, nil, err
			}
			answer, _ := res.Content.(*mcp.TextContent)
			if answer == nil {
				return nil, nil, errors.New("the model answered without a text")
			}
			return says(text("LLM response: %s", answer.Text)), nil, nil
		})
	type message struct {
		Message string `json:"message"`
	}
	mcp.AddTool(server, &mcp.Tool{Name: "test_elicitation", Description: "Asks the client's person."},
		func(ctx context.Context, req *mcp.CallToolRequest, in message) (*mcp.CallToolResult, any, error) {
			return elicit(ctx, req, in.Message, `{"type":"object","required":["username","email"],"properties":{
				"username":{"type":"string","description":"User's response"},"email":{"type":"string","description":"User's email address"}}}`)
		})
	for name, schema := range map[string]string{
		"test_elicitation_sep1034_defaults": `{"type":"object","properties":{
			"name":{"type":"string","default":"John Doe"},"age":{"type":"integer","default":30},"score":{"type":"number","default":95.5},
			"status":{"type":"string","enum":["active","inactive","pending"],"default":"active"},"verified":{"type":"boolean","default":true}}}`,
		"test_elicitation_sep1330_enums": `{"type":"object","properties":{
			"untitledSingle":{"type":"string","enum":["option1","option2","option3"]},
			"titledSingle":{"type":"string","oneOf":[{"const":"value1","title":"First Option"},{"const":"value2","title":"Second Option"},{"const":"value3","title":"Third Option"}]},
			"legacyEnum":{"type":"string","enum":["opt1","opt2","opt3"],"enumNames":["Option One","Option Two","Option Three"]},
			"untitledMulti":{"type":"array","items":{"type":"string","enum":["option1","option2","option3"]}},
			"titledMulti":{"type":"array","items":{"anyOf":[{"const":"value1","title":"First Choice"},{"const":"value2","title":"Second Choice"},{"const":"value3","title":"Third Choice"}]}}}}`,
	} {
		mcp.AddTool(server, &mcp.Tool{Name: name, Description: "Asks the client's person with a form."},
			func(ctx context.Context, req *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
				return elicit(ctx, req, "Please fill in.", schema)
			})
	}
}

// elicit asks the person while the call runs.
func elicit(ctx context.Context, req *mcp.CallToolRequest, message, schema string) (*mcp.CallToolResult, any, error) {
	res, err := req.Session.Elicit(ctx, &mcp.ElicitParams{Message: message, RequestedSchema: json.RawMessage(schema)})
	if err != nil {
		return nil, nil, err
	}
	content, err := json.Marshal(res.Content)
	return says(text("Elicitation completed: action=%s, content=%s", res.Action, content)), nil, err
}

func question(ask string, tokens int64) *mcp.CreateMessageParams {
	return &mcp.CreateMessageParams{Messages: []*mcp.SamplingMessage{{Role: "user", Content: text("%s", ask)}}, MaxTokens: tokens}
}

// form asks for one value, which is required.
func form(message, name, kind string) *mcp.ElicitParams {
	schema := fmt.Sprintf(`{"type":"object","properties":{%q:{"type":%q}},"required":[%q]}`, name, kind, name)
	return &mcp.ElicitParams{Message: message, RequestedSchema: json.RawMessage(schema)}
}

// stateKey signs what clients carry between the rounds of a call.
var stateKey = []byte(rand.Text())

func sign(state string) string {
	mac := hmac.New(sha256.New, stateKey)
	mac.Write([]byte(state))
	return state + "." + hex.EncodeToString(mac.Sum(nil))
}

// unsign returns the state that was signed, or "" if there is none. An altered one is an
// error.
func unsign(signed string) (string, error) {
	if signed == "" {
		return "", nil
	}
	if i := strings.LastIndexByte(signed, '.'); i >= 0 && hmac.Equal([]byte(sign(signed[:i])), []byte(signed)) {
		return signed[:i], nil
	}
	return "", &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "the request state was altered"}
}

// accepted returns a value of a form that the person has filled in, or nil.
func accepted(got mcp.InputResponseMap, form, name string) any {
	res, _ := got[form].(*mcp.ElicitResult)
	if res == nil || res.Action != "accept" {
		return nil
	}
	return res.Content[name]
}

// sampled returns the text that the client's model has answered, or "".
func sampled(got mcp.InputResponseMap, name string) string {
	var contents []mcp.Content
	switch res := got[name].(type) {
	case *mcp.CreateMessageWithToolsResult:
		contents = res.Content
	case *mcp.CreateMessageResult:
		contents = []mcp.Content{res.Content}
	}
	for _, c := range contents {
		if t, ok := c.(*mcp.TextContent); ok {
			return t.Text
		}
	}
	return ""
}

// A step returns the answer to a call, or what it needs for that and the state to come
// back with.
type step func(req *mcp.CallToolRequest, state string, got mcp.InputResponseMap) (answer string, needs inputs, next string)

// addQuestions adds what ends a call with a question, as of 2026-07-28.
func addQuestions(server *mcp.Server) {
	name := form("What is your name?", "name", "string")
	confirm := form("Please confirm", "ok", "boolean")
	confirmed := func(_ *mcp.CallToolRequest, state string, got mcp.InputResponseMap) (string, inputs, string) {
		if state == "asked" && accepted(got, "confirm", "ok") == true {
			return "state-ok", nil, ""
		}
		return "", inputs{"confirm": confirm}, "asked"
	}
	for tool, next := range map[string]step{
		"elicitation": func(_ *mcp.CallToolRequest, _ string, got mcp.InputResponseMap) (string, inputs, string) {
			if who, _ := accepted(got, "user_name", "name").(string); who != "" {
				return "Hello, " + who + "!", nil, ""
			}
			return "", inputs{"user_name": name}, ""
		},
		"sampling": func(_ *mcp.CallToolRequest, _ string, got mcp.InputResponseMap) (string, inputs, string) {
			if answer := sampled(got, "capital_question"); answer != "" {
				return answer, nil, ""
			}
			return "", inputs{"capital_question": question("What is the capital of France?", 100)}, ""
		},
		"list_roots": func(_ *mcp.CallToolRequest, _ string, got mcp.InputResponseMap) (string, inputs, string) {
			if roots, _ := got["client_roots"].(*mcp.ListRootsResult); roots != nil {
				return rootNames(roots), nil, ""
			}
			return "", inputs{"client_roots": &mcp.ListRootsParams{}}, ""
		},
		"request_state":  confirmed,
		"tampered_state": confirmed,
		"multiple_inputs": func(_ *mcp.CallToolRequest, state string, got mcp.InputResponseMap) (string, inputs, string) {
			roots, _ := got["client_roots"].(*mcp.ListRootsResult)
			who, _ := accepted(got, "user_name", "name").(string)
			if greeting := sampled(got, "greeting"); state == "asked" && roots != nil && who != "" && greeting != "" {
				return greeting + " " + who + " " + rootNames(roots), nil, ""
			}
			return "", inputs{"user_name": name, "greeting": question("Generate a greeting", 50), "client_roots": &mcp.ListRootsParams{}}, "asked"
		},
		"multi_round": func(_ *mcp.CallToolRequest, state string, got mcp.InputResponseMap) (string, inputs, string) {
			if who, ok := strings.CutPrefix(state, "name="); ok {
				if colour := accepted(got, "step2", "color"); colour != nil {
					return fmt.Sprint(who, " likes ", colour), nil, ""
				}
			}
			if who, _ := accepted(got, "step1", "name").(string); state == "asked" && who != "" {
				return "", inputs{"step2": form("Step 2: What is your favorite color?", "color", "string")}, "name=" + who
			}
			return "", inputs{"step1": form("Step 1: What is your name?", "name", "string")}, "asked"
		},
		"capabilities": func(req *mcp.CallToolRequest, _ string, got mcp.InputResponseMap) (string, inputs, string) {
			needs := inputs{}
			if has := req.ClientCapabilities(); has != nil && has.Elicitation != nil {
				needs["user_name"] = name
			}
			if has := req.ClientCapabilities(); has != nil && has.Sampling != nil {
				needs["greeting"] = question("Generate a greeting", 50)
			}
			if len(got) > 0 || len(needs) == 0 {
				return "nothing more is asked", nil, ""
			}
			return "", needs, ""
		},
	} {
		add(server, "test_input_required_result_"+tool, noArguments, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			state, err := unsign(req.Params.RequestState)
			if err != nil {
				return nil, err
			}
			answer, needs, asked := next(req, state, req.Params.InputResponses)
			if needs == nil {
				return says(text("%s", answer)), nil
			}
			res := &mcp.CallToolResult{InputRequests: needs}
			if asked != "" {
				res.RequestState = sign(asked)
			}
			return res, nil
		})
	}
	server.AddPrompt(&mcp.Prompt{Name: "test_input_required_result_prompt", Description: "Asks for its context."},
		func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			if about := accepted(req.Params.InputResponses, "user_context", "context"); about != nil {
				return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: text("About %v", about)}}}, nil
			}
			return &mcp.GetPromptResult{InputRequests: inputs{"user_context": form("What context should the prompt use?", "context", "string")}}, nil
		})
}

func rootNames(roots *mcp.ListRootsResult) string {
	var names []string
	for _, r := range roots.Roots {
		names = append(names, r.URI)
	}
	return strings.Join(names, " ")
}

func addResources(server *mcp.Server) {
	for uri, contents := range map[string]mcp.ResourceContents{
		"test://static-text":      {MIMEType: "text/plain", Text: "This is the content of the static text resource."},
		"test://static-binary":    {MIMEType: "image/png", Blob: pixel},
		"test://watched-resource": {MIMEType: "text/plain", Text: "It never changes."},
	} {
		name := strings.TrimPrefix(uri, "test://")
		server.AddResource(&mcp.Resource{URI: uri, Name: name, Description: "The " + name + ".", MIMEType: contents.MIMEType},
			func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
				c := contents
				c.URI = uri
				return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{&c}}, nil
			})
	}
	server.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "test://template/{id}/data", Name: "by-id", Description: "By its ID.", MIMEType: "application/json"},
		func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			uri := req.Params.URI
			id := strings.TrimSuffix(strings.TrimPrefix(uri, "test://template/"), "/data")
			data, err := json.Marshal(map[string]any{"id": id, "templateTest": true, "data": "Data for ID: " + id})
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, MIMEType: "application/json", Text: string(data)}}}, err
		})
}

// prompts returns a handler that answers with these contents.
func prompts(contents ...mcp.Content) mcp.PromptHandler {
	return func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		res := &mcp.GetPromptResult{}
		for _, c := range contents {
			res.Messages = append(res.Messages, &mcp.PromptMessage{Role: "user", Content: c})
		}
		return res, nil
	}
}

func addPrompts(server *mcp.Server) {
	server.AddPrompt(&mcp.Prompt{Name: "test_simple_prompt", Description: "Has no arguments."}, prompts(text("This is a simple prompt for testing.")))
	server.AddPrompt(&mcp.Prompt{Name: "test_prompt_with_image", Description: "Shows a picture."},
		prompts(&mcp.ImageContent{Data: pixel, MIMEType: "image/png"}, text("Please analyze the image above.")))
	required := func(name, description string) *mcp.PromptArgument {
		return &mcp.PromptArgument{Name: name, Description: description, Required: true}
	}
	server.AddPrompt(&mcp.Prompt{
		Name: "test_prompt_with_arguments", Description: "Has two arguments.",
		Arguments: []*mcp.PromptArgument{required("arg1", "First test argument"), required("arg2", "Second test argument")},
	}, func(ctx context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		args := req.Params.Arguments
		return prompts(text("Prompt with arguments: arg1='%s', arg2='%s'", args["arg1"], args["arg2"]))(ctx, req)
	})
	server.AddPrompt(&mcp.Prompt{
		Name: "test_prompt_with_embedded_resource", Description: "Shows a resource.",
		Arguments: []*mcp.PromptArgument{required("resourceUri", "URI of the resource to embed")},
	}, func(ctx context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return prompts(embedded(req.Params.Arguments["resourceUri"], "text/plain", "Embedded resource content for testing."),
			text("Please process the embedded resource above."))(ctx, req)
	})
}
