package e2e

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

var anyReference = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}`)

// TestTheWireForm shows whole answers, byte for byte.
func TestTheWireForm(t *testing.T) {
	const (
		machine = `{"type":"rate_limited","message":"the search API accepts no more calls now.",` +
			`"retry":{"should_retry":true,"retry_after_seconds":30,"next_attempt":2,"max_attempts":3},` +
			`"recovery_steps":[{"step":1,"action":"Read cached results","tool":"list_cached","parameters":{"topic":"weather"}}],` +
			`"reference_id":"REFERENCE"}`
		text = `Rate limited: the search API accepts no more calls now.\n` +
			`Retry: yes, after 30 s (attempt 2 of 3).\n` +
			`Next: 1. Read cached results: call list_cached {\"topic\":\"weather\"}.`
		info = `"io.modelcontextprotocol/serverInfo":{"name":"e2e-server","version":"1"}`
	)
	tests := []struct {
		shape   shape
		request request
		want    string
	}{
		{
			shapes[0], request{"tools/call", map[string]any{"name": "wire_form"}},
			`{"jsonrpc":"2.0","id":"ask-0","result":{"_meta":{"io.github.mcpchain/error":` + machine + `,` + info + `},` +
				`"content":[{"type":"text","text":"` + text + `"}],"isError":true,"resultType":"complete"}}` + "\n",
		},
		{
			shapes[1], request{"tools/call", map[string]any{"name": "wire_form"}},
			`{"jsonrpc":"2.0","id":"ask-0","result":{"_meta":{"io.github.mcpchain/error":` + machine + `},` +
				`"content":[{"type":"text","text":"` + text + `"}],"isError":true}}` + "\n",
		},
		{
			shapes[0], request{"prompts/get", map[string]any{"name": "wire_form"}},
			`{"jsonrpc":"2.0","id":"ask-0","error":{"code":429,"message":"` + text + `","data":` + machine + `}}` + "\n",
		},
		{
			shapes[1], request{"resources/read", map[string]any{"uri": "resource://wire_form"}},
			`{"jsonrpc":"2.0","id":"ask-0","error":{"code":-32602,"message":"Not found: project 'alhpa' does not exist. Did you mean 'alpha'?\nRetry: no. The same call will fail again.",` +
				`"data":{"type":"not_found","message":"project 'alhpa' does not exist.","resource_type":"project","identifier":"alhpa",` +
				`"similar_matches":["alpha"],"retry":{"should_retry":false,"reason":"The same call will fail again"},"party":"caller","reference_id":"REFERENCE","uri":"resource://wire_form"}}}` + "\n",
		},
	}
	for _, test := range tests {
		t.Run(test.shape.String()+" "+test.request.method, func(t *testing.T) {
			p := dial(t, start(t, config{Transport: test.shape.transport, Chain: chainStandard}), test.shape.speaks)
			got := p.ask(t, 0, test.request)
			require.Equal(t, test.want, anyReference.ReplaceAllString(got, "REFERENCE"))
			records := p.Log.Since(t, 0)
			require.Len(t, records, 1)
			require.Contains(t, got, records[0].Text("reference"))
			p.Stop(t)
		})
	}
}

// TestTheReferenceOfAFailureThatNobodyWorded shows the last line of its text.
func TestTheReferenceOfAFailureThatNobodyWorded(t *testing.T) {
	p := dial(t, start(t, config{Transport: "stdio", Chain: chainStandard}), version2026)
	got := p.ask(t, 0, request{"tools/call", map[string]any{"name": "error-plain.raw"}})
	records := p.Log.Since(t, 0)
	require.Len(t, records, 1)
	reference := records[0].Text("reference")
	require.Regexp(t, `"text":"Internal error: [^"]+\\nReference: `+reference+` \(give it to the user to report\)"}\]`, got)
	require.Contains(t, got, `"reference_id":"`+reference+`"`)
	require.Equal(t, "cannot do it: "+canary("error-plain"), records[0].Text("error"))
	p.Stop(t)
}
