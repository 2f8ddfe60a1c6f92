package hide_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/hide"
)

// awkward has what each kind of escape has to escape.
const awkward = `p"a\s's é&<9>/+ %41$z` + "\ttab"

// escapedBytes writes each byte of a text.
func escapedBytes(format, text string) string {
	var b strings.Builder
	for i := range len(text) {
		fmt.Fprintf(&b, format, text[i])
	}
	return b.String()
}

func marshalled(text string) string {
	raw, _ := json.Marshal(text)
	return string(raw[1 : len(raw)-1])
}

// unescapedHTML is JSON as other languages write it, ascii JSON as Python does.
func unescapedHTML(text string) string {
	return strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(marshalled(text))
}

func ascii(text string) string {
	quoted := strconv.QuoteToASCII(text)
	return quoted[1 : len(quoted)-1]
}

// forms are ways in which programs write a text.
func forms(text string) map[string]string {
	of := map[string]string{
		"plain": text, "JSON": marshalled(text), "JSON of others": unescapedHTML(text), "JSON in JSON": marshalled(marshalled(text)), "JSON in JSON in JSON": unescapedHTML(marshalled(unescapedHTML(text))),
		"ASCII": ascii(text), "upper ASCII": strings.ReplaceAll(strings.ToUpper(escapedBytes(`\x%02x`, text)), `\X`, `\x`), "bytes": escapedBytes(`\x%02x`, text), "octal": escapedBytes(`\%03o`, text),
		"query": url.QueryEscape(text), "path": url.PathEscape(text), "percent": escapedBytes("%%%02X", text), "small percent": escapedBytes("%%%02x", text), "small query": strings.ToLower(url.QueryEscape(strings.ToLower(text))),
		"double percent": url.PathEscape(url.PathEscape(text)), "query in JSON": marshalled(url.QueryEscape(text)),
		"HTML": html.EscapeString(text), "HTML in JSON": marshalled(html.EscapeString(text)), "named HTML": strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&apos;", "é", "&eacute;").Replace(text),
		"hex": hex.EncodeToString([]byte(text)), "upper hex": strings.ToUpper(hex.EncodeToString([]byte(text))), "spaced hex": strings.TrimSpace(escapedBytes("%02x ", text)),
		"repr": strings.NewReplacer(`\`, `\\`, "'", `\'`, "\n", `\n`, "\t", `\t`).Replace(text), "Go": strings.Trim(strconv.Quote(text), `"`),
		"shell": strings.ReplaceAll(text, "'", `'"'"'`), "other shell": strings.ReplaceAll(text, "'", `'\''`), "SQL": strings.ReplaceAll(text, "'", "''"),
		"shell of bytes": strings.NewReplacer(`\`, `\\`, "'", `\'`, "\n", `\n`, "\t", `\t`, "é", `\303\251`).Replace(text),
		"backslashes":    strings.NewReplacer(`\`, `\\`, "'", `\'`, `"`, `\"`, " ", `\ `, "$", `\$`, "&", `\&`, "<", `\<`, ">", `\>`).Replace(text),
		"shell of Ruby":  strings.NewReplacer(`\`, `\\`, "'", `\'`, `"`, `\"`, " ", `\ `, "$", `\$`, "&", `\&`, "<", `\<`, ">", `\>`, "é", `\é`, "ö", `\ö`).Replace(text),
	}
	var runes, entities, upper strings.Builder
	for _, r := range text {
		if r > 0xffff {
			r = 'x'
		}
		fmt.Fprintf(&runes, `\u%04x`, r)
		fmt.Fprintf(&entities, "&#%d;", r)
		fmt.Fprintf(&upper, `\u%04X`, r)
	}
	of["units"], of["upper units"], of["entities"] = runes.String(), upper.String(), entities.String()
	for name, alphabet := range map[string]*base64.Encoding{"std": base64.StdEncoding, "url": base64.URLEncoding, "raw std": base64.RawStdEncoding, "raw url": base64.RawURLEncoding} {
		of["base64 "+name] = alphabet.EncodeToString([]byte(text))
		of["escaped base64 "+name] = url.QueryEscape(alphabet.EncodeToString([]byte(text)))
		of["slashed base64 "+name] = strings.ReplaceAll(alphabet.EncodeToString([]byte(text)), "/", `\/`)
	}
	return of
}

func TestEveryForm(t *testing.T) {
	for _, secret := range []string{awkward, "hunter22-of-a-database", "Tr0ub4dor&3", "a+b/c=d", "say 'it's'", "kennwört", "%41%42%43", `C:\new\table`, "482913"} {
		hider := hide.New(hide.Secret{Value: secret})
		for name, form := range forms(secret) {
			if name == "small query" && strings.ToLower(secret) != secret {
				continue
			}
			require.Equal(t, "before [redacted] after", hider.Text("before "+form+" after"), "%s of %s: %s", name, secret, form)
			require.Equal(t, "[redacted]", hider.Text(form), "%s of %s: %s", name, secret, form)
			require.Equal(t, `"[redacted]"`, hider.Text(`"`+form+`"`), "%s of %s: %s", name, secret, form)
		}
	}
}

// Old programs write one byte for a letter of western languages.
func TestLatin1(t *testing.T) {
	hider := hide.New(hide.Secret{Value: "kennwört"})
	for _, form := range []string{"kennw\xf6rt", "kennw%F6rt", `kennw\xf6rt`, `kennw\366rt`} {
		require.Equal(t, "[redacted].", hider.Text(form+"."))
	}
	// Text of JSON that is not UTF-8 and has an escape is decoded as it is.
	require.Equal(t, `{"x":{"text":"[redacted]\nend"}}`, string(hide.JSON([]byte("{\"x\":{\"text\":\"kennw\xf6rt\\nend\"}}"), hider.Text)))
}

// Base64 of a user and a password has the password at any of three places.
func TestBase64OfCredentials(t *testing.T) {
	for _, secret := range []hide.Secret{{Value: "hunter22-of-a-database"}, {Value: "ab1c", Place: hide.AsWord}, {Value: "postgres", Place: hide.Assigned}} {
		hider := hide.New(secret)
		for _, user := range []string{"", "u", "us", "use", "user"} {
			for _, alphabet := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding, base64.RawStdEncoding, base64.RawURLEncoding} {
				form := alphabet.EncodeToString([]byte(user + ":" + secret.Value))
				hidden := hider.Text("Authorization: Basic " + form + ", and more")
				require.Contains(t, hidden, "[redacted], and more")
				_, left, _ := strings.Cut(strings.TrimSuffix(hidden, "[redacted], and more"), "Basic ")
				plain, _ := base64.RawStdEncoding.DecodeString(left[:len(left)/4*4])
				require.True(t, strings.HasPrefix(user+":", string(plain)), "%q of %q is left", plain, form)
				require.LessOrEqual(t, len(left), len(user+":")*8/6, "no letter that the secret has a part in")
			}
		}
	}
	for _, secret := range []hide.Secret{{Value: "ab1c", Place: hide.AsWord}, {Value: "postgres", Place: hide.Assigned}} {
		form := base64.StdEncoding.EncodeToString([]byte("user:" + secret.Value + "ql, and more"))
		require.Equal(t, form, hide.New(secret).Text(form), "another word")
	}
}

// A long base64 may be broken into lines, of a value in the middle of others.
func TestWrappedBase64(t *testing.T) {
	secret := key(20)
	hider := hide.New(hide.Secret{Value: secret})
	for offset := range 5 {
		form := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", offset) + secret))
		for ; len(form) > 76; form = form[76:] {
			require.Equal(t, "[redacted]", hider.Text(form[:76]))
		}
	}
}

// key returns a secret of many lines.
func key(lines int) string {
	var b strings.Builder
	b.WriteString("-----BEGIN PRIVATE KEY-----\n")
	for i := range lines {
		fmt.Fprintf(&b, "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSj%08dAgEAAoIBAQDf\n", i*7919)
	}
	return b.String() + "Qx3rT9zA\n-----END PRIVATE KEY-----\n"
}

func TestSecretOfManyLines(t *testing.T) {
	secret := key(10)
	for _, value := range []string{secret, strings.ReplaceAll(secret, "\n", "\r\n"), strings.ReplaceAll(secret, "\n", `\n`), strings.ReplaceAll(secret, "\n", " ")} {
		hider := hide.New(hide.Secret{Value: value})
		for line := range strings.Lines(secret) {
			line = strings.TrimSpace(line)
			if strings.HasPrefix(line, "-----") {
				continue
			}
			require.Equal(t, "time=now line=[redacted] x", hider.Text("time=now line="+line+" x"))
			require.Equal(t, "Buffer [redacted]", hider.Text("Buffer "+hex.EncodeToString([]byte(line))))
		}
		for size := 60; size <= 80; size++ { // the lines of others are longer or shorter
			body := strings.Join(strings.Split(secret, "\n")[1:11], "")
			for ; len(body) > size; body = body[size:] {
				require.Equal(t, "[redacted]", hider.Text(body[:size]), "%d", size)
			}
		}
		for _, form := range []string{secret, marshalled(secret), strings.ReplaceAll(secret, "\n", "\n    "), strings.ReplaceAll(secret, "\n", " ")} {
			require.NotContains(t, hider.Text("a key: "+form), "MIIE")
			require.NotContains(t, hider.Text("a key: "+form), "Qx3r")
		}
	}
	hider := hide.New(hide.Secret{Value: "kind: Config\ncurrent-context: main\nusers:\n- name: somebody\n  token: Zq8rT9zAb2Cd4Ef6Gh\nend\n"})
	for _, text := range []string{"the kind: Config is not known", "users:", "- name: somebody", "end"} {
		require.Equal(t, text, hider.Text(text))
	}
	require.Equal(t, "with [redacted]", hider.Text("with Zq8rT9zAb2Cd4Ef6Gh"))
}

func TestPlaces(t *testing.T) {
	path := hide.New(hide.Secret{Value: `C:\Users\nora\id_ed25519`, Place: hide.Assigned}) // \n is no break of a line here
	require.Equal(t, `cannot open C:\Users\other\x`, path.Text(`cannot open C:\Users\other\x`))
	require.Equal(t, "API_KEY=[redacted]", path.Text(`API_KEY=C:\Users\nora\id_ed25519`))

	word, assigned := hide.New(hide.Secret{Value: "ab1c", Place: hide.AsWord}), hide.New(hide.Secret{Value: "postgres", Place: hide.Assigned}, hide.Secret{Value: "1", Place: hide.Assigned}, hide.Secret{Value: "app", Place: hide.Assigned})
	for _, text := range []string{"grab1cat", "xab1c", "ab1c_x", "éab1c"} {
		require.Equal(t, text, word.Text(text))
	}
	for text, want := range map[string]string{"ab1c": "[redacted]", "(ab1c)": "([redacted])", `\"ab1c\"`: `\"[redacted]\"`, "x=ab1c&y": "x=[redacted]&y", "%22ab1c%22": "%22[redacted]%22"} {
		require.Equal(t, want, word.Text(text))
	}
	for _, text := range []string{
		`database "postgres" does not exist`, "postgres://host/postgres", "password authentication failed for user postgres", "the password: see postgres.conf", "host=postgres",
		"1 of 1 rows", "app", "an app that postgres has", "user=postgres dbname=postgres", "https://example.com/postgres?x=postgres", "tokens, postgres", "max_tokens=1", `{"name":"postgres"}`,
		"password=postgresql", "mypassword of postgres",
	} {
		require.Equal(t, text, assigned.Text(text))
	}
	for text, want := range map[string]string{
		"postgres://u:postgres@h/db":                   "postgres://u:[redacted]@h/db",
		"postgres://u:postgres@h/postgres":             "postgres://u:[redacted]@h/postgres",
		"postgres%3A%2F%2Fu%3Apostgres%40h%2Fdb":       "postgres%3A%2F%2Fu%3A[redacted]%40h%2Fdb",
		"password=postgres":                            "password=[redacted]",
		"PGPASSWORD='postgres' psql":                   "PGPASSWORD='[redacted]' psql",
		"host=h password = postgres":                   "host=h password = [redacted]",
		`{"password": "postgres"}`:                     `{"password": "[redacted]"}`,
		`{\"password\": \"postgres\"}`:                 `{\"password\": \"[redacted]\"}`,
		"--db-password postgres --x":                   "--db-password [redacted] --x",
		"<password>postgres</password>":                "<password>[redacted]</password>",
		"Authorization: Bearer postgres":               "Authorization: Bearer [redacted]",
		"{'password' => 'postgres'}":                   "{'password' => '[redacted]'}",
		"h?user=postgres&password=postgres#x":          "h?user=postgres&password=[redacted]#x",
		"token=1,app_secret=app":                       "token=[redacted],app_secret=[redacted]",
		"пароль=postgres":                              "пароль=[redacted]",
		"Server=h;Password=postgres;Database=postgres": "Server=h;Password=[redacted];Database=postgres",
	} {
		require.Equal(t, want, assigned.Text(text))
	}
}

func TestNothingToHide(t *testing.T) {
	for _, hider := range []*hide.Hider{hide.New(), hide.New(hide.Secret{}), hide.New(hide.Secret{Value: "  "})} {
		require.Equal(t, `a text \u00e9 %41`, hider.Text(`a text \u00e9 %41`))
	}
	both := hide.New(hide.Secret{Value: "abcdefghij"}, hide.Secret{Value: "abcdef"}, hide.Secret{Value: "hijklm"})
	require.Equal(t, "[redacted] [redacted] [redacted][redacted]", both.Text("abcdefghij abcdef abcdefabcdef"))
	require.Equal(t, "[redacted]", both.Text("abcdefghijklm"), "those that overlap leave nothing")
}

// A secret is found where a text is looked at in parts, too.
func TestLargeTexts(t *testing.T) {
	secret := "hunter22-of-a-database"
	hider := hide.New(hide.Secret{Value: secret}, hide.Secret{Value: "ab1c", Place: hide.AsWord})
	for _, form := range []string{secret, url.PathEscape(escapedBytes("%%%02x", secret)), `\"` + secret + `\"`, "ab1c"} {
		for at := (1 << 20) - 300; at < (1<<20)+10; at += 31 {
			text := strings.Repeat("x", at-1) + " " + form + " " + strings.Repeat("y ", 1<<18)
			require.NotContains(t, hider.Text(text), form[:4])
			require.Equal(t, 1, strings.Count(hider.Text(text), hide.Redacted))
		}
	}
	long := strings.Repeat("x", 1<<20-5) + " ab1cx" + strings.Repeat("y ", 1<<18)
	require.Equal(t, long, hider.Text(long), "the end of a part is no end of a word")
}

func TestJSON(t *testing.T) {
	hider := hide.New(hide.Secret{Value: awkward}, hide.Secret{Value: "nabcdef9"}, hide.Secret{Value: "postgres", Place: hide.Assigned}, hide.Secret{Value: "u0041bcd"}, hide.Secret{Value: "48291377"}, hide.Secret{Value: `{"a": "b", "c": 1}`})
	for in, want := range map[string]string{
		`{"id":1,"result":{}}`:                                                            `{"id":1,"result":{}}`,
		`{ "a" : "\u00e9\ud800", "b":1.0e5, "n":null}`:                                    `{ "a" : "\u00e9\ud800", "b":1.0e5, "n":null}`,
		`{"a":"\ud800","b":"` + marshalled(awkward) + `"}`:                                `{"a":"\ud800","b":"[redacted]"}`,
		`{"a":"` + marshalled(marshalled(awkward)) + `"}`:                                 `{"a":"[redacted]"}`,
		`{"` + marshalled(awkward) + `":1}`:                                               `{"` + marshalled(awkward) + `":1}`, // a name of the protocol is one
		`{"x":{"` + marshalled(awkward) + `":1}}`:                                         `{"x":{"[redacted]":1}}`,
		`{"text":"a\nabcdef9"}`:                                                           `{"text":"a\nabcdef9"}`, // it is a line, and not the secret
		`{"text":"a\\nabcdef9"}`:                                                          `{"text":"a[redacted]"}`,
		`{"text":"\u0041bcd"}`:                                                            `{"text":"\u0041bcd"}`,
		`{"id":48291377,"x":{"n":[48291377,148291377]}}`:                                  `{"id":48291377,"x":{"n":[0,148291377]}}`,
		`{"id":"48291377","params":{"progressToken":"48291377","x":"48291377"}}`:          `{"id":"48291377","params":{"progressToken":"48291377","x":"[redacted]"}}`,
		`{"x":{"a":{"b":{"progressToken":"48291377"}}}}`:                                  `{"x":{"a":{"b":{"progressToken":"[redacted]"}}}}`, // it is not that of the message
		`{"x":{"db":"postgres","password":"postgres","password_hint":"postgres"}}`:        `{"x":{"db":"postgres","password":"[redacted]","password_hint":"[redacted]"}}`,
		`{"x":[{"text":"{\"db\":\"postgres\",\"password\":\"postgres\"}"}]}`:              `{"x":[{"text":"{\"db\":\"postgres\",\"password\":\"[redacted]\"}"}]}`,
		`{"x":{"blob":"` + base64.StdEncoding.EncodeToString([]byte("x"+awkward)) + `"}}`: `{"x":{"blob":"` + base64.StdEncoding.EncodeToString([]byte("[redacted]")) + `"}}`,
		`{"x":{"text":"{\"a\": \"b\", \"c\": 1}"}}`:                                       `{"x":{"text":"[redacted]"}}`,
	} {
		got := string(hide.JSON([]byte(in), hider.Text))
		require.Equal(t, want, got)
		require.True(t, json.Valid([]byte(got)), got)
	}
	message := []byte(`{"a":"b"}`)
	require.Same(t, &message[0], &hide.JSON(message, hider.Text)[0], "what has no secret is not copied")
	for _, text := range []string{`{"a %s`, `it is %s, and "nothing" else`, `{"a":%s}`, `{"a":1}; %s`} {
		require.Equal(t, fmt.Sprintf(text, "[redacted]"), string(hide.JSON(fmt.Appendf(nil, text, "nabcdef9"), hider.Text)), "what is not JSON")
	}

	// A text that is JSON stays JSON, where the secret stands behind an escape and where it is a number.
	for _, text := range []string{`{"level":"x\\nabcdef9","n":48291377}`, ` [{"id":"` + marshalled(awkward) + `","n":{"x":48291377}}]`} {
		hidden := hider.Text(text)
		require.True(t, json.Valid([]byte(hidden)), hidden)
		require.NotContains(t, hidden, "48291377")
		require.Contains(t, hidden, "[redacted]")
	}
}

// However a message is made, it stays JSON and keeps what is no secret.
func FuzzJSON(f *testing.F) {
	f.Add("text", awkward)
	f.Add(`\`+awkward+`\"`, "n\\")
	f.Fuzz(func(t *testing.T, text, secret string) {
		hider := hide.New(hide.Secret{Value: secret}, hide.Secret{Value: awkward})
		for _, value := range []string{text, secret, text + secret + text, marshalled(text + secret)} {
			raw, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "params": map[string]any{text: value, "list": []any{value, 1, nil}}})
			require.NoError(t, err)
			require.True(t, json.Valid(hide.JSON(raw, hider.Text)))
		}
		require.NotContains(t, hider.Text(text+awkward+text), awkward)
	})
}
