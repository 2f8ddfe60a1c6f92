package validate_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/validate"
)

type atIn struct {
	N   int            `json:"n,omitempty"`
	I8  int8           `json:"i8,omitempty"`
	U   uint           `json:"u,omitempty"`
	U64 uint64         `json:"u64,omitempty"`
	F   float64        `json:"f,omitempty"`
	F32 float32        `json:"f32,omitempty"`
	S   string         `json:"s,omitempty"`
	B   []byte         `json:"b,omitempty"`
	T   time.Time      `json:"t,omitempty"`
	D   time.Duration  `json:"d,omitempty"`
	P   *int           `json:"p,omitempty"`
	L   []int          `json:"l,omitempty"`
	LS  []string       `json:"ls,omitempty"`
	M   map[string]int `json:"m,omitempty"`
	A   any            `json:"a,omitempty"`
	R   json.RawMessage `json:"r,omitempty"`
	A2  [2]int         `json:"a2,omitempty"`
	Sub struct {
		X int `json:"x,omitempty"`
		Y bool `json:"y,omitempty"`
	} `json:"sub,omitempty"`
}

func TestAttackSDK(t *testing.T) {
	ctx := context.Background()
	s := mcp.NewServer(&mcp.Implementation{Name: "x", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "t"}, func(context.Context, *mcp.CallToolRequest, atIn) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "ok"}}}, nil, nil
	})
	s.AddReceivingMiddleware(validate.New(nil))
	a, b := mcp.NewInMemoryTransports()
	_, err := s.Connect(ctx, a, nil)
	require.NoError(t, err)
	c := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, nil)
	cs, err := c.Connect(ctx, b, nil)
	require.NoError(t, err)
	values := []string{`"1.0"`, `1.0`, `"1e2"`, `1e2`, `"300"`, `300`, `"-1"`, `-1`, `"12345678901234567890"`, `12345678901234567890`, `"1e400"`, `1e400`, `"1e-400"`, `1e-400`, `-0`, `"-0"`, `"-0.0"`, `1e40`, `"1e40"`, `1e308`, `"true"`, `true`, `null`, `"null"`, `"x"`, `"[1]"`, `"[1.0]"`, `["1.0"]`, `"{\"x\":1}"`, `"{\"x\":1.0}"`, `{"x":"1.0"}`, `{"X":1}`, `{"x":1,"x":2}`, `{"x":null}`, `1`, `1.5`, `"1.5"`, `[1,2,3]`, `[1]`, `"AQI="`, `"%%"`, `"2026-01-31"`, `1767225600`, `"\ud800"`, `[]`, `{}`, `[null]`, `["1"]`, `"1"`, `99999999999999999999`, `1E2`, `1.0e0`, `0.1e1`, `""`, `" 1 "`, `[[1]]`}
	for _, f := range []string{"n", "i8", "u", "u64", "f", "f32", "s", "b", "t", "d", "p", "l", "ls", "m", "a", "r", "a2", "sub", "N", "zz"} {
		for _, v := range values {
			args := json.RawMessage(`{"` + f + `":` + v + `}`)
			r, err := cs.CallTool(ctx, &mcp.CallToolParams{Name: "t", Arguments: args})
			if err != nil {
				fmt.Println("PROTO", string(args), err)
				continue
			}
			if !r.IsError {
				continue
			}
			text := r.Content[0].(*mcp.TextContent).Text
			var e struct{ Corrected json.RawMessage `json:"corrected_arguments"` }
			raw, _ := json.Marshal(r.Meta["io.github.mcpchain/error"])
			_ = json.Unmarshal(raw, &e)
			if e.Corrected != nil {
				r2, err := cs.CallTool(ctx, &mcp.CallToolParams{Name: "t", Arguments: e.Corrected})
				if err != nil || r2.IsError {
					fmt.Println("BADCORR", string(args), string(e.Corrected), r2.Content[0].(*mcp.TextContent).Text)
				}
			}
			if os.Getenv("ALL") != "" {
				fmt.Printf("%-40s %s | %.150q\n", args, e.Corrected, text)
			}
		}
	}
}
