package scrub

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"os"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/internal/words"
)

// invisible are what a terminal, a browser or [words.Line] leaves nothing of.
var invisible = []string{
	"\x1b", "\x1b[31m", "\x1b[0;1;38;5;208m", "\x1b[2K", "\x1b(B", "\x1b]0;title\x07", "\x1b]8;;https://example.com\x1b\\", "\x1bPq\x1b\\", "\u009b31m", "\u009d0;t\u009c",
	"\x00", "\x01", "\x07", "\x08", "\x0e", "\x1f", "\x7f", "\u0080", "\u008d", "\u009f",
	"\u00ad", "\u034f", "\u061c", "\u115f", "\u1160", "\u17b4", "\u180b", "\u180e", "\u200b", "\u200c", "\u200d", "\u200e", "\u202a", "\u202e", "\u2060", "\u2063", "\u2066", "\u206f",
	"\u3164", "\ufe00", "\ufe0f", "\ufeff", "\uffa0", "\ufff9", "\ufdd0", "\ufffe", "\U00013437", "\U0001bca0", "\U0001d173", "\U000e0001", "\U000e0041", "\U000e007f", "\U000e0100",
	"\u200b\u200b\u200b\u200b\u200b\u200b", "\x1b[31m\u200b\x00",
}

// hidden are credentials whose every part is needed to see what they are.
var hidden = []struct{ text, secret string }{
	{"password=hunter2canary", "hunter2canary"}, {`{"api_key":"hunter2canary"}`, "hunter2canary"}, {"--token hunter2canary", "hunter2canary"}, {"Authorization: Bearer hunter2canary", "hunter2canary"},
	{"postgres://app:hunter2canary@db.example.com/prod", "hunter2canary"}, {"gh" + "p_abcdefghij0123456789ABCDEFGHIJ012345", "abcdefghij0123456789"},
	{"AK" + "IAIOSFODNN7EXAMPLE", "IOSFODNN7EXAMPLE"}, {"-----BEGIN PRIVATE " + "KEY-----\nMIIEcanarycanary\n", "MIIEcanarycanary"}, {"https://bob:hunter2canary@example.com/", "hunter2canary"},
}

// TestInvisibleCharacters puts what cannot be seen into every place of a credential, alone and in the escapes of JSON.
func TestInvisibleCharacters(t *testing.T) {
	share := 4 // of the places
	switch {
	case racing:
		share = 8
	case os.Getenv("MCPCHAIN_SOAK") != "":
		share = 1
	}
	for which, u := range invisible {
		quoted, err := json.Marshal(u)
		require.NoError(t, err)
		inJSON := strings.Trim(string(quoted), `"`)
		escaped := ""
		for _, r := range utf16.Encode([]rune(u)) {
			escaped += fmt.Sprintf(`\u%04x`, r)
		}
		forms := []string{u, inJSON, escaped, strings.Trim(strconv.QuoteToASCII(u), `"`), strings.NewReplacer("[", `\u{`, "]", "}", " ", "").Replace(fmt.Sprintf("%x", []rune(u)))}
		if len([]rune(u)) > 1 {
			forms = forms[:4]
		}
		for _, c := range hidden {
			for i := range len(c.text) + 1 {
				for form, unseen := range forms {
					if form > 0 && (i+form)%4 != 0 || (i+which)%share != 0 {
						continue
					}
					text := c.text[:i] + unseen + c.text[i:]
					for _, got := range []string{Text(text), Credentials(text), Whole(text), words.Line(Credentials(text)), words.Line(Credentials(words.Line(text)))} {
						require.NotContains(t, seen(got), c.secret, "%q", text)
						require.NotContains(t, seen(Credentials(got)), c.secret, "%q", text)
					}
				}
			}
		}
		name := "pass" + u + "word"
		require.True(t, SecretName(name), "%q", name)
		require.Equal(t, redacted, Cleaner{Text: Text}.Value(map[string]any{name: "canary"}).(map[string]any)[Text(name)], "%q", name)
		raw, err := json.Marshal(map[string]any{name: "canary", "list": []string{"pass" + u + "word=canary"}})
		require.NoError(t, err)
		require.NotContains(t, string(WholeJSON(raw)), "canary")
		require.NotContains(t, string(Cleaner{Text: Text}.JSON(raw)), "canary")
		require.NotEmpty(t, CredentialsIn(raw, func(string) bool { return false }, 4))
	}
}

// seen is what is seen of a text in which escapes are read.
func seen(text string) string {
	v := view{s: text}
	for more := true; more; {
		v, more = v.without(unescape)
		v, _ = v.without(unseen)
	}
	return v.s
}

// TestInvisibleCharactersOfOrdinaryText: what hides nothing stays as it is, for a name may have it by right.
func TestInvisibleCharactersOfOrdinaryText(t *testing.T) {
	for _, text := range []string{"می\u200cخواهم.txt was not found", "👩\u200d👩\u200d👧 family", "soft\u00adhyphen", "\x1b[31mred\x1b[0m", "a\u200bb", "it's John\u200b's"} {
		require.Equal(t, text, Text(text))
		require.Equal(t, text, Whole(text))
	}
	require.Equal(t, "می\u200cخواهم password=[redacted]", Text("می\u200cخواهم password=hunter2"), "and what is hidden takes nothing else with it")
}

// TestVisibly: a scrubber of the program's own sees through what is invisible, and is not called on what it need not see.
func TestVisibly(t *testing.T) {
	own := Visibly(func(s string) string { return strings.ReplaceAll(s, "acme", "[customer]") })
	for _, u := range invisible {
		require.Equal(t, "of [customer] only", words.Visible(own("of ac"+u+"me"+u+" only")), "%q", u)
		require.Equal(t, "of an"+u+"other", own("of an"+u+"other"), "%q", u)
	}
	require.Equal(t, "of [customer]", own("of acme"))
}

// TestScrubbedOnce puts credentials, what is invisible and pieces of rules together: what was scrubbed, and what is then
// seen of it, has nothing more to hide.
func TestScrubbedOnce(t *testing.T) {
	random := rand.New(rand.NewSource(3))
	pool := append(append([]string{" ", "\n", ": ", "=", `"`, "'", ", ", `\"`, "\t", "\r\n", "[", "]", "{", "}", "é", "密码", "is", "the"}, fragments...), invisible...)
	for _, r := range rules {
		pool = append(pool, r.on...)
	}
	for _, c := range hidden {
		pool = append(pool, c.text, c.text, c.secret)
	}
	n := 5000
	switch {
	case racing || testing.Short():
		n = 1000
	case os.Getenv("MCPCHAIN_SOAK") != "":
		n = 20_000
	}
	for range n {
		text := ""
		for range 1 + random.Intn(9) {
			part := pool[random.Intn(len(pool))]
			if at := random.Intn(len(part) + 1); random.Intn(4) == 0 {
				part = part[:at] + invisible[random.Intn(len(invisible))] + part[at:]
			}
			text += part
		}
		text = strings.ToValidUTF8(text, "?") // as what leaves is
		for _, scrubber := range []func(string) string{Text, Credentials, Whole} {
			once := scrubber(text)
			require.Equal(t, once, scrubber(once), "%q", text)
			visible := words.Visible(once)
			require.Equal(t, visible, scrubber(visible), "%q became %q", text, once)
		}
	}
}
