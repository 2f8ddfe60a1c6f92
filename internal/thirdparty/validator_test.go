package thirdparty_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"testing"

	"github.com/go-playground/validator/v10"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/middleware"
	"github.com/mcpchain/mcpchain/validate"
	"github.com/mcpchain/mcpchain/validate/playground"
)

type line struct {
	SKU string `json:"sku" validate:"required,startswith=A-"`
	Qty int    `json:"qty" validate:"gt=0"`
}

type order struct {
	Email    string            `json:"email,omitempty" validate:"required,email"`
	UserID   string            `json:"user_id,omitempty" validate:"required,len=4"`
	Color    string            `json:"color,omitempty" validate:"omitempty,oneof=red 'light blue'"`
	Lines    []line            `json:"lines,omitempty" validate:"max=2,dive"`
	Labels   map[string]string `json:"labels,omitempty" validate:"dive,max=3"`
	Password string            `json:"password,omitempty" validate:"omitempty,min=12"`
	Day      string            `json:"day,omitempty" validate:"omitempty,datetime=2006-01-02"`
}

// config is what a handler checks too, and what is none of its caller's business.
type config struct {
	DSN string `validate:"required"`
}

const canary = "kanarienvogel"

// TestPlaygroundValidator proves that the errors of go-playground/validator become
// violations under the names that the caller knows, with tag names and without.
func TestPlaygroundValidator(t *testing.T) {
	byTag := validator.New(validator.WithRequiredStructEnabled())
	byTag.RegisterTagNameFunc(func(f reflect.StructField) string { return strings.Split(f.Tag.Get("json"), ",")[0] })
	for name, v := range map[string]*validator.Validate{"Go names": validator.New(validator.WithRequiredStructEnabled()), "JSON names": byTag} {
		t.Run(name, func(t *testing.T) {
			client := dial(t, v.Struct)
			for _, c := range []struct{ args, want string }{
				{`{"email":"a@b.example","user_id":"7abc"}`, ""},
				{`{"email":"nobody","user_id":"7abc"}`, "Argument 'email' expected an email address, but received 'nobody'."},
				{`{"email":"a@b.example"}`, "Argument 'user_id' is required."},
				{`{"email":"a@b.example","user_id":"7"}`, "Argument 'user_id' expected a string of exactly 4 characters, but received '7'."},
				{`{"email":"a@b.example","user_id":"7abc","color":"green"}`, "Argument 'color' expected 'red' or 'light blue', but received 'green'."},
				{`{"email":"a@b.example","user_id":"7abc","lines":[{"sku":"A-1","qty":1},{"sku":"B-1","qty":0}]}`,
					"2 arguments are wrong.\n- Argument 'lines[1].sku' expected a string that starts with 'A-', but received 'B-1'.\n- Argument 'lines[1].qty' expected a number greater than 0, but received 0."},
				{`{"email":"a@b.example","user_id":"7abc","lines":[{"sku":"A-1","qty":1},{"sku":"A-1","qty":1},{"sku":"A-1","qty":1}]}`,
					"Argument 'lines' expected a list of at most 2 items, but received a list with 3 items."},
				{`{"email":"a@b.example","user_id":"7abc","labels":{"a b":"long"}}`, "Argument 'labels[\"a b\"]' expected a string of at most 3 characters, but received 'long'."},
				{`{"email":"a@b.example","user_id":"7abc","password":"` + canary[:8] + `"}`, "Argument 'password' expected a string of at least 12 characters, but received a string that is not shown."},
				{`{"email":"a@b.example","user_id":"7abc","day":"today"}`, "Argument 'day' expected a date such as 2026-01-31, but received 'today'."},
			} {
				text, _ := call(t, client, c.args)
				if c.want == "" {
					require.Equal(t, "fine", text)
					continue
				}
				require.Equal(t, "Validation Error: "+c.want+"\nRetry: only with corrected arguments.", text)
			}
		})
	}
}

// TestNotTheCallersFault: a handler checks other things too.
func TestNotTheCallersFault(t *testing.T) {
	v := validator.New()
	for name, check := range map[string]func(any) error{
		"configuration": func(any) error { return fmt.Errorf("%s: %w", canary, v.Struct(config{})) },
		"no struct":     func(any) error { return v.Struct(canary) },
		"both":          func(in any) error { return errors.Join(v.Struct(in), v.Struct(config{})) },
	} {
		t.Run(name, func(t *testing.T) {
			text, kind := call(t, dial(t, check), `{"email":"nobody","user_id":"7abc"}`)
			require.Equal(t, fault.KindInternal, kind)
			require.NotContains(t, text, "DSN")
			require.NotContains(t, text, canary)
		})
	}
	text, kind := call(t, dial(t, func(any) error { return validate.Arguments(v.Var("x", "email")) }), `{"email":"x"}`)
	require.Equal(t, fault.KindValidation, kind)
	require.NotContains(t, text, "Key:")
}

func dial(t *testing.T, check func(any) error) *mcp.ClientSession {
	t.Helper()
	s := mcp.NewServer(&mcp.Implementation{Name: "shop"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "order"}, func(_ context.Context, _ *mcp.CallToolRequest, in order) (*mcp.CallToolResult, any, error) {
		if err := check(in); err != nil {
			return nil, nil, err
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "fine"}}}, nil, nil
	})
	s.AddReceivingMiddleware(mcpchain.Standard(&mcpchain.Options{Logger: slog.New(slog.DiscardHandler), Validate: &validate.Options{Violations: playground.Violations}}))
	here, there := mcp.NewInMemoryTransports()
	_, err := s.Connect(t.Context(), here, nil)
	require.NoError(t, err)
	client, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).Connect(t.Context(), there, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func call(t *testing.T, client *mcp.ClientSession, args string) (string, fault.Kind) {
	t.Helper()
	res, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "order", Arguments: json.RawMessage(args)})
	require.NoError(t, err)
	f, _ := middleware.FaultOf(res, err)
	return res.Content[0].(*mcp.TextContent).Text, f.Kind()
}
