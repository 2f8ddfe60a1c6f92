package validate_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/audit"
	"github.com/mcpchain/mcpchain/batch"
	"github.com/mcpchain/mcpchain/correlate"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/middleware"
	"github.com/mcpchain/mcpchain/validate"
)

// aToken is what a model may have read in a file: it is known by its look.
const aToken = "ghp_" + harness.Canary + "F292c6912E7710c838347Ae1"

type loginIn struct {
	User     string `json:"user"`
	Password string `json:"password"`
}

// withCredentials adds tools that ask for a secret and tools that do not. They count the
// calls that reach them.
func withCredentials(reached *int) func(*mcp.Server) {
	return func(s *mcp.Server) {
		count := func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			*reached++
			return said("fine"), nil
		}
		for name, schema := range map[string]string{
			"search": `{"type":"object","properties":{"query":{"type":"string"},"filter":{"type":"object"}}}`,
			"code":   `{"type":"object"}`,
			"marked": `{"type":"object","properties":{"value":{"type":"string","writeOnly":true},"query":{}}}`,
			"env":    `{"type":"object","additionalProperties":{"type":"string","format":"password"}}`,
			"nested": `{"type":"object","properties":{"config":{"type":"object","properties":{"apiKey":{"type":"string"}}},"query":{}}}`,
		} {
			s.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(schema)}, count)
		}
		mcp.AddTool(s, &mcp.Tool{Name: "login"}, func(context.Context, *mcp.CallToolRequest, loginIn) (*mcp.CallToolResult, any, error) {
			*reached++
			return said("fine"), nil, nil
		})
		s.AddPrompt(&mcp.Prompt{Name: "write", Arguments: []*mcp.PromptArgument{{Name: "topic"}, {Name: "api_key"}}},
			func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
				*reached++
				return &mcp.GetPromptResult{}, nil
			})
	}
}

const withoutIt = "\nSuggestion: Send the call without it: the credentials that the server needs are in its own configuration.\nRetry: only with corrected arguments."

// TestCredentialsAreRefused: before the handler runs, in words that have the place and
// not the value. A tool that asks for a secret gets it.
func TestCredentialsAreRefused(t *testing.T) {
	eras(t, func(t *testing.T, era harness.Era) {
		reached := 0
		log, records := harness.NewLog(slog.LevelDebug), ""
		s := serve(t, era, withCredentials(&reached), mcpchain.Standard(&mcpchain.Options{
			Logger:    log.Logger(),
			Validate:  &validate.Options{Credentials: validate.RefuseCredentials, ToolCredentials: map[string]validate.Credentials{"code": validate.AllowCredentials}},
			Correlate: &correlate.Options{Advanced: correlate.Advanced{ArgumentValues: 1024}},
			Batch:     batch.New(&batch.Options{Lists: []batch.List{{Tool: "search", Item: "query", As: "search_many"}}}),
			Audit: audit.New(&audit.Options{Log: audit.NewLog(func(entries []audit.Entry) error {
				for _, e := range entries {
					records += string(e.Line) + "\n"
				}
				return nil
			}, nil)}),
		}))
		for _, c := range []struct{ tool, args, want string }{
			{"search", `{"query":"weather in Oslo","filter":{"limit":5,"tokens":512,"password":""}}`, ""},
			{"search", `{"query":"` + aToken + `"}`, "Argument 'query' carries a credential, and this tool does not ask for one." + withoutIt},
			{"search", `{"query":"x","filter":{"headers":[{"authorization":"` + harness.Canary + `"}]}}`,
				"Argument 'filter.headers[0].authorization' carries a credential, and this tool does not ask for one." + withoutIt},
			{"search", `{"query":"x","password":"` + harness.Canary + `"}`, "Argument 'password' carries a credential, and this tool does not ask for one." + withoutIt},
			{"search", `{"query":"x","p\u0061ssword":{"old":"` + harness.Canary + `","new":"` + harness.Canary + `"}}`,
				"Argument 'password' carries a credential, and this tool does not ask for one." + withoutIt},
			{"search", `{"query":"x","filter":{"` + aToken + `":1}}`, "Argument 'filter[\"[redacted]\"]' carries a credential, and this tool does not ask for one." + withoutIt},
			{"search", `{"query":"connect with postgres://bob:` + harness.Canary + `@db/x","filter":{"pin":1234}}`,
				"2 arguments are wrong.\n- Argument 'query' carries a credential, and this tool does not ask for one.\n" +
					"- Argument 'filter.pin' carries a credential, and this tool does not ask for one." + withoutIt},
			{"login", `{"user":"bob","password":"` + harness.Canary + `"}`, ""},
			{"login", `{"user":"` + aToken + `","password":"` + harness.Canary + `"}`, "Argument 'user' carries a credential, and this tool does not ask for one." + withoutIt},
			{"login", `{"user":"bob","PASSWORD":"hunter2"}`, "Argument 'PASSWORD' is unknown, and 'password' is missing. Did you mean 'password'?\nRetry: only with corrected arguments.\n" +
				`Try: login {"password":<as you sent it>,"user":"bob"}`},
			{"marked", `{"value":"` + aToken + `"}`, ""},
			{"marked", `{"value":"` + aToken + `","query":"` + aToken + `"}`, "Argument 'query' carries"},
			{"env", `{"GH":"` + aToken + `","NPM_TOKEN":"` + harness.Canary + `"}`, ""},
			{"nested", `{"config":{"apiKey":"` + aToken + `"}}`, ""},
			{"nested", `{"config":{"secret":"` + harness.Canary + `"}}`, "Argument 'config.secret' carries"},
			{"code", `{"text":"password=` + harness.Canary + `"}`, ""},
		} {
			before := reached
			answer := invoke(t, s, c.tool, c.args)
			if c.want == "" {
				require.Equal(t, "fine", answer.Text(), "%s %s", c.tool, c.args)
				require.Equal(t, before+1, reached)
				continue
			}
			require.Equal(t, before, reached, "%s %s", c.tool, c.args)
			if strings.HasSuffix(c.want, withoutIt) {
				require.Equal(t, "Validation Error: "+c.want, answer.Text(), "%s %s", c.tool, c.args)
			}
			require.Contains(t, answer.Text(), "Validation Error: "+c.want, "%s %s", c.tool, c.args)
			require.Equal(t, "validation_error", string(answer.Fault().Kind()))
		}
		one := invoke(t, s, "search", `{"filter":{"a":["`+aToken+`"]}}`).Fault().Data()
		require.Len(t, one.Violations, 1)
		require.Equal(t, "credential", one.Violations[0].Rule)
		require.Equal(t, "/filter/a/0", one.Violations[0].Pointer)
		require.Nil(t, one.Violations[0].Received)

		_, err := s.Client.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "write", Arguments: map[string]string{"topic": aToken}})
		require.ErrorContains(t, err, "Argument 'topic' carries a credential, and this prompt does not ask for one.")
		_, err = s.Client.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "write", Arguments: map[string]string{"topic": "rain", "password": harness.Canary}})
		require.ErrorContains(t, err, "Argument 'password' carries a credential")
		_, err = s.Client.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "write", Arguments: map[string]string{"topic": "rain", "api_key": harness.Canary}})
		require.NoError(t, err)

		before := reached
		many := invoke(t, s, "search_many", `{"querys":["rain","`+aToken+`"]}`)
		require.Equal(t, before+1, reached, many.Text())
		require.Contains(t, many.Text(), "Argument 'query' carries a credential")

		require.NotContains(t, s.Sent(), harness.Canary)
		require.NotContains(t, log.String(), harness.Canary)
		require.NotContains(t, records, harness.Canary)
		require.NotEmpty(t, records)
	})
}

// TestCredentialsAreRecorded: the handler runs, and the log has the place and not the value.
func TestCredentialsAreRecorded(t *testing.T) {
	eras(t, func(t *testing.T, era harness.Era) {
		reached := 0
		log := harness.NewLog(slog.LevelInfo)
		s := serve(t, era, withCredentials(&reached), mcpchain.Standard(&mcpchain.Options{
			Logger: log.Logger(), Validate: &validate.Options{ToolCredentials: map[string]validate.Credentials{"search": validate.RecordCredentials}},
		}))
		require.Equal(t, "fine", invoke(t, s, "search", `{"query":"`+aToken+`","filter":{"password":"`+harness.Canary+`\nlevel=ERROR"}}`).Text())
		record := log.Only(t)
		require.Equal(t, "mcpchain: validate: the arguments of a call carry a credential that it does not ask for", record["msg"])
		require.Equal(t, "query, filter.password", record["arguments"])
		require.Equal(t, "search", record["name"])
		require.NotEmpty(t, record["reference"])
		require.Equal(t, "fine", invoke(t, s, "code", `{"query":"`+aToken+`"}`).Text())
		require.Equal(t, "fine", invoke(t, s, "search", `{"query":"`+strings.Repeat("long ", 1<<18)+`"}`).Text())
		require.Len(t, log.Records(), 2)
		require.Equal(t, "mcpchain: validate: the arguments of a call have more than 1 MiB, and are not searched for credentials", log.Records()[1]["msg"], "nobody knows of a credential")
		require.Equal(t, 3, reached)
		require.NotContains(t, log.String(), harness.Canary)
	})
}

// TestCredentialsOfOneHandler: where no schema is known a name that says secret may be asked
// for, and what looks like a credential elsewhere is not.
func TestCredentialsOfOneHandler(t *testing.T) {
	h := middleware.Tool(echo, validate.New(&validate.Options{Credentials: validate.RefuseCredentials}))
	call := func(args string) string {
		res, err := h(t.Context(), &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "it", Arguments: json.RawMessage(args)}})
		require.NoError(t, err)
		return res.Content[0].(*mcp.TextContent).Text
	}
	require.JSONEq(t, `{"password":"x1y2z3"}`, call(`{"password":"x1y2z3"}`))
	require.Contains(t, call(`{"text":"`+aToken+`"}`), "Argument 'text' carries a credential")
	require.Contains(t, call(`{"text":"`+aToken), "The arguments carry a credential")
	require.Contains(t, call(`{"text":"`+strings.Repeat("x", 1<<20)+`"}`), "The arguments have more than 1 MiB, and are not searched for credentials. Send less at a time.")
	require.Empty(t, call(``))
	for _, bad := range []validate.Options{{Credentials: 7}, {ToolCredentials: map[string]validate.Credentials{"": 1}}, {ToolCredentials: map[string]validate.Credentials{"a": 7}}} {
		require.Panics(t, func() { validate.New(&bad) })
	}
}

// TestManyCredentials: the answer is bounded, whatever is sent.
func TestManyCredentials(t *testing.T) {
	reached := 0
	s := serve(t, harness.Current, withCredentials(&reached), standard(&mcpchain.Options{Validate: &validate.Options{Credentials: validate.RefuseCredentials}}))
	deep := strings.Repeat(`{"a":`, 900) + `"` + aToken + `"` + strings.Repeat(`}`, 900)
	many := make([]string, 3000)
	for i := range many {
		many[i] = fmt.Sprintf(`"%s%d":"%s"`, strings.Repeat("long", 50), i, aToken)
	}
	for _, args := range []string{`{"filter":` + deep + `}`, `{` + strings.Join(many, ",") + `}`} {
		answer := invoke(t, s, "search", args)
		require.Contains(t, answer.Text(), "carries a credential")
		require.Less(t, len(answer.Wire), 8<<10)
		require.Less(t, len(answer.Text()), 4<<10)
	}
	require.Zero(t, reached)
	require.NotContains(t, s.Sent(), harness.Canary)
}

// TestCredentialsAndAToolThatChanged: nobody is refused by what a tool asked for a moment ago.
func TestCredentialsAndAToolThatChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reached, asked := 0, 0
		schema := `{"type":"object","properties":{"password":{"type":"string"}}}`
		list := func(mcp.Result, error) (mcp.Result, error) {
			asked++
			return &mcp.ListToolsResult{Tools: []*mcp.Tool{{Name: "code", InputSchema: json.RawMessage(schema)}}}, nil
		}
		s := serve(t, harness.Current, withCredentials(&reached), validate.New(&validate.Options{Credentials: validate.RefuseCredentials}), replace("tools/list", list))
		for range 3 {
			require.Equal(t, "fine", invoke(t, s, "code", `{"password":"x"}`).Text())
		}
		require.Equal(t, 1, asked)
		schema = `{"type":"object","properties":{"passphrase":{"type":"string"}}}`
		require.Equal(t, "fine", invoke(t, s, "code", `{"passphrase":"x"}`).Text())
		require.Equal(t, 2, asked)
		require.Contains(t, invoke(t, s, "code", `{"password":"x"}`).Text(), "carries a credential")
		require.Equal(t, 4, reached)
	})
}
