package scrub

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestCodeStays: what names a secret in code, in a command or in a help stays, and the literal beside it is hidden. Each
// row has both, so that neither is bought with the other.
func TestCodeStays(t *testing.T) {
	for stays, hidden := range map[string]string{
		// Code.
		"hs.masterSecret = hs.sessionState.secret":               `hs.masterSecret = "swordfish"`,
		"ClientAuth: c.ClientAuth,":                              "client_auth: swordfish,",
		"token = Name.Variable":                                  "token = zz81kq.Sword7fish",
		"self.eofToken = t":                                      `self.eofToken = "swordfish"`,
		"this.password = value":                                  "my.password = swordfish",
		"state_credentials=computed_credentials,":                "state_credentials=computed_swordfish,",
		"tokenData.cidr_token = cidrToken":                       "jwt.secret = mySecretKey",
		"'auth_token': access_token,":                            "'auth_token': 'access',",
		"if (token === RIGHT_BRACE) {":                           `if (password === "swordfish") {`,
		"TOKEN_ALL_ACCESS = STANDARD_RIGHTS |":                   "user = bob | password = swordfish | host = x",
		"output_token = nodot + token.output":                    "password = swordfish + salt",
		"sessionKey = servername || hostname":                    "password = swordfish and user = bob",
		"const createToken = (name, value) => {":                 "const createToken = (swordfish)",
		"raw_private_key = private_key.private_bytes(":           `raw_private_key = "swordfish"`,
		"p._cookies = _copy_cookie_jar(self._cookies)":           "p._cookies = [swordfish]",
		"map[password:[redacted] user:[bob]]":                    "map[password:[swordfish] user:[bob]]",
		"Server=db;Pwd={password}":                               "Server=db;Pwd={swordfish}",
		"tokens = [Token.PLUS_SIGN, Token.MINUS_SIGN]":           `tokens = ["swordfish"]`,
		"token = { value: '', depth: 0 };":                       "token = { value: 'swordfish', depth: 0 };",
		"password: Optional[SecretStr] = None":                   `password: Optional[SecretStr] = "swordfish"`,
		"if (prop !== 'password' && value === null) {":           `{"password", value = "swordfish"}`,
		"(request.credentials === 'include' ||":                  "(request.password === 'include' ||",
		"if (auth.includes('Basic')) {":                          "auth.setPassword('swordfish')",
		"auth := res.headers.get('www-authenticate')":            `jwtKey := []byte("my_secret_key")`,
		`creds.auth = Buffer.from(authReg, 'base64')`:            `creds.auth = Secret("swordfish")`,
		`Argument "token" to "connect" has an incompatible type`: `changed the token to "zz81-kq02"`,
		"getpass(prompt='Password: ', stream=None)":              `bad line "password: "swordfish""`,
		`apiKey = "API_KEY"`:                                     `apiKey = "APIKEY_SWORDFISH"`,
		"PK11_NO_TOKEN = 107":                                    "pin_code = 1074",
		"const SOCKS5_AUTH_START = 0x80;":                        "const SOCKS5_PASSWORD = 0xdeadbeef;",
		"set <code>NextToken</code> in <code>Query</code>":       "set <token>swordfish</token>",
		"CREATE USER bob PASSWORD NULL":                          "CREATE USER bob PASSWORD 'sword fish'",

		// Shells and templates.
		`API_TOKEN="$(cat token.txt)"`:                              `API_TOKEN="$wordfish"`,
		`DB_PASSWORD="${DB_PASSWORD:-}"`:                            `DB_PASSWORD="${DB_PASSWORD:-swordfish}"`,
		"GITLAB_TOKEN=$(GITLAB_TOKEN) make up":                      "GITLAB_TOKEN=swordfish make up",
		"private_key = $dir/private/cakey.pem":                      "private_key = $wordfish",
		`-H "Authorization: Bearer $token" \`:                       `-H "Authorization: Bearer swordfish7x" \`,
		"headers.authorization = `Basic ${auth.auth}`":              "headers.authorization = `Basic swordfish7x`",
		`curl -u "$USER:$PASSWORD" https://example.com`:             `curl -u "bob:sword fish" https://example.com`,
		"avatar -t TOKEN -u https://example.com/x.svg":              "avatar -t TOKEN -u bob:swordfish",
		"https://x-access-token:${GITHUB_TOKEN}@github.com/":        "https://x-access-token:swordfish@github.com/",
		`Get "https://bot:xxxxx@example.com/x": EOF`:                `Get "https://bot:xxSword@example.com/x": EOF`,
		"cannot parse `postgres://app:xxxxx@db:5432/shop`":          "cannot parse `postgres://app:xxSword@db:5432/shop`",
		"the form is postgres://USER:PASSWORD@HOST/DB":              "postgres://USER:SWORDFISH@HOST/DB",
		"docker run -e POSTGRES_PASSWORD=<password> postgres:16":    "<config><password>swordfish",
		"Authorization: Basic <base64(user:password)>":              "Authorization: Basic Ym9iOnN3b3JkZmlzaA==",
		"password: [FILTERED] secret: (sensitive value)":            "secret: (swordfish9)",
		"pkcs11-tool --login --init-pin --pin $PIN":                 "pkcs11-tool --login --so-pin 1234567 --pin $PIN",
		"arn:aws:secretsmanager:eu-west-1:1234:secret:prod/pw-AbCd": "arn:aws:iam::1:user/x secret:swordfish",
		"secret: projects/42/secrets/db-password/versions/latest":   "secret: wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
		"ssh_key_path = ~/.ssh/id_ed25519":                          "refreshToken: 1//0gabc-def",

		// Helps.
		"  --password-stdin        Take the password from stdin": "  --password  sword7fish",
		"  -W, --password           force password prompt":       "requirepass    swordfish",
		" -pass val           Passphrase source":                 "machine h login bob password   swordfish",
		" -j, --junk-session-cookies Ignore cookies of a file":   "tool --session-token swordfish",
		" -u, --user <user:password> Server user and password":   "curl --user bob:swordfish https://example.com",
		"  -token string\n    \tthe token of the API":            "  -token string\n    \tthe token of the API (default \"swordfish\")",
	} {
		assert.Equal(t, stays, ForOperator(stays))
		assert.NotEqual(t, hidden, ForOperator(hidden))
		for _, secret := range []string{"swordfish", "fish", "mySecretKey", "my_secret_key", "zz81", "SWORDFISH", "wordfish", "xxSword", "sword7fish", "Sword7fish", "0gabc", "deadbeef", "1074", "1234567", "wJalrX"} {
			assert.NotContains(t, ForOperator(hidden), secret)
		}
	}
}
