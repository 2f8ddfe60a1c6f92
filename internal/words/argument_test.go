package words_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/internal/words"
)

func TestWrong(t *testing.T) {
	const when = " when 'b' is sent"
	for _, c := range []struct{ subject, expected, when, received, want string }{
		{"Argument 'a'", "an integer", "", "'x'", "Argument 'a' expected an integer, but received 'x'."},
		{"Argument 'a'", "an integer", when, "null", "Argument 'a' expected an integer when 'b' is sent, but received null."},
		{"Argument 'a'", "an integer", "", "", "Argument 'a' expected an integer."},
		{"Argument 'a'", "", "", "'prod'", "Argument 'a' is not valid: received 'prod'."},
		{"Argument 'a'", "", "", "", "Argument 'a' is not valid."},
		{"Argument 'a'", "must be greater than 'b'", "", "5", "Argument 'a' must be greater than 'b', but received 5."},
		{words.AllArguments, "an object", "", "a list with 1 item", "The arguments must be an object, but were a list with 1 item."},
		{words.AllArguments, "", "", "", "The arguments are not valid."},
		{"An argument", "a number", "", "", "An argument expected a number."},
		{"Argument 'a'", "an absolute URI such as https://example.com", "", "", "Argument 'a' expected an absolute URI such as https://example.com"},
		{"Argument 'a'", "a URI such as https://example.com", "", "'x'", "Argument 'a' expected a URI such as https://example.com, but received 'x'."},
	} {
		require.Equal(t, c.want, words.Wrong(c.subject, c.expected, c.when, c.received))
	}
	require.Equal(t, "Argument 'a' is required when 'b' is sent: expected a string.", words.Missing("Argument 'a'", "a string", when))
	require.Equal(t, "Argument 'a' is required.", words.Missing("Argument 'a'", "", ""))
	require.Equal(t, "Argument 'a' is required: expected a URI such as https://example.com", words.Missing("Argument 'a'", "a URI such as https://example.com", ""))
}
