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
		s := serve(t, era, prompts(&ran), standard(&mcpchain.Options{Logger: log.Logger(), Validate: &validate.Options{StrictPrompts: true}}))
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
	strict := validate.New(&validate.Options{StrictPrompts: true})
	for name, chain := range map[string][]mcp.Middleware{
		"default": {validate.New(nil)},
		"no list": {strict, replace("prompts/list", func(mcp.Result, error) (mcp.Result, error) { return nil, errors.New("no") })},
		"panic":   {strict, replace("prompts/list", func(mcp.Result, error) (mcp.Result, error) { panic("no") })},
		"hidden":  {strict, replace("prompts/list", func(mcp.Result, error) (mcp.Result, error) { return &mcp.ListPromptsResult{}, nil })},
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

// TestPromptsAfterFailure: by default a prompt's handler runs, and nothing is asked for
// unless it fails without a word for the caller.
func TestPromptsAfterFailure(t *testing.T) {
	var failure error
	lists := 0
	counting := func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method == "prompts/list" {
				lists++
			}
			return next(ctx, method, req)
		}
	}
	s := serve(t, harness.Current, func(s *mcp.Server) {
		s.AddPrompt(&mcp.Prompt{Name: "review", Arguments: []*mcp.PromptArgument{{Name: "language", Required: true}}}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{}}, failure
		})
	}, validate.New(nil), counting)
	get := func(args map[string]string) error {
		_, err := s.Client.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "review", Arguments: args})
		return err
	}
	require.NoError(t, get(map[string]string{"language": "go", "undeclared": "x"}))
	require.NoError(t, get(nil))
	require.Zero(t, lists)
	failure = errors.New("no language")
	require.ErrorContains(t, get(map[string]string{"undeclared": "x"}), "Argument 'language' is required")
	require.Equal(t, 1, lists)
	require.NotContains(t, get(map[string]string{"language": "go", "undeclared": "x"}).Error(), "undeclared")
	failure = fault.NotFound("repository", "x")
	require.ErrorContains(t, get(nil), "repository 'x' does not exist")
}
