package scrub_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/internal/scrub"
)

func TestReceived(t *testing.T) {
	long := strings.Repeat("é", 65)
	for _, c := range []struct {
		value  any
		text   string
		shown  any
		hidden string // the text where it must not be shown
	}{
		{nil, "null", nil, "null"},
		{true, "true", true, "a boolean that is not shown"},
		{json.Number("5"), "5", json.Number("5"), "a number that is not shown"},
		{5.5, "5.5", json.Number("5.5"), "a number that is not shown"},
		{json.Number(strings.Repeat("1", 65)), "a number of 65 characters", nil, "a number of 65 characters"},
		{"", "an empty string", "", "an empty string"},
		{"five", "'five'", "five", "a string that is not shown"},
		{"a\nRetry: yes", "'a Retry: yes'", "a\nRetry: yes", "a string that is not shown"},
		{"o'neil", `"o'neil"`, "o'neil", "a string that is not shown"},
		{long, "a string of 65 characters", nil, "a string of 65 characters"},
		{"password=hunter2hunter2", "'password=[redacted]'", "password=[redacted]", "a string that is not shown"},
		{"ghp_0123456789abcdefghijklmnopqrstuvwxyz", "'[redacted]'", "[redacted]", "a string that is not shown"},
		{"[redacted]", "'[redacted]'", "[redacted]", "a string that is not shown"},
		{`{"password":"x"}`, "a string", nil, "a string"},
		{" [1", "a string", nil, "a string"},
		{[]any{}, "an empty list", nil, "an empty list"},
		{[]any{1}, "a list with 1 item", nil, "a list with 1 item"},
		{map[string]any{}, "an empty object", nil, "an empty object"},
		{map[string]any{"a": 1, "b": 2}, "an object with 2 properties", nil, "an object with 2 properties"},
	} {
		text, shown := scrub.Received(c.value, false)
		require.Equal(t, c.text, text)
		require.Equal(t, c.shown, shown, c.text)
		text, shown = scrub.Received(c.value, true)
		require.Equal(t, c.hidden, text, c.text)
		if text != c.text {
			require.Nil(t, shown, c.text)
		}
	}
}
