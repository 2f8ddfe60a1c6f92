package scrub

import (
	"encoding/base64"
	"math/rand"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The vectors are made when the test runs, from a description of each format, so that no scanner trips over this file.

var random = rand.New(rand.NewSource(7))

func some(n int, alphabet string) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = alphabet[random.Intn(len(alphabet))]
	}
	b[n/2] = alphabet[len(alphabet)-1] // a digit, where there are any
	return string(b)
}

const (
	nums   = "0123456789"
	hexes  = "abcdef" + nums
	mixed  = lowers + uppers + nums
	urlish = lowers + uppers + "-_" + nums
)

func hex(n int) string     { return some(n, hexes) }
func an(n int) string      { return some(n, mixed) }
func us(n int) string      { return some(n, urlish) }
func up(n int) string      { return some(n, uppers+nums) }
func digit(n int) string   { return some(n, nums) }
func b64(s string) string  { return base64.StdEncoding.EncodeToString([]byte(s)) }
func b64u(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }

// keyVectors are keys that are known by their shape, by vendor.
func keyVectors() map[string]string {
	jwt := b64u(`{"alg":"HS256","typ":"JWT"}`) + "." + b64u(`{"sub":"1234567890","name":"x"}`) + "." + us(43)
	pem := "-----BEGIN RSA PRIVATE " + "KEY-----\n" + some(64, mixed) + "\n" + some(64, mixed) + "\n-----END RSA PRIVATE " + "KEY-----"
	return map[string]string{
		"1password secret key": "A3-" + up(6) + "-" + up(11) + "-" + up(5) + "-" + up(5) + "-" + up(5), "1password service account": "ops_eyJ" + an(260),
		"adafruit/adobe p8e": "p8e-" + some(32, lowers+nums), "age": "AGE-SECRET-" + "KEY-1" + up(58), "airtable": "pat" + an(14) + "." + hex(64), "alibaba": "LTAI" + an(20),
		"anthropic": "sk-" + "ant-api03-" + us(93) + "AA", "anthropic admin": "sk-" + "ant-admin01-" + us(93) + "AA", "artifactory": "AKCp" + an(69), "artifactory reference": "cmVmdGtu" + an(56),
		"atlassian": "ATATT3" + us(186), "aws id": "AKIA" + up(16), "aws session id": "ASIA" + up(16), "aws bedrock": "ABSK" + an(110), "aws bedrock short": "bedrock-api-" + "key-YmVkcm9jay5hbWF6b25hd3MuY29t" + an(40),
		"brevo": "xkey" + "sib-" + hex(64) + "-" + an(16), "clojars": "CLOJARS_" + an(60), "cloudflare origin": "v1.0-" + hex(24) + "-" + hex(146),
		"databricks": "dapi" + hex(32), "digitalocean pat": "dop_v1_" + hex(64), "digitalocean oauth": "doo_v1_" + hex(64), "digitalocean refresh": "dor_v1_" + hex(64), "docker": "dckr_pat_" + us(27),
		"doppler": "dp.pt." + an(43), "duffel": "duffel_test_" + us(43), "dynatrace": "dt0c01." + up(24) + "." + up(64), "easypost": "EZAK" + an(54), "easypost test": "EZTK" + an(54),
		"facebook page": "EAAC" + an(120), "figma": "figd_" + us(40), "flutterwave": "FLWSECK_" + "TEST-" + hex(32) + "-X", "fly": "fo1_" + us(43), "fly macaroon": "fm2_" + an(120), "frame.io": "fio-u-" + us(64),
		"google api": "AIza" + us(35), "google oauth": "ya29." + us(80), "google client secret": "GOCSPX-" + us(28), "google refresh": "1//0" + us(60),
		"github pat": "ghp_" + an(36), "github oauth": "gho_" + an(36), "github user": "ghu_" + an(36), "github server": "ghs_" + an(36), "github refresh": "ghr_" + an(36), "github fine": "github_" + "pat_" + an(22) + "_" + an(59),
		"gitlab pat": "glpat-" + us(20), "gitlab routable": "glpat-" + us(27) + ".01." + some(9, lowers+nums), "gitlab trigger": "glptt-" + hex(40), "gitlab runner": "glrt-" + us(20), "gitlab registration": "GR1348941" + us(20),
		"gitlab deploy": "gldt-" + us(20), "gitlab feed": "glft-" + us(20), "gitlab flags": "glffct-" + us(20), "gitlab mail": "glimt-" + us(25), "gitlab agent": "glagent-" + us(50), "gitlab oauth app": "gloas-" + us(64), "gitlab scim": "glsoat-" + us(20), "gitlab job": "glcbt-" + an(3) + "_" + us(20),
		"grafana key": "eyJrIjoi" + an(90), "grafana cloud": "glc_" + an(60), "grafana sa": "glsa_" + an(32) + "_" + hex(8), "harness": "pat." + us(22) + "." + an(24) + "." + an(20),
		"heroku": "HRKU-AA" + us(58), "hugging face": "hf_" + some(34, lowers+uppers), "hugging face org": "api_org_" + some(34, lowers+uppers), "infracost": "ico-" + an(32),
		"jwt": jwt, "jwt in base64": b64(jwt), "jwt with escaped dots": strings.ReplaceAll(jwt, ".", "%2E"), "jwt doubly escaped": strings.ReplaceAll(jwt, ".", "%252E"), "jwt in a cookie": "sid=s%3A" + jwt + "; Path=/",
		"jwe": b64u(`{"alg":"dir","enc":"A256GCM"}`) + ".." + us(16) + "." + us(60) + "." + us(22), "flask session": b64u(`{"user_id":12,"x":1}`) + ".Zm9vYg." + us(27),
		"linear": "lin_api_" + an(40), "langsmith": "lsv2_" + "pt_" + hex(32) + "_" + hex(10), "langfuse": "sk-" + "lf-" + hex(8) + "-" + hex(4) + "-" + hex(4) + "-" + hex(4) + "-" + hex(12), "launchdarkly": "sdk-" + hex(8) + "-" + hex(4) + "-" + hex(4) + "-" + hex(4) + "-" + hex(12),
		"mailgun": "key-" + hex(32), "new relic user": "NRAK-" + up(27), "new relic browser": "NRJS-" + hex(19), "notion": "ntn_" + digit(11) + an(35), "npm": "npm_" + an(36), "octopus": "API-" + up(26),
		"openai": "sk-" + an(20) + "T3BlbkFJ" + an(20), "openai project": "sk-" + "proj-" + us(74) + "T3BlbkFJ" + us(74), "openai service": "sk-" + "svcacct-" + us(74), "openrouter": "sk-" + "or-v1-" + hex(64), "deepseek": "sk-" + hex(32),
		"groq": "gsk_" + an(52), "xai": "xai-" + an(80), "nvidia": "nvapi-" + us(64), "replicate": "r8_" + an(37), "perplexity": "pplx-" + an(48), "tavily": "tvly-" + an(32), "fireworks": "fw_" + an(24), "jina": "jina_" + an(60), "pinecone": "pcsk_" + an(60), "cerebras": "csk-" + an(48), "voyage": "pa-" + us(43),
		"openshift": "sha256~" + us(43), "planetscale": "pscale_tkn_" + us(43), "planetscale password": "pscale_pw_" + us(43), "posthog": "phc_" + an(43), "postman": "PMAK-" + hex(24) + "-" + hex(34), "prefect": "pnu_" + an(36),
		"pem": pem, "pem in base64": b64(pem), "pem openssh": "-----BEGIN OPENSSH PRIVATE " + "KEY-----\n" + an(70) + "\n" + an(70) + "\n", "pem on one line": strings.ReplaceAll(pem, "\n", `\n`), "pgp": "-----BEGIN PGP PRIVATE " + "KEY BLOCK-----\nVersion: x\n\n" + an(64) + "\n=" + an(4) + "\n-----END PGP PRIVATE " + "KEY BLOCK-----",
		"pulumi": "pul-" + hex(40), "pypi": "pypi-" + "AgEIcHlwaS5vcmc" + us(60), "readme": "rdme_" + some(70, lowers+nums), "resend": "re_" + an(8) + "_" + an(24), "rubygems": "rubygems_" + hex(48), "scalingo": "tk-us-" + us(48),
		"sendgrid": "SG." + us(22) + "." + us(43), "sentry user": "sntryu_" + hex(64), "sentry org": "sntrys_" + "eyJpYXQiO" + an(60) + "_" + an(43), "settlemint": "sm_pat_" + an(16), "shippo": "shippo_live_" + hex(40),
		"shopify": "shpat_" + hex(32), "shopify secret": "shpss_" + hex(32), "shopify custom": "shpca_" + hex(32), "shopify private": "shppa_" + hex(32),
		"slack bot": "xoxb-" + digit(12) + "-" + digit(12) + "-" + an(24), "slack user": "xoxp-" + digit(12) + "-" + digit(12) + "-" + digit(12) + "-" + hex(32), "slack app": "xapp-1-" + up(11) + "-" + digit(13) + "-" + hex(64), "slack config": "xoxe.xoxp-1-" + up(163), "slack refresh": "xoxe-1-" + up(146),
		"sourcegraph": "sgp_" + hex(16) + "_" + hex(40), "square": "sq0atp-" + us(22), "square production": "EAAA" + us(60), "stripe": "sk_" + "live_" + an(24), "stripe restricted": "rk_" + "live_" + an(24), "stripe test": "sk_" + "test_" + an(24), "stripe webhook": "whsec_" + an(32),
		"supabase": "sbp_" + hex(40), "supabase secret": "sb_secret_" + us(31), "tailscale": "tskey-auth-" + an(11) + "-" + an(30), "telegram": digit(10) + ":AA" + us(33), "twilio": "SK" + hex(32), "typeform": "tfp_" + us(59),
		"vault service": "hvs." + us(95), "vault batch": "hvb." + us(140), "vault old": "s." + an(24), "vercel blob": "vercel_blob_rw_" + an(20) + "_" + an(30), "yandex": "AQVN" + us(36), "crates": "cio" + an(32), "render": "rnd_" + an(28),
		"bcrypt": "$2b$12$" + an(53), "sha512 crypt": "$6$" + an(8) + "$" + an(86), "argon2": "$argon2id$v=19$m=65536,t=3,p=4$" + an(22) + "$" + an(43), "htpasswd": "$apr1$" + an(8) + "$" + an(22), "django": "pbkdf2_sha256$600000$" + an(22) + "$" + an(43),
		"docker config": `{"auths":{"https://index.docker.io/v1/":{"auth":"` + b64("bob:"+an(12)) + `"}}}`,
	}
}

// TestKeysOfVendors prints how many of the formats are hidden, in each of the places where one meets them.
func TestKeysOfVendors(t *testing.T) {
	total, hidden := 0, 0
	var missed []string
	for name, key := range keyVectors() {
		for where, text := range map[string]string{
			"alone": key, "sentence": "the service rejected " + key + " with status 401", "quoted": `got "` + key + `", which is not valid`,
			"json": `{"error":"bad key ` + key + `","code":7}`, "url": "https://api.example.com/v1/" + key + "/x", "end": "unknown key: " + key + ".",
			"escaped json": `{"body":"{\"k\":\"` + key + `\"}"}`, "query": "https://example.com/?k=" + url.QueryEscape(key) + "&x=1", "list": "[" + key + ", other]",
		} {
			total++
			if leaks(Text(text), key) || leaks(Credentials(text), key) {
				missed = append(missed, name+" ("+where+")")
			} else {
				hidden++
			}
		}
	}
	t.Logf("%d of %d vectors hidden (%.1f %%); missed: %s", hidden, total, 100*float64(hidden)/float64(total), strings.Join(missed, ", "))
	require.GreaterOrEqual(t, float64(hidden)/float64(total), 0.97)
}

// leaks reports whether twelve characters of the middle of a secret are left.
func leaks(text, secret string) bool {
	for _, line := range strings.Split(secret, "\n") {
		n := len(line)
		if n < 12 || strings.HasPrefix(line, "-----") {
			continue
		}
		if middle := line[n*2/3-6 : n*2/3+6]; strings.Contains(text, middle) || strings.Contains(text, url.QueryEscape(middle)) {
			return true
		}
	}
	return false
}

// notations have a name N and a value V that nobody knows by its shape.
var notations = []string{
	"N=V", "N = V", "N: V", `N="V"`, `N = "V"`, `"N":"V"`, `"N": "V"`, `'N': 'V'`, "N := \"V\"", "N:='V'", "N=>V", `:N => "V"`, "--N=V", "--N V", "N='V',", "N: 'V'",
	"<N>V</N>", `<N type="text">V</N>`, "<N><![CDATA[V]]></N>", `<add key="N" value="V"/>`, `<key>N</key><string>V</string>`, `<input name="N" type="text" value="V">`,
	`{"name":"N","value":"V"}`, "- name: N\n  value: V", "https://example.com/?N=V&x=1", "https://example.com/?x=1&N%3DV", `{\"N\":\"V\"}`, `{\\\"N\\\":\\\"V\\\"}`, `{\u0022N\u0022:\u0022V\u0022}`,
	"&quot;N&quot;:&quot;V&quot;", `os.environ["N"] = "V"`, `process.env.N = 'V'`, `define('N', 'V')`, `header.Set("N", "V")`, "N ?= V", "N += \"V\"", "N ||= 'V'", "export N=V", "map[N:V a:b]", "{N:V A:b}",
	`{N:"V", B:1}`, "N=V; Path=/", "N:\tV", "N=V\n", `N: "V"`, `N=("V")`, "N: |\n  V\n", `"N" : "V"`, "N=V&other=1", "N=`V`", "N==V", "  N:    V", `@N = "V"`, `$N = "V";`, `const N = "V"`, "var N string = \"V\"", "N: str = 'V'",
}

var secretsNames = []string{
	"password", "passwd", "PASSWORD", "db_password", "dbPassword", "userPasswords", "api_key", "apiKey", "API_KEY", "apiKeys", "access_token", "accessToken", "tokens", "refresh_token", "client_secret", "clientSecret", "secrets",
	"AWS_SECRET_ACCESS_KEY", "secret_key", "private_key", "encryption_key", "auth_token", "X-Api-Key", "session_key", "passphrase", "credentials", "GITHUB_TOKEN", "webhook_secret", "signing_key", "smtp_pass", "account_key", "pwd", "jwt",
}

// TestAssignmentsInAllNotations prints how many values are hidden of names that say that it is a secret.
func TestAssignmentsInAllNotations(t *testing.T) {
	total, hidden := 0, 0
	missed := map[string]int{}
	for _, notation := range notations {
		for _, name := range secretsNames {
			for _, value := range []string{"hunter2canary", "Zk9-canary_Qx7", "correct!canary#9"} {
				total++
				if text := strings.NewReplacer("N", name, "V", value).Replace(notation); strings.Contains(Text("x "+text+" y"), "canary") {
					missed[notation]++
				} else {
					hidden++
				}
			}
		}
	}
	t.Logf("%d of %d assignments hidden (%.1f %%); missed: %v", hidden, total, 100*float64(hidden)/float64(total), missed)
	require.GreaterOrEqual(t, float64(hidden)/float64(total), 0.97)
}

// others are credentials in forms of their own; what must be gone has "canary" in it.
var others = []string{
	"postgres://app:canary7x@db.example.com/prod", "postgresql://app:canary7x@h1,h2/prod?target_session_attrs=any", "mysql://root:canary7x@db/shop", "mariadb://root:canary7x@db/shop", "mongodb://u:canary7x@h1:27017,h2/db", "mongodb+srv://u:canary7x@c0.example.net/db",
	"redis://:canary7x@cache:6379/0", "rediss://default:canary7x@cache:6380", "valkey://u:canary7x@v:6379", "amqp://u:canary7x@rabbit/vhost", "amqps://u:canary7x@rabbit/vhost", "nats://u:canary7x@n:4222", "kafka://u:canary7x@k:9092", "sqlserver://sa:canary7x@s?database=x", "mssql://sa:canary7x@s/x",
	"oracle://u:canary7x@o:1521/x", "clickhouse://u:canary7x@c:9000/x", "cockroachdb://u:canary7x@c:26257/x", "cassandra://u:canary7x@c/x", "neo4j+s://u:canary7x@n", "bolt://u:canary7x@n:7687", "snowflake://u:canary7x@acc/db", "ldap://cn=x:canary7x@l", "smtp://u:canary7x@mail:587", "couchbase://u:canary7x@c", "influxdb://u:canary7x@i:8086/x", "libsql://db.example.com?authToken=canary7x",
	"jdbc:postgresql://db/x?user=u&password=canary7x", "jdbc:sqlserver://db;user=sa;password=canary7x;", "jdbc:mysql://db/x?user=u&password=canary7x", "jdbc:oracle:thin:u/canary7x@db:1521/x", "u:canary7x@tcp(db:3306)/x", "user:canary7x@unix(/x.sock)/db", "root:canary7x@cache.example.com:6379",
	"Server=db;Database=x;User Id=sa;Password=canary7x;", "Data Source=db;Initial Catalog=x;PWD=canary7x", "DRIVER={x};SERVER=db;UID=sa;PWD=canary7x", "AccountName=a;AccountKey=canary7xAAA==;EndpointSuffix=x", "Endpoint=sb://x/;SharedAccessKeyName=R;SharedAccessKey=canary7x=", "host=db user=u password=canary7x dbname=x", "host=db user=u password='canary 7x' dbname=x", "HostName=h.azure-devices.net;DeviceId=d;SharedAccessKey=canary7x=",
	"https://bob:canary7x@example.com/x", "https://canary7x:x-oauth-basic@github.com/o/r", "https:\\/\\/bob:canary7x@example.com\\/x", "http://user:canary7x@proxy:3128", "ftp://u:canary7x@f/x", "git+https://u:canary7x@g/x", "ssh://u:canary7x@h/x", "socks5://u:canary7x@p:1080", "wss://u:canary7x@h/x", "https%3A%2F%2Fbob%3Acanary7x%40example.com",
	"Authorization: Bearer canary7x", "authorization: bearer canary7x.abc", "Authorization: token canary7x", "Authorization: Basic Y2FuYXJ5OmNhbmFyeTd4canary", "Proxy-Authorization: Digest username=\"b\", response=\"canary7x\"", "X-Api-Key: canary7x", "X-Auth-Token: canary7x", "Cookie: sid=canary7x; a=b", "Set-Cookie: session=canary7x; HttpOnly",
	"Authorization: AWS4-HMAC-SHA256 Credential=x/20260101/eu, SignedHeaders=host, Signature=canary7x", `-H "Authorization: Bearer canary7x"`, `{"Authorization":["Bearer canary7x"]}`, "curl -u bob:canary7x https://x", "curl --user bob:canary7x https://x", "Bearer \"canary7xyz\"",
	"https://hooks.slack.com/services/T0/B0/canary7x", "https://discord.com/api/webhooks/1/canary7x", "https://acme.webhook.office.com/webhookb2/canary7x", "https://hooks.zapier.com/hooks/catch/1/canary7x", "https://open.feishu.cn/open-apis/bot/v2/hook/canary7x", "https://oapi.dingtalk.com/robot/send?access_token=canary7x", "https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key=canary7x", "https://chat.googleapis.com/v1/spaces/A/messages?key=k&token=canary7x", "https://maker.ifttt.com/trigger/e/with/key/canary7x", "https://events.pagerduty.com/integration/canary7x/enqueue",
	"https://x.blob.core.windows.net/c/f?sv=1&sig=canary7x", "https://s3.example.com/f?X-Amz-Signature=canary7x", "https://example.com/cb?code=canary7x", "https://example.com/?access_token=canary7x", "https://maps.example.com/?key=canary7x", "https://storage.example.com/f?X-Goog-Signature=canary7x",
	`setPassword("canary7x")`, `user.setApiKey('canary7x')`, `client.withToken("canary7x")`, `SET PASSWORD = 'canary7x'`, `SET PASSWORD FOR 'u'@'h' = 'canary7x'`, `ALTER USER u IDENTIFIED BY 'canary7x'`, `CREATE USER u IDENTIFIED WITH caching_sha2_password BY 'canary7x'`, `ALTER ROLE u WITH PASSWORD 'canary7x'`, "requirepass canary7x", "machine h login u password canary7x", `CREATE USER u PASSWORD 'canary7x'`,
	"the password is canary7x", "invalid password: canary7x", "Incorrect API key provided: canary7x", "env: [USER=bob SHELL=zsh EDITOR=vim XY=canary7x]", "A_B=1\nC_D=canary7x\nE_F=2", "mnemonic: canary7x about", "login failed for token 'canary7x'",
}

func TestOtherForms(t *testing.T) {
	hidden := 0
	var missed []string
	for _, text := range others {
		if strings.Contains(Text("failed: "+text+" (x)"), "canary") {
			missed = append(missed, text)
		} else {
			hidden++
		}
	}
	t.Logf("%d of %d forms hidden (%.1f %%); missed: %q", hidden, len(others), 100*float64(hidden)/float64(len(others)), missed)
	require.GreaterOrEqual(t, float64(hidden)/float64(len(others)), 0.97)
}

// TestOrdinarySentences prints how many sentences are changed that have nothing to hide: each of testdata/clean.txt, and
// each of many that are made of the words that rules listen to.
func TestOrdinarySentences(t *testing.T) {
	var texts []string
	for _, text := range readClean(t, "clean.txt") {
		texts = append(texts, text)
	}
	subjects := []string{"the password", "your token", "this API key", "the access token", "the secret", "the session cookie", "the private key", "the bearer token", "the author", "the key", "the authorization header", "the passphrase", "the credential", "a select statement", "the update", "the path", "the route /users", "the goroutine", "the webhook", "the PIN"}
	verbs := []string{"is missing", "has expired", "was rejected", "must not be empty", "could not be read", "was not found", "is too long", "needs at least 8 characters", "is required for this tool", "is not valid for project 17", "was changed on 2026-07-28", "belongs to another user", "will be refreshed in 30 s", "is set in the settings", "cannot be used with GET /v1/items"}
	forms := []string{"%s %v.", "Error: %s %v; try again later.", "%s %v, see https://example.com/docs/auth for help", "Validation Error: %s %v (field 'auth.token').", "Retry: no. Reason: %s %v."}
	for _, s := range subjects {
		for _, v := range verbs {
			for _, f := range forms {
				texts = append(texts, strings.NewReplacer("%s", s, "%v", v).Replace(f))
			}
		}
	}
	var changed []string
	for _, text := range texts {
		if got := Text(text); got != text {
			changed = append(changed, got)
		}
	}
	t.Logf("%d of %d sentences changed (%.1f %%): %q", len(changed), len(texts), 100*float64(len(changed))/float64(len(texts)), changed[:min(len(changed), 20)])
	require.LessOrEqual(t, float64(len(changed))/float64(len(texts)), 0.03)
}
