package whole_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/audit"
	"github.com/mcpchain/mcpchain/batch"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/internal/wire"
	"github.com/mcpchain/mcpchain/middleware"
	"github.com/mcpchain/mcpchain/replay"
	"github.com/mcpchain/mcpchain/validate"
)

// unclear are arguments that two readers take for different things, and what their caller reads.
var unclear = map[string]string{
	`{"order":{"amount":5000},"order":{"to":"bob"}}`:  "Argument 'order' was sent more than once. Send each name once.",
	`{"order":{"amount":1,"\u0061mount":5000}}`:       "Argument 'order.amount' was sent more than once. Send each name once.",
	`{"order":{"to":["x",{"a":1,"b":2,"a":1}]}}`:      "Argument 'order.to[1].a' was sent more than once. Send each name once.",
	`{"order":{"to":"\ud800","amount":5000}}`:         "Argument 'order.to' is not valid UTF-8: half of a surrogate pair was sent.",
	`{"order":{"to":"\ude00\ud83d","amount":5000}}`:   "Argument 'order.to' is not valid UTF-8: half of a surrogate pair was sent.",
	"{\"order\":{\"to\":\"b\xffb\",\"amount\":5000}}": "Argument 'order.to' is not valid UTF-8.",
}

// payments pays, as handlers do that read the arguments by encoding/json.
type payments struct {
	mu   sync.Mutex
	paid []string
}

func (p *payments) raw(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var in struct {
		Order struct {
			Amount int
			To     any
		}
	}
	if err := json.Unmarshal(req.Params.Arguments, &in); err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.paid = append(p.paid, string(req.Params.Arguments))
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "paid"}}}, nil
}

func (p *payments) typed(ctx context.Context, req *mcp.CallToolRequest, _ map[string]any) (*mcp.CallToolResult, any, error) {
	res, err := p.raw(ctx, req)
	return res, nil, err
}

func (p *payments) take() (paid []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	paid, p.paid = p.paid, nil
	return paid
}

// TestOneReading: arguments that two readers could take for different things run nothing, whatever kind of tool is
// called, and no part takes two of them for the same.
func TestOneReading(t *testing.T) {
	for _, era := range []harness.Era{harness.Current, harness.Older} {
		for name, options := range map[string]*validate.Options{"default": nil, "RawTools": {RawTools: true}, "AfterFailure": {AfterFailure: true}} {
			t.Run(string(era)+"/"+name, func(t *testing.T) {
				var pays payments
				var records strings.Builder
				var mu sync.Mutex
				log := audit.NewLog(func(entries []audit.Entry) error {
					mu.Lock()
					defer mu.Unlock()
					for _, e := range entries {
						records.Write(e.Line)
					}
					return nil
				}, nil)
				schema := json.RawMessage(`{"type":"object","properties":{"order":{"type":"object"},"currency":{"default":"EUR"}}}`)
				s := harness.Start(t, harness.Place{Shape: harness.ServerRaw, Era: era}, harness.Setup{More: func(s *mcp.Server) {
					s.AddTool(&mcp.Tool{Name: "raw", InputSchema: schema}, pays.raw)
					mcp.AddTool(s, &mcp.Tool{Name: "typed"}, pays.typed)
					middleware.AddTool(s, &mcp.Tool{Name: "ours"}, pays.typed)
					s.AddTool(&mcp.Tool{Name: "single", InputSchema: schema}, middleware.Tool(pays.raw, mcpchain.Standard(nil)))
					s.AddTool(&mcp.Tool{Name: "checked", InputSchema: schema}, validate.Tool(schema, pays.raw))
				}, Middleware: []mcp.Middleware{mcpchain.Standard(&mcpchain.Options{
					Logger: quiet(), Validate: options, Audit: audit.New(&audit.Options{Log: log}), Replay: replay.New(nil),
					Batch: batch.New(&batch.Options{Lists: []batch.List{{Tool: "raw", Item: "order", As: "raws"}}}),
				})}})
				call := func(tool, args, key string) *mcp.CallToolResult {
					params := &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(args)}
					if key != "" {
						params.Meta = mcp.Meta{wire.KeyKeys[0]: key}
					}
					res, err := s.Client.CallTool(t.Context(), params)
					require.NoError(t, err)
					return res
				}
				for _, tool := range []string{"raw", "typed", "ours", "single", "checked"} {
					require.False(t, call(tool, `{"order":{"to":"bob","amount":1}}`, "used").IsError)
					require.Len(t, pays.take(), 1)
					for args, want := range unclear {
						accepts := options != nil && options.AfterFailure && strings.Contains(want, "surrogate") && tool != "single" && tool != "checked"
						if accepts {
							require.False(t, call(tool, args, "").IsError, "which is legal")
							require.Len(t, pays.take(), 1)
						}
						for range 8 { // none is the same as the one before, so none is refused for that
							if accepts {
								break
							}
							res := call(tool, args, "")
							require.Contains(t, res.Content[0].(*mcp.TextContent).Text, "Validation Error: "+want, tool)
							require.NotContains(t, res.Content[0].(*mcp.TextContent).Text, "not known whether")
							require.NotContains(t, res.Content[0].(*mcp.TextContent).Text, "unless you see")
						}
						for _, key := range []string{"used", "new"} {
							require.Contains(t, call(tool, args, key).Content[0].(*mcp.TextContent).Text, "Validation Error: "+want, tool)
						}
					}
					require.Empty(t, pays.take(), tool)
				}
				// Items, and the list around them.
				require.False(t, call("raws", `{"orders":[{"to":"bob"},{"to":"eve"}]}`, "").IsError)
				require.Len(t, pays.take(), 2)
				for args, want := range map[string]string{
					`{"orders":[{"to":"bob"},{"to":"a","to":"b"}]}`:     "Argument 'orders[1].to' was sent more than once. Send each name once.",
					`{"orders":[{"to":"bob"}],"orders":[{"to":"eve"}]}`: "Argument 'orders' was sent more than once. Send each name once.",
					`{"orders":[{"to":"\ud800"}]}`:                      "Argument 'orders[0].to' is not valid UTF-8: half of a surrogate pair was sent.",
				} {
					require.Contains(t, call("raws", args, "").Content[0].(*mcp.TextContent).Text, "Validation Error: "+want)
				}
				require.Empty(t, pays.take())
				// What is clear stays as it was: names that differ in their case only, and numbers of any size.
				for _, args := range []string{`{"order":{"to":{"PATH":"a","path":"b"}}}`, `{"order":{"to":9007199254740993}}`, `{"order":{"to":"\ud83d\ude00 \ufffd"}}`} {
					require.False(t, call("raw", args, "").IsError, args)
				}
				require.Len(t, pays.take(), 3)
				require.NoError(t, log.Close())
				mu.Lock()
				defer mu.Unlock()
				require.NotContains(t, records.String(), `"arguments":{"order":{"amount":5000`)
				require.Contains(t, records.String(), `"arguments_bytes":46`)
			})
		}
	}
}

// TestNothingIsTheSame: a key never takes two unclear calls for one.
func TestNothingIsTheSame(t *testing.T) {
	keyed := replay.New(&replay.Options{Owner: func(context.Context, mcp.Request) string { return "bob" }})
	runs := 0
	handler := keyed(func(context.Context, string, mcp.Request) (mcp.Result, error) {
		runs++
		return &mcp.CallToolResult{Content: []mcp.Content{}}, nil
	})
	send := func(key, args string) (mcp.Result, error) {
		return handler(t.Context(), middleware.MethodCallTool, &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{
			Meta: mcp.Meta{wire.KeyKeys[0]: key}, Name: "pay", Arguments: json.RawMessage(args),
		}})
	}
	for _, args := range []string{`{"a":1,"a":2}`, `{"a":"\ud800"}`, "{\"a\":\"\xff\"}", `{"a":` + strings.Repeat("[", 1001) + strings.Repeat("]", 1001) + `}`} {
		for _, key := range []string{"first", "first", "second"} {
			e, ok := middleware.FaultOf(send(key, args))
			require.True(t, ok)
			require.Equal(t, fault.KindValidation, e.Kind(), e)
		}
	}
	require.Zero(t, runs)
	for _, args := range []string{`{"amount":1,"Amount":5000}`, `{"amount":1,"Amount":5000}`} {
		_, err := send("third", args)
		require.NoError(t, err)
	}
	require.Equal(t, 1, runs)
	e, _ := middleware.FaultOf(send("third", `{"Amount":5000,"amount":1}`))
	require.Equal(t, "KEY_REUSED", e.Code())
	require.Equal(t, 1, runs)
}
