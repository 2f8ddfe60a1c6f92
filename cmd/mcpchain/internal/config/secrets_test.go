package config

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The name of a variable is not enough: its value may be an ordinary word, a number or a place.
func TestWhatIsNoSecret(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "token"), nil, 0o600))
	hide := Hider([]string{
		"PWD=" + dir, "OLDPWD=" + dir + "/old", "SSH_AUTH_SOCK=/run/user/1000/keyring/ssh", "GOOGLE_APPLICATION_CREDENTIALS=/etc/nowhere/gcp.json",
		"DB_PASSWORD_FILE=/run/secrets/db_password", "COOKIE_PATH=/var/lib/nowhere", "TOKEN_DIR=/srv/tokens", "AUTH_SOCK=/srv/auth", "SSH_KEY=" + dir + "/token", "API_KEY=" + dir + "/later",
		"AUTH_METHOD=password", "POSTGRES_PASSWORD=postgres", "REDIS_PASSWORD=localhost", "MYSQL_PWD=Root", "AUTH_ENABLED_TOKEN=false", "DB_PASS=12345", "AUTH_TIMEOUT=3600s",
		"REDIS_URL=redis://localhost:6379/0", "DATABASE_URL=postgres://inventory:inventory@db.internal/inventory", "NPM_TOKEN=${NPM_TOKEN}", "MAIN_DATABASE_URL=file:./dev.db", "JDBC_URL=jdbc:postgresql://db:5432/shop", "ROOT_PASSWORD=content", "BASH_FUNC_f%%=() { token=words; }", "INVENTORY_SECRET=inventory",
		"GIT_ASKPASS=/usr/lib/git/askpass.sh", "HOME=/home/somebody", "EMPTY_PASSWORD=",
	}, []string{"server", "--token-file", "/srv/token.txt", "--auth-method", "certificate", "--password-stdin", "registry", "--api-key-env", "SOME_VARIABLE"}, nil)
	for _, text := range []string{
		"open '" + dir + "/nope.txt'", "cd " + dir + "/old", "connect /run/user/1000/keyring/ssh", "open /etc/nowhere/gcp.json", "open /run/secrets/db_password", "/var/lib/nowhere", "/srv/tokens", "/srv/auth",
		"cannot read " + dir + "/token", "cannot write " + dir + "/later", "the method password is not known", `database "postgres" does not exist`, "dial localhost:6379", "Root",
		"false", "12345 rows in 3600s", "cannot reach redis://localhost:6379/0", "the table inventory of db.internal/inventory", "set ${NPM_TOKEN}", "/usr/lib/git/askpass.sh", "cannot open file:./dev.db", "jdbc:postgresql://db:5432/shop", "the content is in words",
		"/srv/token.txt", "certificate", "registry", "SOME_VARIABLE",
	} {
		require.Equal(t, text, hide(text))
	}
	for text, want := range map[string]string{
		"postgres://u:postgres@h/db": "postgres://u:[redacted]@h/db", "password=postgres dbname=postgres": "password=[redacted] dbname=postgres",
		"--password localhost": "--password [redacted]", "password=12345": "password=[redacted]", "auth_token=false": "auth_token=[redacted]",
		"mysql://inventory:inventory@h/x":                      "mysql://[redacted]:[redacted]@h/x",
		"postgres://inventory:inventory@db.internal/inventory": "[redacted]",
	} {
		require.Equal(t, want, hide(text))
	}
}

// When it is not sure that a value is ordinary, it is hidden.
func TestWhatIsASecretWhenUnsure(t *testing.T) {
	for _, one := range []string{
		"DB_PASSWORD=hunter", "DB_PASSWORD=123456", "DB_PASSWORD=postgres1", "DB_PASSWORD=inventory", "API_KEY=/9j4AAQSkZJRgABAQAAAQABAAD", "API_KEY=/nowhere/at/all", "API_KEY=./secret", "API_KEY=../secret", "API_KEY=secret/../secret", "API_KEY=~secret",
		"GOOGLE_APPLICATION_CREDENTIALS=eyJ0eXBlIjoic2VydmljZSJ9", "SLACK_WEBHOOK_URL=https://hooks.example.com/services/T0/B0/x", "DATABASE_URL=postgres://db/x?password=y", "MYSQL_PWD=letmein2",
	} {
		_, value, _ := strings.Cut(one, "=")
		hide := Hider([]string{one, "DB_NAME=inventory", "DB_HOST=hunter"}, nil, nil)
		require.Equal(t, "is [redacted] here", hide("is "+value+" here"), one)
	}
	short := Hider([]string{"API_KEY=aB3$", "DB_PASSWORD=x9"}, nil, nil)
	require.Equal(t, "is [redacted] here, xaB3$ not", short("is aB3$ here, xaB3$ not"))
	require.Equal(t, "x9 and password=[redacted]", short("x9 and password=x9"), "what is as short is hidden behind a name only")
	named := Hider([]string{"WORD=postgres", "DIGIT=7", "PWD=/srv/data"}, nil, []string{"WORD", "DIGIT", "PWD"})
	require.Equal(t, `database "[redacted]" has [redacted] of 77 in [redacted]/x`, named(`database "postgres" has 7 of 77 in /srv/data/x`), "who names a variable is believed")
}

// A value may have the secret in it, and other texts beside it.
func TestSecretsInValues(t *testing.T) {
	const one = "zq8rT9zAb2"
	basic := base64.StdEncoding.EncodeToString([]byte("app:" + one))
	for _, value := range []string{
		"ANY=postgres://app:" + one + "@db/x", "ANY=https://" + one + "@example.com/x", "ANY=https://" + one + "0123456789:x-oauth-basic@example.com", "ANY=redis://:" + one + "@db", "ANY=redis://" + one + "@db", "ANY=rediss://db/0?password=" + one,
		"ANY=Server=db;User=app;Password=" + one + ";", "ANY=host=db password=" + one + " dbname=x", "ANY=host=db password='" + one + "'", "ANY=Authorization=Bearer " + one + ",x=y", "ANY=Authorization=Bearer%20" + one, "ANY=--token=" + one,
		"AUTH_HEADER=Bearer " + one, "AUTH_HEADER=Basic " + basic, "DOCKER_AUTH=" + basic, `CONFIG={"auths":{"host":{"password":"` + one + `","user":"somebody"}}}`, `CONFIG={"tokens":["` + one + `"]}`,
		"SECRET_B64=" + base64.StdEncoding.EncodeToString([]byte(one+"\n")), "API_KEY=" + one + "\n", "ANY=https://app:" + one + "/x@db",
		"ANY=X-Api-Key: " + one, "API_KEYS=" + one + "0123456789,zq9rT8zAb30123456789",
	} {
		secret := one
		if strings.Contains(value, one+"0123456789") {
			secret += "0123456789"
		} else if strings.Contains(value, one+"/x") {
			secret += "/x"
		}
		hide := Hider([]string{value}, nil, nil)
		require.NotContains(t, hide("with "+secret+" of somebody"), one, value)
		require.Equal(t, "the user app of somebody, at example.com and db", hide("the user app of somebody, at example.com and db"), value)
	}
	for _, args := range [][]string{
		{"--api-key", one}, {"-token", one}, {"--token=" + one}, {"-e", "API_KEY=" + one}, {"--env=API_KEY=" + one}, {"--header", "Authorization: Bearer " + one}, {"-H", "X-Api-Key:" + one},
		{"postgresql://app:" + one + "@db/x"}, {"https://example.com/mcp?api_key=" + one}, {"--dsn", "Server=db;Pwd=" + one}, {"--db=UID=sa;PWD=" + one}, {"--url=https://app:" + one + "@example.com"},
	} {
		require.NotContains(t, Hider(nil, append([]string{"server"}, args...), nil)("with "+one+" of somebody"), one, args)

		// What config prints has it neither.
		c := Default()
		c.Command = append([]string{"server"}, args...)
		text, err := c.Text()
		require.NoError(t, err)
		require.NotContains(t, string(text), one, args)
		require.Contains(t, string(text), "redacted", args)
		again, err := Parse([]string{"-config", file(t, string(text))})
		require.NoError(t, err)
		require.Len(t, again.Command, len(c.Command))
	}
}

func TestTextOfURLs(t *testing.T) {
	const one = "zq8rT9zAb2Cd4Ef6Gh7"
	for address, want := range map[string]string{
		"redis://app:" + one + "@db:6379/1": "redis://app:redacted@db:6379/1", "redis://:" + one + "@db": "redis://:redacted@db", "redis://" + one + "@db": "redis://redacted@db",
		"rediss://db/0?password=" + one + "&db=1": "rediss://db/0?password=redacted&db=1", "redis://db:6379": "redis://db:6379",
	} {
		c := Default()
		c.Redis = address
		text, err := c.Text()
		require.NoError(t, err)
		require.Contains(t, string(text), `"redis": "`+want+`"`)
	}
	c := Default()
	c.Command = []string{"npx", "-y", "@scope/server", "/home/somebody/data", "--port", "8080", "--name=inventory", "mcp/key:latest", "turkey:1.0", "--token-file", "/srv/token", "https://example.com/x?page=2"}
	text, err := c.Text()
	require.NoError(t, err)
	require.NotContains(t, string(text), "redacted", "the rest of a command stays")
}
