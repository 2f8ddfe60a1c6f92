package promptargs

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func says(texts ...string) *mcp.GetPromptResult {
	return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Content: &mcp.TextContent{Text: strings.Join(texts, "")}}}}
}

func register(s *mcp.Server) {
	s.AddPrompt(&mcp.Prompt{
		Name: "bare",
		Arguments: []*mcp.PromptArgument{
			{Name: "who", Required: true}, {Name: "how", Required: true}, {Name: "why"}, {Name: "unread", Required: true},
			{Name: "known", Required: true}, {Name: "looked_up", Required: true}, {Name: "chosen", Required: true},
			{Name: "given", Required: true}, {Name: "handed_on", Required: true}, {Name: "measured", Required: true},
			{Name: "twice", Required: true}, {Name: "shown", Required: true},
		},
	}, func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		how := strings.TrimSpace(req.Params.Arguments["how"]) // want `the required argument "how" is not checked: the handler runs without it`
		known := req.Params.Arguments["known"]
		if known == "" {
			return nil, errors.New("known is missing")
		}
		looked, ok := req.Params.Arguments["looked_up"]
		if !ok {
			return nil, errors.New("looked_up is missing")
		}
		switch req.Params.Arguments["chosen"] {
		case "a", "b":
		default:
			return nil, errors.New("chosen is wrong")
		}
		given := req.Params.Arguments["given"]
		if len(known) > 3 {
			given = "default"
		}
		if err := check(req.Params.Arguments["handed_on"]); err != nil {
			return nil, err
		}
		if len(req.Params.Arguments["measured"]) < 3 {
			return nil, errors.New("too short")
		}
		text := "Greet " + req.Params.Arguments["who"] // want `the required argument "who" is not checked`
		text += fmt.Sprintf("%s %s %s %s %s", how, known, looked, given, req.Params.Arguments["why"])
		if strings.TrimSpace(req.Params.Arguments["twice"]) == "" {
			return nil, errors.New("twice is missing")
		}
		return &mcp.GetPromptResult{
			Description: req.Params.Arguments["shown"], // want `the required argument "shown" is not checked`
			Messages:    []*mcp.PromptMessage{{Content: &mcp.TextContent{Text: text + req.Params.Arguments["twice"]}}},
		}, nil
	})

	prompt := &mcp.Prompt{Name: "held", Arguments: []*mcp.PromptArgument{{Name: topic, Required: true}}}
	s.AddPrompt(prompt, held)
	s.AddPrompt(&mcp.Prompt{Name: "again", Arguments: []*mcp.PromptArgument{{Name: topic, Required: true}}}, held)
	s.AddPrompt(&mcp.Prompt{Name: "looped", Arguments: []*mcp.PromptArgument{{Name: topic, Required: true}}}, looped)
	s.AddPrompt(&mcp.Prompt{Name: "whole", Arguments: []*mcp.PromptArgument{{Name: topic, Required: true}}},
		func(ctx context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return (&service{}).answer(ctx, req)
		})
	s.AddPrompt(&mcp.Prompt{Name: "ignored", Arguments: []*mcp.PromptArgument{{Name: topic, Required: true}}},
		func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) { return says(), nil })

	changed := &mcp.Prompt{Name: "changed", Arguments: []*mcp.PromptArgument{{Name: topic, Required: true}}}
	changed.Arguments[0].Required = false
	s.AddPrompt(changed, optional)

	add := func(argument string) {
		s.AddPrompt(&mcp.Prompt{Arguments: []*mcp.PromptArgument{{Name: argument, Required: true}}},
			func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
				return says("about " + req.Params.Arguments[argument]), nil // want `this required argument is not checked`
			})
	}
	add("one")
}

const topic = "topic"

func held(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	args := req.Params.Arguments
	return says(fmt.Sprint(args["topic"])), nil // want `the required argument "topic" is not checked`
}

func looped(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	args := req.Params.Arguments
	for _, name := range []string{"topic"} {
		if args[name] == "" {
			return nil, errors.New(name + " is missing")
		}
	}
	return says("about " + args["topic"]), nil
}

func optional(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	return says("about " + req.Params.Arguments["topic"]), nil
}

func check(string) error { return nil }

type service struct{}

func (*service) answer(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	return says("about " + req.Params.Arguments["topic"]), nil
}

// A registration holds a prompt beside its handler, as tables of them do.
type registration struct {
	prompt  mcp.Prompt
	handler mcp.PromptHandler
}

var table = []registration{{
	prompt: mcp.Prompt{Name: "tabled", Arguments: []*mcp.PromptArgument{{Name: topic, Required: true}}},
	handler: func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		var b strings.Builder
		b.WriteString(req.Params.Arguments[topic]) // want `the required argument "topic" is not checked`
		return says(b.String()), nil
	},
}, {
	mcp.Prompt{Name: "of a package", Arguments: []*mcp.PromptArgument{{Name: topic, Required: true}}}, held,
}}
