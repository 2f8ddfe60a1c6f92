//go:build unix

package proxy

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain"

	hiding "github.com/mcpchain/mcpchain/cmd/mcpchain/internal/hide"
)

// A line that is too long is cut beside a secret, and not in the middle of one, however it is written.
func TestLongLinesOfStandardError(t *testing.T) {
	const secret = "zq-canary-of-a-long-line"
	hide := hiding.New(hiding.Secret{Value: secret}).Text
	for _, filling := range []string{"é", "x ", "\\", secret + " "} {
		for at := maxLine - 2*len(secret); at <= maxLine+1; at++ {
			if at%5 != 0 && at < maxLine-len(secret) {
				continue
			}
			var lines []string
			s := &stderr{hide: hide, line: func(line string) { lines = append(lines, line) }}
			text := strings.Repeat(filling, at/len(filling)) + strings.Repeat(".", at%len(filling)) + secret + strings.Repeat("y", maxLine) + secret
			for part := text; part != ""; part = part[min(len(part), 10_000):] {
				_, err := s.Write([]byte(part[:min(len(part), 10_000)]))
				require.NoError(t, err)
			}
			_, _ = s.Write([]byte("\nnext\n"))
			all := strings.Join(lines, "")
			require.Equal(t, hide(text)+"next", all)
			for _, line := range lines {
				require.True(t, utf8.ValidString(line))
				require.LessOrEqual(t, len(line), 2*maxLine)
			}
			kept := s.ended()
			require.True(t, strings.HasSuffix(kept.ending().cause, "next"))
		}
	}
}

// The lines of a secret of many lines are hidden one by one.
func TestLinesOfASecret(t *testing.T) {
	const secret = "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEF\nAASCBKcwggSjAgEAAoIBAQDf8rT9\n-----END KEY-----\n"
	var lines []string
	s := &stderr{hide: hiding.New(hiding.Secret{Value: secret}).Text, line: func(line string) { lines = append(lines, line) }}
	_, _ = s.Write([]byte("the key:\n" + secret + "{\"level\":\"info\",\"key\":\"MIIEvQIBADANBgkqhkiG9w0BAQEF\"}\n"))
	require.Equal(t, []string{"the key:", "-----BEGIN KEY-----", "[redacted]", "[redacted]", "-----END KEY-----", `{"level":"info","key":"[redacted]"}`}, lines)
}

// What is cut because it is too long is hidden before.
func TestSecretWhereAFailureIsCut(t *testing.T) {
	for _, before := range []int{maxWords - len(canary)/2, maxWords - 1, maxWords/2 - len(canary)/2} {
		c := initialized(t)
		text, _ := json.Marshal(map[string]string{"text": strings.Repeat("x", before) + canary + strings.Repeat(" word", 4_000)})
		line := c.call("1", "fail", string(text))
		require.NotContains(t, line, "zq-c")
		p := &Proxy{Options: Options{Hide: hide}}
		require.NotContains(t, p.clippedError(&jsonrpc.Error{Message: strings.Repeat("x", before) + canary + strings.Repeat(" word", 4_000)}).Message, "zq-c")
	}
	for before := range maxClip {
		text := strings.Repeat("x", before) + canary + strings.Repeat("y", maxClip)
		require.NotContains(t, (&Proxy{Options: Options{Hide: hide}}).clip([]byte(text)), "zq-")
	}
}

// With HideResults a success has no secret, and what has none keeps its bytes.
func TestHiddenResults(t *testing.T) {
	c := initialized(t, func(o *Options, _ *mcpchain.Options) { o.HideResults = true })
	text, _ := json.Marshal(map[string]string{"text": "it is " + canary})
	require.Contains(t, c.call("1", "echo", string(text)), `"text":"it is [redacted]"`)
	require.Contains(t, c.call("2", "echo", `{"text":"plain"}`), `"result":{"content": [{"type":"text","text":"plain","strange":1}], "isError": false,"of":"the server"},"jsonrpc"`)
}
