package mask_test

import (
	"encoding/json"
	"log/slog"
	"regexp"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/mask"
	mcprecover "github.com/mcpchain/mcpchain/recover"
)

type marshaled struct{ token string }

func (m marshaled) MarshalJSON() ([]byte, error) {
	return []byte(`{"state":"down","token":"` + m.token + `"}`), nil
}

// loudBlock is content of a type of the program's, which writes more than the text that it embeds.
type loudBlock struct {
	*mcp.TextContent
	note string
}

func (b loudBlock) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]any{"type": "text", "text": b.Text, "_meta": map[string]any{"note": b.note}})
}

// TestToolsOwnWordsKeepTheirShape: a client checks the structured content of a failure against the output schema of
// the tool, so that what is hidden in it keeps its type.
func TestToolsOwnWordsKeepTheirShape(t *testing.T) {
	const token = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
	for name, tt := range map[string]struct {
		structured any
		want       string
	}{
		"an error code under auth": {map[string]any{"upstreamAuth": map[string]any{"code": "unauthenticated", "retryable": false}}, `{"upstreamAuth":{"code":"unauthenticated","retryable":false}}`},
		"a life":                   {map[string]any{"token": map[string]any{"expires_in": 3}}, `{"token":{"expires_in":3}}`},
		"credentials":              {map[string]any{"credentials": map[string]any{"user": "x", "password": "y"}}, `{"credentials":{"user":"x","password":"[redacted]"}}`},
		"basic":                    {map[string]any{"auth": map[string]any{"basic": "dXNlcjpwYXNz"}}, `{"auth":{"basic":"[redacted]"}}`},
		"a PIN":                    {map[string]any{"pin": 1234, "password": map[string]any{"value": 9876}}, `{"pin":0,"password":{"value":0}}`},
		"a list":                   {map[string]any{"tokens": []string{"a", "b"}}, `{"tokens":["[redacted]","[redacted]"]}`},
		"a struct": {struct {
			Auth struct {
				Code string `json:"code"`
				Key  string `json:"key"`
			} `json:"auth"`
		}{struct {
			Code string `json:"code"`
			Key  string `json:"key"`
		}{"expired", "hunter2"}}, `{"auth":{"code":"expired","key":"[redacted]"}}`},
		"raw":              {json.RawMessage(`{"auth":{"code":"expired","key":"hunter2"}}`), `{"auth":{"code":"expired","key":"[redacted]"}}`},
		"a json.Marshaler": {marshaled{token}, `{"state":"down","token":"[redacted]"}`},
	} {
		for _, reader := range []mask.Reader{mask.Anyone, mask.Trusted, mask.Operator} {
			answer := harness.Call(t, harness.Place{Shape: harness.ServerRaw, Era: harness.Current}, harness.Return(func() *mcp.CallToolResult {
				return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "broken"}}, StructuredContent: tt.structured}
			}), mask.New(&mask.Options{Reader: reader}))
			raw, err := json.Marshal(answer.Tool().StructuredContent)
			require.NoError(t, err)
			require.JSONEq(t, tt.want, string(raw), name)
			require.Equal(t, "broken", answer.Text())
		}
	}
}

// TestEveryBlockIsSearched has a credential in each kind of content that a failure or a success can hold.
func TestEveryBlockIsSearched(t *testing.T) {
	const secret = "password=" + harness.Canary
	for name, block := range map[string]mcp.Content{
		"text":          &mcp.TextContent{Text: secret},
		"link":          &mcp.ResourceLink{URI: "https://bob:" + harness.Canary + "@example.com/x", Name: "x"},
		"title":         &mcp.ResourceLink{URI: "x:1", Name: "x", Title: secret, Description: secret},
		"resource":      &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "x:1", Text: secret}},
		"resource's":    &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "https://bob:" + harness.Canary + "@example.com/x", Text: "x"}},
		"blob":          &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "x:1", MIMEType: "text/plain", Blob: []byte(secret)}},
		"own, embedded": loudBlock{&mcp.TextContent{Text: secret}, "x"},
		"own":           &loudBlock{&mcp.TextContent{Text: "x"}, secret},
	} {
		for _, failed := range []bool{true, false} {
			middlewares := []mcp.Middleware{mask.New(&mask.Options{Reader: mask.Operator}), mask.Successes()}
			answer := harness.Call(t, harness.Place{Shape: harness.ServerRaw, Era: harness.Current}, harness.Return(func() *mcp.CallToolResult {
				return &mcp.CallToolResult{IsError: failed, Content: []mcp.Content{&mcp.TextContent{Text: "first"}, block}}
			}), middlewares...)
			require.NoError(t, answer.Err)
			require.NotContains(t, string(answer.Wire), harness.Canary, "%s, failed: %t", name, failed)
			require.Contains(t, string(answer.Wire), "first")
			if !strings.Contains(name, "blob") {
				require.Contains(t, string(answer.Wire), "[redacted]", "%s, failed: %t", name, failed)
			}
		}
	}
}

// TestWhoRunsTheServerReportsToNobody: a reference is to be reported by a user, and leads whoever runs the server to its log.
func TestWhoRunsTheServerReportsToNobody(t *testing.T) {
	for reader, want := range map[mask.Reader]string{
		mask.Anyone:   " (give it to the user to report)",
		mask.Trusted:  " (give it to the user to report)",
		mask.Operator: " (the server's log has the whole error under it)",
	} {
		harness.Each(t, []harness.Shape{harness.ServerRaw, harness.ServerPrompt, harness.WrapTool}, func(t *testing.T, at harness.Place) {
			log := harness.NewLog(slog.LevelInfo)
			text := harness.Call(t, at, harness.Panic("boom"), mcprecover.New(nil), mask.New(&mask.Options{Reader: reader, Logger: log.Logger()}), mcprecover.New(nil)).Text()
			_, reference, found := strings.Cut(text, "\nReference: ")
			require.True(t, found, text)
			require.Regexp(t, `^[0-9a-f-]{36}`+regexp.QuoteMeta(want)+`$`, reference)
			require.Contains(t, log.String(), reference[:36])
		})
	}
}
