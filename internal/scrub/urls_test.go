package scrub

import (
	"math/rand"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestURLKeepsItsHost: of a URL whoever runs the server misses the password alone. Another reader misses of its host
// what it misses of the same URL without credentials.
func TestURLKeepsItsHost(t *testing.T) {
	for _, tt := range []struct{ text, operator, trusted string }{
		{"postgres://app:hunter2@db.internal:5432/orders", "postgres://app:[redacted]@db.internal:5432/orders", "postgres://app:[redacted]@[address]/orders"},
		{"postgres://db.internal:5432/orders", "", "postgres://[address]/orders"},
		{"postgres://app@db.internal/orders?sslmode=disable", "", "postgres://app@[address]/orders?sslmode=disable"},
		{"dial redis://:hunter2@cache:6379/0: refused", "dial redis://[redacted]@cache:6379/0: refused", "dial redis://[redacted]@[address]/0: refused"},
		{"amqp://guest:guest@[fd00::1]:5672/v", "amqp://guest:[redacted]@[fd00::1]:5672/v", "amqp://guest:[redacted]@[address]/v"},
		{"amqps://u:h@nter2@mq.example.com,mq2.example.com:5671", "amqps://u:[redacted]@mq.example.com,mq2.example.com:5671", "amqps://u:[redacted]@[address]"},
		{"mongodb+srv://u:p%40ss%2Fw@c0.example.net/db?authSource=admin&w=majority", "mongodb+srv://u:[redacted]@c0.example.net/db?authSource=admin&w=majority", "mongodb+srv://u:[redacted]@[address]/db?authSource=admin&w=majority"},
		{"mongodb://u:hunter2@h1:27017,h2:27017,[::1]:27017/db", "mongodb://u:[redacted]@h1:27017,h2:27017,[::1]:27017/db", "mongodb://u:[redacted]@[address]/db"},
		{"nats://s3cr3tt0ken@n:4222", "nats://[redacted]@n:4222", "nats://[redacted]@[address]"},
		{"nats://token@n:4222", "nats://[redacted]@n:4222", "nats://[redacted]@[address]"},
		{"ldap://cn=admin,dc=x:hunter2@l:389/dc=x", "ldap://[redacted]@l:389/dc=x", "ldap://[redacted]@[address]/dc=x"},
		{"sqlserver://sa:hunter2@s:1433?database=x", "sqlserver://sa:[redacted]@s:1433?database=x", "sqlserver://sa:[redacted]@[address]?database=x"},
		{"postgres://db/x?user=u&password=hun&ter2", "postgres://db/x?user=u&password=[redacted]", "postgres://[address]/x?user=u&password=[redacted]"},
		{"jdbc:postgresql://db:5432/x?user=u&password=hunter2", "jdbc:postgresql://db:5432/x?user=u&password=[redacted]", "jdbc:postgresql://[address]/x?user=u&password=[redacted]"},
		{"jdbc:sqlserver://db:1433;user=sa;password={hun;ter2};encrypt=true", "jdbc:sqlserver://db:1433;user=sa;password=[redacted];encrypt=true", "jdbc:sqlserver://[address];user=sa;password=[redacted];encrypt=true"},
		{"jdbc:mysql:loadbalance://u:hunter2@h1:3306,h2:3306/db", "jdbc:mysql:loadbalance://[redacted]@h1:3306,h2:3306/db", "jdbc:mysql:loadbalance://[redacted]@[address]/db"},
		{"jdbc:oracle:thin:u/hunter2@db:1521/x", "jdbc:[redacted]", "jdbc:[redacted]"},
		{"https://bob:hunter2@example.com:8443/x", "https://[redacted]@example.com:8443/x", "https://[redacted]@example.com:8443/x"},
		{"https://bob:hunter2@10.0.0.7:8443/x", "https://[redacted]@10.0.0.7:8443/x", "https://[redacted]@[address]/x"},
		{"http://bob:hun%40ter2@[fd00::1]:80/x", "http://[redacted]@[fd00::1]:80/x", "http://[redacted]@[address]/x"},
		{"ssh://git@host:22/x", "", ""},
		{"influxdb://u:hunter2@i:8086/x", "influxdb://[redacted]@i:8086/x", "influxdb://[redacted]@i:8086/x"},
		{"root:hunter2@cache.example.com:6379", "root:[redacted]@cache.example.com:6379", "root:[redacted]@cache.example.com:6379"},
		{"root:hun@ter2@tcp(db:3306)/x?parseTime=true", "root:[redacted]@tcp(db:3306)/x?parseTime=true", "root:[redacted]@tcp([address])/x?parseTime=true"},
		{"Svc1:hunter2@unix(/run/my.sock)/x: refused", "[redacted]@unix(/run/my.sock)/x: refused", "[redacted]@unix([address])/x: refused"},
		{"redis://swordfish@cache:6379/0", "redis://[redacted]@cache:6379/0", "redis://[redacted]@[address]/0"},
		{"valkey+tls://swordfish@cache:6379", "valkey+tls://[redacted]@cache:6379", "valkey+tls://[redacted]@[address]"},
		{"t0ken99:x-oauth-basic@git.example.com:443", "[redacted]@git.example.com:443", "[redacted]@git.example.com:443"},
		{"parse \"postgres://app:hun/ter2@db/x\": invalid port", "parse \"postgres://app:[redacted]@db/x\": invalid port", "parse \"postgres://app:[redacted]@[address]/x\": invalid port"},
		{"dial postgres://app:1234...", "dial postgres://[redacted]...", "dial postgres://[redacted]..."},
		{"dial postgres://app:1234\u2026", "dial postgres://[redacted]", "dial postgres://[redacted]"},
		{"dial postgres://db.internal:5432.", "", "dial postgres://[address]."},
		{"postgres://app:hunter2", "postgres://[redacted]", "postgres://[redacted]"},
		{"postgres://app:12 34@db:5432/x", "postgres://app:[redacted]@db:5432/x", "postgres://app:[redacted]@[address]/x"},
		{"dial redis://:hun<ter2>@cache:6379/0: refused", "dial redis://[redacted]@cache:6379/0: refused", "dial redis://[redacted]@[address]/0: refused"},
		{"cannot parse `mysql://app:hun`ter2@db:3306/x`: bad", "cannot parse `mysql://app:[redacted]@db:3306/x`: bad", "cannot parse `mysql://app:[redacted]@[address]/x`: bad"},
		{`parse "amqp://app@corp:hun"ter2@mq/x": bad`, `parse "amqp://app@corp:[redacted]@mq/x": bad`, `parse "amqp://app@corp:[redacted]@[address]/x": bad`},
		{`{"url":"postgres://app:hun","mail":"bob@example.com"}`, `{"url":"postgres://[redacted]","mail":"bob@example.com"}`, `{"url":"postgres://[redacted]","mail":"bob@example.com"}`},
		{"parse \"postgres://db:5432/x\" for bob@example.com", "", "parse \"postgres://[address]/x\" for bob@example.com"},
		{"parse \"postgres://app:hun\" for bob@example.com", "parse \"postgres://[redacted]\" for bob@example.com", "parse \"postgres://[redacted]\" for bob@example.com"},
		{"https://bob:hun/ter2@example.com/x", "https://[redacted]@example.com/x", "https://[redacted]@example.com/x"},
		{"https://:hun#ter2@10.0.0.7:80/x", "https://[redacted]@10.0.0.7:80/x", "https://[redacted]@[address]/x"},
		{"influxdb://bob:hun?ter2@[fd00::1]:80/x", "influxdb://[redacted]@[fd00::1]:80/x", "influxdb://[redacted]@[address]/x"},
		{"parse \"https://bob:hun\"ter2@example.com\": bad", "parse \"https://[redacted]@example.com\": bad", "parse \"https://[redacted]@example.com\": bad"},
		{"https://example.com:8443/@scope/x?mail=bob@example.com", "", ""},
		{"http://localhost:port/@scope/x http://host:{port}/users/@me http://host:$PORT/a@b http://host:/a", "", ""},
		{"http://example.com:3000: bob@x; http://example.com:80). bob@x, 'http://example.com:80' bob@x http://example.com:, bob@x", "", ""},
		{"cloned ssh://forge:org/repo.git bob@example.com", "", ""},
		{"ssh://git.example.com:org/x@v1.2.0 see https://example.com: bob@example.com", "", ""},
	} {
		t.Run(tt.text, func(t *testing.T) {
			if tt.operator == "" {
				tt.operator = tt.text
			}
			if tt.trusted == "" {
				tt.trusted = tt.text
			}
			require.Equal(t, tt.operator, ForOperator(tt.text))
			require.Equal(t, tt.operator, Credentials(tt.text))
			require.Equal(t, tt.trusted, ForTrusted(tt.text, nil))
			require.Equal(t, tt.operator, ForOperator(tt.operator), "idempotent")
			require.Equal(t, tt.trusted, ForTrusted(tt.trusted, nil), "idempotent")
		})
	}
}

// TestURLShowsNoPassword makes URLs of every scheme with passwords of every sign, of which no part of four letters is left.
func TestURLShowsNoPassword(t *testing.T) {
	random := rand.New(rand.NewSource(3))
	schemes := strings.Fields(`postgres postgresql postgresql+psycopg2 mysql mysqlx mariadb mongodb mongodb+srv redis rediss valkey amqp amqps sqlserver
		mssql oracle clickhouse cockroachdb cassandra neo4j+s bolt nats kafka ldap ldaps smtp memcached couchbase snowflake jdbc:postgresql jdbc:mysql jdbc:sqlserver`)
	others := strings.Fields("http https ftp ssh git+https ws wss socks5 influxdb x")
	users := []string{"app", "", "App1", "a.b", "u%40c", "svc-x9", "a,b"}
	at := []string{"db", "db:5432", "db.internal:5432", "10.0.0.7", "[fd00::1]:80", "h1:1,h2:2", "h1,h2", "db.example.com:1/x", "db/x?a=b@c", "db?x=1#y", "db/x?email=a%40b"}
	structural, plain := "canary/@:?#&;=%,.!()[]{}*+~$'|^-_", "canary%:&;=,.!()[]{}*+~$|^-_"
	n := 5000
	if os.Getenv("MCPCHAIN_SOAK") != "" {
		n = 20_000
	}
	for range n {
		pw := "canary"
		scheme, signs := schemes[random.Intn(len(schemes))], structural
		if random.Intn(3) == 0 {
			scheme, signs = others[random.Intn(len(others))], plain
		}
		for range random.Intn(4) {
			pw = string(signs[random.Intn(len(signs))]) + pw + string(signs[random.Intn(len(signs))])
		}
		if random.Intn(4) == 0 {
			pw = url.QueryEscape(pw)
		}
		text := scheme + "://" + users[random.Intn(len(users))] + ":" + pw + "@" + at[random.Intn(len(at))]
		text = []string{"", "dial ", `"`, "(", "<", `{"url":"`}[random.Intn(6)] + text + []string{"", " failed", `"`, ").", ">", `"}`}[random.Intn(6)]
		for _, got := range []string{ForOperator(text), Credentials(text), ForTrusted(text, nil), Text(text)} {
			require.NotContains(t, got, "anar", text)
		}
	}
}

// TestSourcesKeepTheirNames: who may read errors reads which file of a program does not compile, and not where it lies.
func TestSourcesKeepTheirNames(t *testing.T) {
	for text, want := range map[string]string{
		"/home/u/proj/main.go:12:3: undefined: x":                    "[path]/main.go:12:3: undefined: x",
		"vet: /home/u/a.go:1:1: y\n/home/u/b/c_test.go:22: z\n# x/y": "vet: [path]/a.go:1:1: y\n[path]/c_test.go:22: z\n# x/y",
		"/data/42/x.c:3:5: error: expected ';'":                      "[path]/x.c:3:5: error: expected ';'",
		"/srv/app/Main.cs(12,3): error CS1002: ; expected":           "[path]/Main.cs(12,3): error CS1002: ; expected",
		`SyntaxError in "/srv/app/x.py", line 3`:                     `SyntaxError in "[path]/x.py", line 3`,
		`C:\src\main.go:12:3: undefined: x`:                          `[path]\main.go:12:3: undefined: x`,
		`{"e":"D:\\a\\x.cs(3,4): error"}`:                            `{"e":"[path]\\x.cs(3,4): error"}`,
		`open C:\keys\a.pem: denied`:                                 `open [path]: denied`,
		"./main.go:3:2: undefined: y":                                "./main.go:3:2: undefined: y",
		"/etc/app/key.pem: permission denied":                        "[path]: permission denied",
		"open /etc/app:8080":                                         "open [path]:8080",
		"https://bob:hunter2@example.com/a/main.go:3":                "https://[redacted]@example.com/a/main.go:3",
	} {
		require.Equal(t, want, ForTrusted(text, nil))
		require.Equal(t, want, ForTrusted(want, nil), "idempotent")
		require.NotContains(t, Text(text), "main.go:12")
	}
}
