package mcptest

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"html"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// NoLeak requires that no secret is in what left a server: in everything that it sent, if
// left is a [Session], else in the one result, error, text or other value, as JSON. Case
// does not matter. A secret is also found if it is escaped for JSON, URLs or HTML, even
// several times over, and in hexadecimal or base64. NoLeak does not read the server's log.
//
// Put an invented secret into whatever fails, a cause, a path, a panic, and look for it
// here. NoLeak ends the test if there is no secret to look for.
func NoLeak(t testing.TB, left any, secrets ...string) {
	t.Helper()
	if len(secrets) == 0 {
		t.Fatalf("mcptest.NoLeak: there is no secret to look for")
	}
	text := bytesOf(t, left)
	for _, secret := range secrets {
		if strings.TrimSpace(secret) == "" {
			t.Fatalf("mcptest.NoLeak: a secret is empty")
		}
		number := 0
		for message := range bytes.Lines(text) {
			number++
			if how, around := find(string(message), secret); around != "" {
				t.Errorf("mcptest.NoLeak: the secret %q left the server%s, in message %d:\n\t%s", secret, how, number, around)
				break
			}
		}
	}
}

// bytesOf returns the bytes of a value as it leaves a server.
func bytesOf(t testing.TB, left any) []byte {
	t.Helper()
	switch v := left.(type) {
	case *Session:
		return v.Sent()
	case []byte:
		return v
	case string:
		return []byte(v)
	case error:
		var wire *jsonrpc.Error
		if errors.As(v, &wire) {
			return append([]byte(v.Error()+"\n"), wire.Data...)
		}
		return []byte(v.Error())
	}
	b, err := json.Marshal(left)
	if err != nil {
		t.Fatalf("mcptest.NoLeak: %T cannot leave as JSON: %v", left, err)
	}
	return b
}

// maxRounds is how many times over a text is unescaped.
const maxRounds = 5

// find returns in which form a text has a secret, and the text around it, "" if it has
// none.
func find(text, secret string) (how, around string) {
	for round := range maxRounds {
		for _, f := range formsOf(secret) {
			in := text
			if f.fold {
				in = strings.ToLower(in)
			}
			if i := strings.Index(in, f.text); i >= 0 {
				if how = f.how; round > 0 {
					how = " escaped" + how
				}
				if len(in) == len(text) { // not for the few letters whose other case is longer
					in = text
				}
				const margin = 60
				from, to := max(0, i-margin), min(len(in), i+len(f.text)+margin)
				return how, strconv.Quote(strings.ToValidUTF8(in[from:to], "?"))
			}
		}
		unescaped := unescape(text)
		if unescaped == text {
			break
		}
		text = unescaped
	}
	return "", ""
}

// A form is one way to write a secret.
type form struct {
	text string
	how  string // "" as it is
	fold bool   // the text is in lower case, and any case matches
}

func formsOf(secret string) []form {
	forms := []form{
		{text: strings.ToLower(secret), fold: true},
		{text: hex.EncodeToString([]byte(secret)), how: " in hexadecimal", fold: true},
	}
	if len(secret) < 6 { // the middle of its base64 is too short to mean anything
		return forms
	}
	for offset := range 3 {
		for _, alphabet := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			padded := append(bytes.Repeat([]byte{0}, offset), secret...)
			text := alphabet.EncodeToString(padded[:len(padded)/3*3])
			forms = append(forms, form{text: text[(offset*8+5)/6:], how: " in base64"})
		}
	}
	return forms
}

var (
	escapes  = regexp.MustCompile(`(\\u[0-9a-fA-F]{4})+|\\["\\/bfnrt]`)
	percents = regexp.MustCompile(`(%[0-9a-fA-F]{2})+`)
)

// unescape undoes one round of the escapes of JSON, URLs and HTML, wherever there are any.
func unescape(text string) string {
	text = escapes.ReplaceAllStringFunc(text, func(e string) string {
		var plain string
		if json.Unmarshal([]byte(`"`+e+`"`), &plain) != nil {
			return e // never: the pattern has escapes of JSON only
		}
		return plain
	})
	text = percents.ReplaceAllStringFunc(text, func(e string) string {
		plain, err := url.PathUnescape(e)
		if err != nil {
			return e // never: the pattern has bytes only
		}
		return plain
	})
	return html.UnescapeString(text)
}
