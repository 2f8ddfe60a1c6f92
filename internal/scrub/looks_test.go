package scrub

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestLooks: what a word of prose looks like behind the name of a secret.
func TestLooks(t *testing.T) {
	for _, tt := range []struct {
		k       kind
		yes, no string
	}{
		{
			secret, "zx9vb7nm5lk3 4f9a8b7c6d5e4f3a2b1c abc123def456ghi A1b2C3d4 0198c7f2-9d3e-7c41-9f0a-5b7d6c1e2a34 AbCdEfGhIjKlMnOpQrSt1 prod-4f9a8b7c6d5e4f3a2b1c abcdefg1hijklmn2",
			`expired deploy-2024-q3 my-app-9bkt7m5kf2 app-7d9f8b6c5d-x2x4z sh.helm.release.v1.web.v3 id_ed25519 20260728 01234567-0123-0123-0123-012345678901
			x509 hunter2 abcdefghijklmnopqrstuvwxyz abcde1fg`,
		},
		{
			password, "hunter2x Passw0rd42 Tr0ub4dor&3 P@ssw0rd a$b7%Qz s3cr3t-Pa55 Sommer-2026 123456 x7Rq-mm2p letMeIn99 zx9vb7nm5lk3 abcd!efg",
			"wrong x1 12345 sha256 SHA-512 AES-256-GCM utf-8 8-character 64 12th x509 argon2id pbkdf2 v1beta1 db1 node2 user1 policy-2 bob@example.com path/to2go f00(x) important! required* -1 5s oauth2 a1" + strings.Repeat(".x", 200),
		},
		{code, "4821 482913 12345678 078-05-1120 4f9a8b7c6d5e4f3a", "17 123 123456789 12:30 2026-07-28 078-05-112 07a-05-1120 wrong"},
		{session, "38afes7a8k2 548be029c9542e5b850b96ce1f87fb58", "hunter2x abc 12 expired 23505 E1234 invalid_grant"},
	} {
		for _, v := range strings.Fields(tt.yes) {
			assert.True(t, tt.k.looks(v), "%d %s", tt.k, v)
		}
		for _, v := range strings.Fields(tt.no) {
			assert.False(t, tt.k.looks(v), "%d %s", tt.k, v)
		}
	}
}

func TestPlaceholder(t *testing.T) {
	for _, v := range strings.Split("<token>|<YOUR TOKEN>|[token]|{token}|${TOKEN}|$TOKEN|%TOKEN%|%v|%+v|%s|****|...|…|xxx|XXXX|---|YOUR_API_KEY|your-api-key-here|<your key>|[YOUR_SECRET]", "|") {
		assert.True(t, placeholder(v), v)
	}
	for _, v := range strings.Split("hunter2|<hunter2>|[a=b]|{a=b}|${hunter}|$hunter|%2x|x|xx|xyx|yours|<"+strings.Repeat("a", 40)+">|[0]|%vvvv", "|") {
		assert.False(t, placeholder(v), v)
	}
}

// TestWhatIsHidden has what a rule hides beside what it leaves: the first is changed to the second, which is not changed.
func TestWhatIsHidden(t *testing.T) {
	for text, want := range map[string]string{
		// Behind a colon.
		"token: https://example.com/x is down": "",
		"token: HTTPS://example.com/x":         "",
		"password: swordfish, try again":       "password: [redacted], try again",
		"password: keyring is locked":          "",
		"password: keyring":                    "password: [redacted]",
		"password: correct.horse is wrong":     "password: [redacted] is wrong",
		"password: rotated":                    "",
		"password: red":                        "password: [redacted]",
		"token: swordfish":                     "token: [redacted]",
		"token: swordfish has expired":         "",
		"token: swordfish; has expired":        "",
		"token: swordfish (of bob)":            "",
		"token: swordfish user: bob":           "",
		"token: swordfish user=bob":            "token: [redacted] user=bob",
		"token: ES256 is unsupported":          "",
		"token: es256x7 is unsupported":        "token: [redacted] is unsupported",
		"token: 401 Unauthorized":              "",
		"token: 4011 Unauthorized":             "token: [redacted] Unauthorized",
		"token: parse(x) failed":               "",
		"token: ./secrets/token is missing":    "",
		"token: /hunter":                       "token: [redacted]",
		"credentials: key.json is missing":     "",
		`token: "swordfish" is wrong`:          `token: "[redacted]" is wrong`,
		`token: "value" is wrong`:              "",
		`secret: "db-creds" is missing`:        "",
		`secret: "hunter2x" is missing`:        `secret: "[redacted]" is missing`,
		`{"token": "value", "n": 1}`:           "",
		"pass: swordfish is what he said":      "",
		"pass: swordfish\npool: 5":             "pass: [redacted]\npool: 5",
		"a b pass: swordfish\npool: 5":         "",
		"pass: hunter2x, pool: 5":              "pass: [redacted], pool: 5",
		"secrets:read and token:list":          "",
		"secrets:swordfish":                    "secrets:[redacted]",
		"Authorization: Basic":                 "",
		"Authorization: Basic <credentials>":   "",
		"Authorization: Basic dTpw":            "Authorization: [redacted]",
		"secret: !!binary c3dvcmRmaXNo":        "secret: !!binary [redacted]",
		"password: {value: swordfish}":         "password: {value: [redacted]}",
		`password: {"type": "string"}`:         "",
		"session: 38afes7a8k2j":                "session: [redacted]",
		"session: swordfish9":                  "",
		"password:\n  hunter2x\n":              "password:\n  [redacted]\n",
		"password:\n  hunter2x is wrong\n":     "",
		"password:\nhunter2x\n":                "",
		"password:\r\n- hunter2x\r\n":          "password:\r\n- [redacted]\r\n",
		"password:\n  'hunter2x'\n":            "password:\n  '[redacted]'\n",

		// Behind other signs.
		"token = (known after apply)":                "",
		"token = (hunter 2)":                         "token = [redacted]",
		"`password=' is unknown":                     "",
		`"password="x" is unknown`:                   "",
		`token ("swordfish")`:                        "",
		`getToken("swordfish") and setToken("x y")`:  `getToken("swordfish") and setToken("[redacted]")`,
		`setToken("key.pem")`:                        "",
		`password |  hunter2x |`:                     "password |  [redacted] |",
		`password |  swordfish |`:                    "",
		"--token is required":                        "",
		"--token TOKEN":                              "",
		"--token swordfish":                          "--token [redacted]",
		"-token swordfish":                           "-token [redacted]",
		"a -token swordfish":                         "a -token [redacted]",
		"a-token swordfish":                          "",
		"--token (swordfish)":                        "",
		`["--token", "swordfish"]`:                   `["--token", "[redacted]"]`,
		`["token", "swordfish"]`:                     "",
		`["token", "4f9a8b7c6d5e4f3a2b1c"]`:          `["token", "[redacted]"]`,
		`("token", "password")`:                      "",
		"Token{Value: swordfish}":                    "Token{Value: [redacted]}",
		"token{Value: swordfish}":                    "",
		"kind: &Token{Raw: swordfish}":               "",
		"token: map[string]string{\"a\":\"b c\"}, x": "token: map[string]string{[redacted]}, x",
		"password: Some(\"a)b\", (\"c\")), x":        "password: Some([redacted]), x",
		"login bob password swordfish":               "login bob password [redacted]",
		"log in bob password swordfish":              "",
		"login --user password swordfish":            "",
		"password\n  was wrong [input_value='hunter2x', input_type=str]": "password\n  was wrong [input_value='[redacted]', input_type=str]",
		"<password>hunter2 x</password>":                                 "<password>[redacted]</password>",
		"<password>hunter2 x</user>":                                     "",
		"<password>hunter2":                                              "<password>[redacted]",
		"<password>hunter2 x":                                            "",
		"element <password> is missing":                                  "",
		`<entry key="password">swordfish</entry>`:                        `<entry key="password">[redacted]</entry>`,
		`<entry key="password"/>swordfish</entry>`:                       "",

		// In a sentence.
		"password hunter2x":                            "password [redacted]",
		"password 'swordfish'":                         "password [redacted]",
		"password is hunter2x, or hunter3x":            "password is [redacted], or [redacted]",
		"password is wrong. hunter2x is":               "",
		"password is wrong; hunter2x is":               "",
		"password of bob hunter2x":                     "",
		"password of bob is hunter2x":                  "password of bob is [redacted]",
		"password has_changed is hunter2x":             "",
		"the password (hunter2x)":                      "the password ([redacted])",
		"the password „hunter2x“":                      "the password [redacted]",
		"token 'deploy-2' is unknown":                  "",
		"secret 'hunter2x' is unknown":                 "",
		"unexpected token 'hunter2x'":                  "",
		"enable secret 5 4f9a8b7c6d5e4f3a2b1c":         "enable secret 5 [redacted]",
		"credentials bob/hunter2x":                     "credentials bob/[redacted]",
		"token bob/hunter2x":                           "",
		"pass hunter2x to it":                          "",
		"4f9a8b7c6d5e4f3a2b1c is not a valid token":    "[redacted] is not a valid token",
		"4f9a8b7c6d5e4f3a2b1c or not a valid token":    "",
		`invalid value "swordfish" for flag -token`:    `invalid value "[redacted]" for flag -token`,
		`invalid value swordfish for flag -token`:      "",
		`Duplicate entry '42' for key 'tokens.a'`:      "",
		"bob with hunter2x as password":                "bob with [redacted] as password",
		"IDENTIFIED BY 'swordfish'":                    "IDENTIFIED BY [redacted]",
		"identified by swordfish":                      "",
		"seed phrase: apple river\nnext: stone candle": "seed phrase: [redacted]\nnext: stone candle",

		// In other languages.
		"contraseña hunter2x":              "contraseña [redacted]",
		"senha: hunter2x.":                 "senha: [redacted].",
		"resenha hunter2x and senhas abc2": "",
		"senha: obrigatoria\nhunter2x":     "",
		"senha=swordfish":                  "senha=[redacted]",
		"jeton hunter2x":                   "",
		"jeton 4f9a8b7c6d5e4f3a2b1c":       "jeton [redacted]",
		"clave de api hunter2x":            "clave de api [redacted]",
		"пароль слишком короткий":          "",

		// Programs.
		"mysql -u bob -p shop":                        "",
		"mysql -u bob -pshop; -ptop":                  "mysql -u bob -p[redacted]; -ptop",
		"mysql -u bob | x -pshop":                     "",
		"my-mysql -u bob -pshop":                      "",
		"sshpass -p swordfish ssh":                    "sshpass -p [redacted] ssh",
		"sshpass -p 'sword fish' ssh":                 "sshpass -p '[redacted]' ssh",
		"sshpass -p -e ssh":                           "",
		"sshpass -p $PASS ssh":                        "",
		"openssl x -passin file:x -passout pass:word": "openssl x -passin file:x -passout pass:[redacted]",
		"smbclient -U bob //srv":                      "",
		"smbclient -U bob%swordfish //srv":            "smbclient -U bob%[redacted] //srv",
		"docker run -p 80:80 x":                       "",
		"zipped -P swordfish":                         "",
		"AUTH hunter2x and AUTH wrong":                "AUTH [redacted] and AUTH wrong",
		"NOAUTH hunter2x":                             "",
		"AUTH PLAIN AGJvYgBzd29y":                     "AUTH PLAIN [redacted]",
		"AUTH PLAIN failed":                           "",

		// Hosts.
		"bob:hunter2x@example.com":         "bob:[redacted]@example.com",
		"bob:swordfish@example.com":        "",
		"bob:swordfish@db.example.com":     "bob:[redacted]@db.example.com",
		"bob:swordfish@example.com/x":      "bob:[redacted]@example.com/x",
		"bob:swordfish@10.0.0.5":           "bob:[redacted]@10.0.0.5",
		"cc:hunter2x@db.example.com":       "",
		"bob:abc@db.example.com":           "",
		"scott/hunter2x@orcl":              "scott/[redacted]@orcl",
		"x/scott/hunter2x@orcl":            "",
		"actions/hunter2x@v4":              "",
		"scott/swordfish@orcl":             "",
		"hunter2x@db.example.com":          "",
		"bob:hunter2x@":                    "",
		"scott/hunter2x@. And more":        "",
		"bob:hunter2x@...":                 "",
		"hooks.slack.com/services/T0/B0/x": "hooks.slack.com/[redacted]",
	} {
		if want == "" {
			want = text
		}
		assert.Equal(t, want, Credentials(text))
		assert.Equal(t, want, Credentials(want), "idempotent")
	}
}
