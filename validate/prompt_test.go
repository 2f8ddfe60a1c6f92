package validate_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/middleware"
	"github.com/mcpchain/mcpchain/validate"
)

func prompts(ran *int) func(*mcp.Server) {
	get := func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		*ran++
		return &mcp.GetPromptResult{Description: "fine", Messages: []*mcp.PromptMessage{}}, nil
	}
	return func(s *mcp.Server) {
		s.AddPrompt(&mcp.Prompt{Name: "review", Arguments: []*mcp.PromptArgument{
			{Name: "language", Required: true, Description: "of the code, such as Go"}, {Name: "style"}, {Name: "api_key"},
		}}, get)
		s.AddPrompt(&mcp.Prompt{Name: "free"}, get)
	}
}

func TestPrompts(t *testing.T) {
	eras(t, func(t *testing.T, era harness.Era) {
		ran := 0
		log := harness.NewLog(slog.LevelInfo)
		s := serve(t, era, prompts(&ran), standard(&mcpchain.Options{Logger: log.Logger()}))
		for _, c := range []struct {
			prompt string
			args   map[string]string
			want   string
			fields []string
		}{
			{"review", nil, "Validation Error: Argument 'language' is required: expected a string.", []string{"language"}},
			{"review", map[string]string{"style": "short"}, "Argument 'language' is required", []string{"language"}},
			{"review", map[string]string{"lang": "go"}, "Validation Error: Argument 'lang' is unknown, and 'language' is missing. Did you mean 'language'?", []string{"lang"}},
			{"review", map[string]string{"language": "go", "stile": "x"}, "Argument 'stile' is unknown. Did you mean 'style'?", []string{"stile"}},
			{"review", map[string]string{"other": harness.Canary, "password": harness.Canary}, "3 arguments are wrong.", []string{"language", "other", "password"}},
		} {
			ran = 0
			_, err := s.Client.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: c.prompt, Arguments: c.args})
			var wire *jsonrpc.Error
			require.ErrorAs(t, err, &wire)
			require.EqualValues(t, jsonrpc.CodeInvalidParams, wire.Code)
			require.Contains(t, wire.Message, c.want)
			e, _ := middleware.FaultOf(nil, err)
			require.Equal(t, fault.KindValidation, e.Kind())
			require.ElementsMatch(t, c.fields, fields(e.Data()))
			require.Zero(t, ran, "before the handler")
		}
		require.NotContains(t, s.Sent(), harness.Canary)
		require.Len(t, log.Records(), 5)
		for _, c := range []struct {
			prompt string
			args   map[string]string
		}{
			{"review", map[string]string{"language": "go"}}, {"review", map[string]string{"language": "", "style": "short"}},
			{"free", nil}, {"free", map[string]string{"any": "thing"}},
		} {
			ran = 0
			_, err := s.Client.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: c.prompt, Arguments: c.args})
			require.NoError(t, err)
			require.Equal(t, 1, ran)
		}
		require.Len(t, log.Records(), 5, "lookups are not recorded")
	})
}

// TestPromptsAreNotInTheWay: what is not known is not checked.
func TestPromptsAreNotInTheWay(t *testing.T) {
	for name, chain := range map[string][]mcp.Middleware{
		"skipped": {validate.New(&validate.Options{SkipPrompts: true})},
		"no list": {validate.New(nil), replace("prompts/list", func(mcp.Result, error) (mcp.Result, error) { return nil, errors.New("no") })},
		"panic":   {validate.New(nil), replace("prompts/list", func(mcp.Result, error) (mcp.Result, error) { panic("no") })},
		"hidden":  {validate.New(nil), replace("prompts/list", func(mcp.Result, error) (mcp.Result, error) { return &mcp.ListPromptsResult{}, nil })},
	} {
		t.Run(name, func(t *testing.T) {
			ran := 0
			s := serve(t, harness.Current, prompts(&ran), chain...)
			_, err := s.Client.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "review"})
			require.NoError(t, err)
			require.Equal(t, 1, ran)
		})
	}
}

// TestWrappedPrompt: a single handler's prompt is not known, so it is not checked.
func TestWrappedPrompt(t *testing.T) {
	harness.Each(t, []harness.Shape{harness.WrapPrompt}, func(t *testing.T, at harness.Place) {
		require.Equal(t, "fine", harness.Call(t, at, harness.Succeed(), validate.New(nil)).Text())
	})
}
