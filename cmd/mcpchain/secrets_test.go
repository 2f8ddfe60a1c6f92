//go:build unix

package main

import (
	"bufio"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/internal/conduct"
)

// The binary of this test is also a server that says what it is told to, with the values of its environment.
func init() { //nolint:gochecknoinits // before TestMain, which is for the tests of run
	if len(os.Args) > 1 && os.Args[1] == "talking-server" {
		talk()
		os.Exit(0)
	}
}

// wordsOf finds what a server replaces: ${NAME as FORM}.
var wordsOf = regexp.MustCompile(`\$\{(\w+) as ([\w ]+)\}`)

// valueForms are forms in which servers repeat a value.
var valueForms = map[string]func(string) string{
	"plain": func(s string) string { return s }, "hex": func(s string) string { return hex.EncodeToString([]byte(s)) }, "upper hex": func(s string) string { return strings.ToUpper(hex.EncodeToString([]byte(s))) },
	"json": inJSON, "json in json": func(s string) string { return inJSON(inJSON(s)) }, "query": url.QueryEscape, "html": html.EscapeString,
	"small percent": func(s string) string {
		return regexp.MustCompile("%[0-9A-F]{2}").ReplaceAllStringFunc(url.PathEscape(s), strings.ToLower)
	},
	"base64": func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }, "base64 of url": func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) },
	"basic": func(s string) string { return "Basic " + base64.StdEncoding.EncodeToString([]byte("somebody:"+s)) },
	"repr":  func(s string) string { return strings.NewReplacer(`\`, `\\`, "'", `\'`, "\n", `\n`).Replace(s) }, "shell": func(s string) string { return strings.ReplaceAll(s, "'", `'"'"'`) },
	"lines": func(s string) string { return strings.ReplaceAll(s, "\n", "\n    | ") },
}

func inJSON(s string) string {
	raw, _ := json.Marshal(s)
	return string(raw[1 : len(raw)-1])
}

// talk serves until its input ends.
func talk() {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<20)
	put := func(message map[string]any) {
		message["jsonrpc"] = "2.0"
		raw, _ := json.Marshal(message)
		_, _ = os.Stdout.Write(append(raw, '\n'))
	}
	for in.Scan() {
		var m struct {
			ID     any    `json:"id"`
			Method string `json:"method"`
			Params struct {
				Arguments struct{ Exit, Say string } `json:"arguments"`
			} `json:"params"`
		}
		if json.Unmarshal(in.Bytes(), &m) != nil || m.ID == nil || m.Method == "" {
			continue
		}
		args := m.Params.Arguments
		says := wordsOf.ReplaceAllStringFunc(args.Say, func(one string) string {
			parts := wordsOf.FindStringSubmatch(one)
			return valueForms[parts[2]](os.Getenv(parts[1]))
		})
		text := map[string]any{"content": []any{map[string]any{"type": "text", "text": says}}}
		switch {
		case m.Method == "initialize":
			put(map[string]any{"id": m.ID, "result": map[string]any{"protocolVersion": "2025-11-25", "capabilities": map[string]any{"tools": map[string]any{}}, "serverInfo": map[string]any{"name": "talking" + os.Getenv("TALKING_TOKEN"), "version": "1"}}})
			continue
		case m.Method == "tools/list":
			schema := map[string]any{"type": "object", "properties": map[string]any{"exit": map[string]any{"type": "string"}, "say": map[string]any{"type": "string"}, "n": map[string]any{"type": "integer"}}}
			put(map[string]any{"id": m.ID, "result": map[string]any{"tools": []any{map[string]any{"name": "talk", "inputSchema": schema}}}})
			continue
		case m.Method != "tools/call":
			put(map[string]any{"id": m.ID, "result": map[string]any{}})
			continue
		}
		switch args.Exit {
		case "failure":
			text["isError"] = true
		case "structured":
			text = map[string]any{"content": []any{map[string]any{"type": "text", "text": "it failed"}}, "structuredContent": map[string]any{"said": says, "list": []any{says}, "names": map[string]any{says: true}}, "isError": true}
		case "error":
			put(map[string]any{"id": m.ID, "error": map[string]any{"code": -32001, "message": says, "data": map[string]any{"said": says}}})
			continue
		case "stderr":
			fmt.Fprintln(os.Stderr, "LINE "+says)
		case "long line":
			for at := (64 << 10) - len(says) - 2; at < (64<<10)+2; at += max(1, len(says)/3) {
				fmt.Fprintln(os.Stderr, strings.Repeat(".", at)+" "+says+" "+strings.Repeat(".", 64<<10))
			}
		case "notification":
			put(map[string]any{"method": "notifications/message", "params": map[string]any{"level": "info", "data": map[string]any{"said": says}}})
		case "request":
			put(map[string]any{"id": "of the server", "method": "elicitation/create", "params": map[string]any{"message": says, "requestedSchema": map[string]any{"type": "object", "properties": map[string]any{}}}})
		case "input":
			text = map[string]any{"resultType": "input_required", "inputRequests": map[string]any{"q": map[string]any{"method": "elicitation/create", "params": map[string]any{"message": says, "requestedSchema": map[string]any{"type": "object", "properties": map[string]any{}}}}}}
		case "stray":
			fmt.Println("STRAY " + strings.ReplaceAll(says, "\n", " "))
		case "last words":
			fmt.Fprintln(os.Stderr, says)
			os.Exit(3)
		}
		put(map[string]any{"id": m.ID, "result": text})
	}
}

// An environment is one that a server gets, with what is a secret in it and what is not.
type environment struct {
	variables []string
	secret    []string // names
	shown     []string // sentences
}

const pem = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQDfzq8rT9zAb2Cd\nQ4Ef6Gh7IjK1lM2nO3pQ4rS5tU6vW7xY8zA9bC0dE1fG2hI3jK4lM5nO6pQ7rS8t\nx3rT9zA=\n-----END PRIVATE KEY-----\n"

// environments are those of a login shell, of VS Code, of a compose file and of CI, in a directory.
func environments(dir string) map[string]environment {
	return map[string]environment{
		"login shell": {
			variables: []string{
				"SHELL=/bin/zsh", "HOME=/home/ada", "USER=ada", "LOGNAME=ada", "LANG=en_US.UTF-8", "LC_ALL=en_US.UTF-8", "TERM=xterm-256color", "COLORTERM=truecolor", "PWD=" + dir, "OLDPWD=" + dir + "/before",
				"SSH_AUTH_SOCK=/run/user/1000/keyring/ssh", "SSH_AGENT_PID=4711", "GPG_TTY=/dev/pts/3", "XDG_RUNTIME_DIR=/run/user/1000", "XDG_SESSION_ID=3", "DBUS_SESSION_BUS_ADDRESS=unix:path=/run/user/1000/bus", "XAUTHORITY=/run/user/1000/gdm/Xauthority",
				"EDITOR=vim", "PAGER=less", "LS_COLORS=di=01;34:ln=01;36:*.key=01;31", "NVM_DIR=/home/ada/.nvm", "GOPATH=/home/ada/go", "PASSWORD_STORE_DIR=/home/ada/.password-store", "SSH_ASKPASS=/usr/bin/ksshaskpass",
				"GITHUB_TOKEN=ghp_zqQ8rT9zAb2Cd4Ef6Gh7IjK1lM2nO3pQ4rS", "OPENAI_API_KEY=sk-zq'quoted\"&<back\\slash>é", "HTTPS_PROXY=http://ada:zq-proxy-p4ss@proxy.example.com:3128", "SIGNING_KEY=" + pem, "GOOGLE_APPLICATION_CREDENTIALS=/home/ada/gcp.json",
			},
			secret: []string{"GITHUB_TOKEN", "OPENAI_API_KEY", "SIGNING_KEY"},
			shown: []string{
				"ENOENT: no such file or directory, open '" + dir + "/nope.txt'", "cannot enter " + dir + "/before", "no agent at /run/user/1000/keyring/ssh", "cannot read /home/ada/gcp.json", "nothing in /home/ada/.password-store",
				"the proxy proxy.example.com:3128 does not know ada", "vim has no colour 01;31", "session 3 of 4711",
			},
		},
		"VS Code": {
			variables: []string{
				"HOME=/home/ada", "USER=ada", "PWD=" + dir, "INIT_CWD=" + dir, "VSCODE_PID=4711", "VSCODE_CWD=/home/ada", "VSCODE_IPC_HOOK=/run/user/1000/vscode-1-main.sock", "VSCODE_NLS_CONFIG={\"locale\":\"en\",\"osLocale\":\"en\"}",
				"VSCODE_GIT_ASKPASS_NODE=/usr/share/code/code", "VSCODE_GIT_ASKPASS_MAIN=/usr/share/code/resources/askpass-main.js", "VSCODE_GIT_ASKPASS_EXTRA_ARGS=", "VSCODE_GIT_IPC_HANDLE=/run/user/1000/vscode-git.sock", "GIT_ASKPASS=/usr/share/code/resources/askpass.sh",
				"ELECTRON_RUN_AS_NODE=1", "TERM_PROGRAM=vscode", "TERM_PROGRAM_VERSION=1.99.0", "CHROME_DESKTOP=code.desktop", "ORIGINAL_XDG_CURRENT_DESKTOP=KDE", "npm_config_user_agent=npm/10.8.2 node/v20", "NODE_OPTIONS=--max-old-space-size=4096",
				"SSH_AUTH_SOCK=/run/user/1000/keyring/ssh", "AUTH_METHOD=password", "AUTH_TOKEN_ENABLED=true", "AUTH_TOKEN_TIMEOUT=30", "API_TOKEN_FILE=" + dir + "/token", "NPM_TOKEN=npm_zqQ8rT9zAb2Cd4Ef6Gh7IjK1lM2nO3p",
				"CONNECTION_STRING=Server=db;User Id=sa;Password=zq-Str0ng+Pass/w0rd=;", "OTEL_EXPORTER_OTLP_HEADERS=Authorization=Bearer zq8rT9zAb2Cd4Ef6Gh", "PGPASSWORD=aB3$",
			},
			secret: []string{"NPM_TOKEN", "CONNECTION_STRING", "PGPASSWORD"},
			shown: []string{
				"open '" + dir + "/src/a.ts'", "cannot start /usr/share/code/resources/askpass.sh", "no socket /run/user/1000/vscode-1-main.sock", "the method password is not known", "it is true for 30 s", "cannot read " + dir + "/token", "Server=db is not there",
			},
		},
		"compose file": {
			variables: []string{
				"HOME=/root", "HOSTNAME=4f2a9c1be07d", "PWD=/app", "NODE_ENV=production", "PORT=8080", "LOG_LEVEL=debug", "TZ=UTC", "POSTGRES_USER=postgres", "POSTGRES_PASSWORD=postgres", "POSTGRES_DB=postgres", "POSTGRES_HOST=postgres", "POSTGRES_PORT=5432",
				"POSTGRES_HOST_AUTH_METHOD=trust", "PGDATA=/var/lib/postgresql/data", "DATABASE_URL=postgres://inventory:inventory@db:5432/inventory", "REDIS_HOST=localhost", "REDIS_PASSWORD=localhost", "REDIS_URL=redis://cache:6379/0",
				"MYSQL_ROOT_PASSWORD=root", "MYSQL_ALLOW_EMPTY_PASSWORD=no", "RABBITMQ_DEFAULT_PASS=guest", "MINIO_ROOT_PASSWORD=minio", "MONGO_INITDB_ROOT_PASSWORD=example", "DB_PASSWORD_FILE=/run/secrets/db_password", "SECRET_KEY_BASE=development", "ADMIN_PASSWORD=12345",
				"JWT_SECRET=zq$ecret with spaces & more", "SMTP_URL=smtp://mailer:zq-m41l-p4ss@mail.example.com:587", "SESSION_SECRET=zq\\u0041\\n%41&amp;",
			},
			secret: []string{"JWT_SECRET", "SESSION_SECRET"},
			shown: []string{
				`database "postgres" does not exist`, `password authentication failed for user "postgres"`, "connect ECONNREFUSED localhost:6379", "access denied for user root at localhost", "cannot reach redis://cache:6379/0", "guest may not do that in development",
				"open '/app/nope.txt'", "the table inventory is not there", "cannot read /run/secrets/db_password", "12345 rows", "no example in minio",
			},
		},
		"CI": {
			variables: []string{
				"CI=true", "GITHUB_ACTIONS=true", "GITHUB_WORKSPACE=" + dir, "GITHUB_REPOSITORY=acme/shop", "GITHUB_REF=refs/heads/main", "GITHUB_SHA=4f2a9c1be07d4f2a9c1be07d4f2a9c1be07d4f2a", "GITHUB_RUN_ID=1234567890", "GITHUB_JOB=build", "GITHUB_ACTOR=ada", "GITHUB_EVENT_PATH=/home/runner/_temp/event.json",
				"GITHUB_API_URL=https://api.github.com", "RUNNER_OS=Linux", "RUNNER_TEMP=/home/runner/_temp", "HOME=/home/runner", "PWD=" + dir, "JAVA_HOME=/usr/lib/jvm/java-17", "ImageOS=ubuntu24", "GITHUB_TOKEN_PERMISSIONS_METHOD=default",
				"GITHUB_TOKEN=ghs_zqQ8rT9zAb2Cd4Ef6Gh7IjK1lM2nO3pQ4rS", "ACTIONS_RUNTIME_TOKEN=eyJhbGciOiJSUzI1NiJ9.eyJ6cSI6ImNhbmFyeSJ9.zqQ8rT9zAb2Cd4Ef6Gh7", "CI_REGISTRY_PASSWORD=zq-registry-p4ss", "DOCKER_AUTH_CONFIG={\"auths\":{\"registry.example.com\":{\"auth\":\"YWRhOnpxLWRvY2tlci1wNHNz\"}}}",
				"DEPLOY_KEY=" + strings.ReplaceAll(pem, "\n", `\n`), "SENTRY_AUTH_TOKEN=disabled", "CODECOV_TOKEN=none", "CYPRESS_PASSWORD=test", "SOMETHING=zq-named-by-a-flag", "NETRC_PASSWORD=admin",
			},
			secret: []string{"GITHUB_TOKEN", "ACTIONS_RUNTIME_TOKEN", "CI_REGISTRY_PASSWORD", "DEPLOY_KEY", "SOMETHING"},
			shown: []string{
				"open '" + dir + "/go.mod'", "this test is disabled, and none of admin", "no build of acme/shop at main", "https://api.github.com is true", "registry.example.com has no default", "1234567890 is the run of ada",
			},
		},
	}
}

// workDir returns a directory whose name has none of the words of this test.
func workDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "work") //nolint:usetesting // whose directory has the name of the test
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// A talking is a session with the program in front of the server, line by line.
type talking struct {
	t     *testing.T
	cmd   *exec.Cmd
	in    interface{ Write([]byte) (int, error) }
	lines chan string
	all   []string
	log   string
	errs  *stderr
	calls int
}

func talkingTo(t *testing.T, env []string, flags ...string) *talking {
	t.Helper()
	s := &talking{t: t, log: filepath.Join(t.TempDir(), "log"), lines: make(chan string, 1000), errs: &stderr{}}
	s.cmd = exec.Command(os.Args[0], append(append([]string{"run", "-v", "-log", s.log, "-secret-env", "SOMETHING"}, flags...), "--", os.Args[0], "talking-server")...)
	s.cmd.Env, s.cmd.Stderr = append(slices.Clone(env), "MCPCHAIN_TEST=1", "PATH="+os.Getenv("PATH")), s.errs
	in, err := s.cmd.StdinPipe()
	require.NoError(t, err)
	out, err := s.cmd.StdoutPipe()
	require.NoError(t, err)
	s.in = in
	require.NoError(t, s.cmd.Start())
	go func() {
		defer close(s.lines)
		read := bufio.NewScanner(out)
		read.Buffer(nil, 16<<20)
		for read.Scan() {
			s.lines <- read.Text()
		}
	}()
	t.Cleanup(func() { _, _ = in.Close(), s.cmd.Wait() })
	s.ask("initialize", map[string]any{"protocolVersion": "2025-11-25", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "c", "version": "1"}})
	return s
}

// ask sends a request, and returns all lines until its answer, with that.
func (s *talking) ask(method string, params any) (lines []string) {
	s.t.Helper()
	s.calls++
	raw, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": s.calls, "method": method, "params": params})
	require.NoError(s.t, err)
	_, err = s.in.Write(append(raw, '\n'))
	require.NoError(s.t, err)
	for deadline := time.After(time.Minute); ; {
		select {
		case line, ok := <-s.lines:
			require.True(s.t, ok, "the program ended: %s", s.errs)
			require.True(s.t, json.Valid([]byte(line)), line)
			lines, s.all = append(lines, line), append(s.all, line)
			var m struct {
				ID     any
				Method string
			}
			require.NoError(s.t, json.Unmarshal([]byte(line), &m))
			if m.ID == float64(s.calls) && m.Method == "" {
				return lines
			}
		case <-deadline:
			require.FailNow(s.t, "no answer", "%s", s.errs)
		}
	}
}

func (s *talking) say(exit, say string) []string {
	s.t.Helper()
	return s.ask("tools/call", map[string]any{"name": "talk", "arguments": map[string]any{"exit": exit, "say": say}})
}

// left returns all that has left the program.
func (s *talking) left() string {
	log, err := os.ReadFile(s.log)
	require.NoError(s.t, err)
	return strings.ReplaceAll(strings.Join(s.all, "\n")+s.errs.String()+string(log), strings.Repeat(".", 100), "")
}

var exits = []string{"failure", "structured", "error", "stderr", "long line", "notification", "request", "success", "stray", "last words"}

// In the environments that servers have, secrets leave in no form by no exit, and ordinary words stay.
func TestSecretsOfEnvironments(t *testing.T) {
	for name, env := range environments(workDir(t)) {
		t.Run(name, func(t *testing.T) {
			values := map[string]string{}
			for _, one := range env.variables {
				name, value, _ := strings.Cut(one, "=")
				values[name] = value
			}
			s := talkingTo(t, env.variables, "-scrub-results")
			for _, exit := range exits {
				for _, words := range env.shown {
					lines := s.say(exit, words)
					switch exit {
					case "failure", "error", "structured", "notification", "request", "success":
						require.NotEmpty(t, aroundOf(strings.Join(lines, "\n"), inJSON(words)), "%s: %s in %s", exit, words, lines[len(lines)-1])
					case "stderr":
						soon(t, func() bool { return strings.Contains(s.errs.String(), "LINE "+words+"\n") }, words)
					}
					if exit == "last words" {
						break // a server takes its time to start
					}
				}
			}
			require.Contains(t, strings.Join(s.ask("tools/call", map[string]any{"name": "talk", "arguments": map[string]any{"exit": "failure", "say": values["PWD"] + "/a.txt", "n": "5"}}), ""),
				inJSON(`"say":"`+values["PWD"]+`/a.txt"`), "the corrected call")
			require.Empty(t, aroundOf(s.left(), "redacted"))

			for i, secret := range env.secret {
				for form := range valueForms {
					for _, exit := range exits {
						if exit == "last words" && (i > 0 || form != "plain") || exit == "long line" && !slices.Contains([]string{"plain", "json in json", "basic"}, form) {
							continue // a start takes its time
						}
						s.say(exit, "it has (${"+secret+" as "+form+"}) in it")
					}
				}
				left := s.left()
				for part := range strings.FieldsFuncSeq(strings.ReplaceAll(values[secret], `\n`, "\n"), func(r rune) bool { return r == '\n' }) {
					if strings.HasPrefix(part, "-----") {
						continue
					}
					how, around := conduct.Find(left, part)
					require.Empty(t, around, "%s%s", secret, how)
					how, around = found(left, part)
					require.Empty(t, around, "%s as %s", secret, how)
				}
			}
			for _, part := range []string{"zq-proxy-p4ss", "zq-Str0ng", "zq8rT9zAb2Cd4Ef6Gh", "zq-m41l-p4ss", "zq-docker-p4ss", "YWRhOnpxLWRv"} {
				for _, one := range env.variables {
					if strings.Contains(one, part) {
						name, _, _ := strings.Cut(one, "=")
						for _, exit := range exits[:8] {
							s.say(exit, "it has ${"+name+" as plain} in it")
						}
					}
				}
				require.Empty(t, aroundOf(s.left(), part))
			}
		})
	}
}

// found looks for a secret in all forms of this test.
func found(text, secret string) (how, around string) {
	for name, form := range valueForms {
		written := strings.TrimPrefix(form(secret), "Basic ")
		if around = aroundOf(text, written); around != "" {
			return name, around
		}
	}
	return "", ""
}

// aroundOf returns a part of a text and what stands around it, "" if it is not there.
func aroundOf(text, part string) string {
	at := strings.Index(text, part)
	if at < 0 {
		return ""
	}
	return text[max(0, at-200):min(len(text), at+len(part)+50)]
}

// Behind the name of a secret and in a URL an ordinary word is one, too.
func TestOrdinaryWordsThatAreSecrets(t *testing.T) {
	env := environments(workDir(t))["compose file"]
	s := talkingTo(t, env.variables, "-scrub-results")
	for _, exit := range []string{"failure", "error", "notification", "request", "success"} {
		lines := strings.Join(s.say(exit, `cannot open postgres://u:postgres@h/db with password=postgres, {"password":"postgres","name":"postgres"} --password root, postgres://inventory:inventory@db:5432/inventory`), "\n")
		require.NotContains(t, lines, "u:postgres@")
		require.NotContains(t, lines, "password=postgres")
		require.NotContains(t, lines, `password\":\"postgres`)
		require.Contains(t, lines, `name\":\"postgres`)
		require.NotContains(t, lines, "--password root")
		require.NotContains(t, lines, "inventory:")
	}
}

// Without -scrub-results what succeeds keeps its bytes, and with it what has no secret.
func TestSuccessesWithSecrets(t *testing.T) {
	env := environments(workDir(t))["CI"]
	for _, flags := range [][]string{nil, {"-scrub-results"}} {
		s := talkingTo(t, env.variables, flags...)
		line := strings.Join(s.say("success", "${CI_REGISTRY_PASSWORD as plain} and ${SOMETHING as hex}"), "")
		hidden := strings.Contains(line, "zq-registry-p4ss") || strings.Contains(line, hex.EncodeToString([]byte("zq-named-by-a-flag")))
		require.Equal(t, flags == nil, hidden, line)
		line = strings.Join(s.say("input", "for ${CI_REGISTRY_PASSWORD as plain}"), "")
		require.Contains(t, line, `"message":"for [redacted]"`, "what asks the client is no success")
		require.Contains(t, strings.Join(s.say("success", "é \u2028 words < of"), ""), `"text":"é \u2028 words \u003c of"`, "bytes stay")
	}
}

// A secret of several words is hidden whole, also behind a name that says secret.
func TestPassphrase(t *testing.T) {
	s := talkingTo(t, []string{"SIGNING_PASSPHRASE=zq correct horse battery"}, "-scrub-results")
	for _, exit := range exits[:8] {
		s.say(exit, "the passphrase: ${SIGNING_PASSPHRASE as plain}, password=${SIGNING_PASSPHRASE as plain}")
	}
	require.Empty(t, aroundOf(s.left(), "battery"))
}

// What config prints has no secret of the command, of the URLs and of the environment.
func TestConfigShowsNoSecrets(t *testing.T) {
	t.Setenv("SERVICE_TOKEN", "zq-expanded-by-a-shell")
	out, errs, status := executed(t, "config", "-redis", "rediss://zq-user-alone@redis.example.com/0?password=zq-in-a-query", "--",
		"docker", "run", "-e", "API_KEY=zq-in-an-assignment", "--token", "zq-behind-a-flag", "--password=zq-assigned", "postgres://app:zq-in-a-url@db.example.com/shop", "zq-expanded-by-a-shell",
		"--header", "Authorization: Bearer zq-in-a-header", "--name", "postgres")
	require.Zero(t, status, errs)
	require.NotContains(t, out, "zq-")
	for _, word := range []string{"docker", "API_KEY=", "--token", "--password=", "app:", "db.example.com/shop", "redis.example.com/0", "Authorization: ", "--name", `"postgres"`} {
		require.Contains(t, out, word)
	}
	require.True(t, json.Valid([]byte(out)))
}

// What check and compare write has no secret of the URL, of the headers and of the environment, in any format.
func TestReportsShowNoSecrets(t *testing.T) {
	const token = "zq-token-of-the-environment"
	w := serveWeb(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, password, _ := r.BasicAuth()
		var m struct{ ID json.RawMessage }
		body, _ := io.ReadAll(r.Body)
		_ = json.Unmarshal(body, &m)
		says, _ := json.Marshal("refused " + r.Header.Get("X-Api-Key") + " " + password + " " + r.URL.RawQuery + " " + base64.StdEncoding.EncodeToString([]byte(token)))
		w.Header().Set("Content-Type", "application/json")
		if strings.Contains(string(body), `"initialize"`) {
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":%s,"version":"1"}}}`, m.ID, says)
			return
		}
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-1,"message":%s}}`, m.ID, says)
	}))
	t.Setenv("SERVICE_TOKEN", token)
	to := strings.Replace(w.URL, "//", "//somebody:zq-password-of-a-url@", 1) + "/mcp?api_key=zq-key-of-a-query"
	header := []string{"-header", "X-Api-Key: zq-key-of-a-header"}
	hidden := func(texts ...string) {
		t.Helper()
		all := strings.Join(texts, "")
		for _, one := range []string{"zq-", base64.StdEncoding.EncodeToString([]byte(token))[:20]} {
			require.Empty(t, aroundOf(all, one))
		}
	}
	for _, format := range []string{"table", "json", "junit", "sarif"} {
		out, errs, status := executed(t, append([]string{"check", "-v", "-only", "unknown-method,unknown-tool-named,unknown-tool", "-format", format, "-to", to}, header...)...)
		require.Equal(t, exitFailed, status, errs)
		require.Contains(t, out, "refused")
		require.Contains(t, out, "[redacted]")
		hidden(out, errs)
	}
	t.Setenv("TALKING_TOKEN", "zq-name-of-a-server")
	for _, format := range []string{"table", "json"} {
		out, errs, status := executed(t, "compare", "-only", "unknown-method", "-format", format, "--", os.Args[0], "talking-server")
		require.Zero(t, status, errs)
		require.Contains(t, out, "talking[redacted]")
		hidden(out, errs)
	}
	for _, broken := range []string{strings.Replace(to, w.URL[len("http://"):], "127.0.0.1:1", 1), "http://somebody:zq-pass word@127.0.0.1:x/zq-path"} {
		out, errs, status := executed(t, append([]string{"check", "-limit", "2s", "-start", "2s", "-to", broken}, header...)...)
		require.Equal(t, exitUsage, status)
		require.NotEmpty(t, errs)
		hidden(out, errs)
	}
}

// A redirect to another server gets neither the requests of check nor their headers.
func TestCheckFollowsNoRedirectToAnotherServer(t *testing.T) {
	var mu sync.Mutex
	var got []string
	other := serveWeb(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, fmt.Sprint(r.Method, r.URL, r.Header))
	}))
	for _, status := range []int{http.StatusMovedPermanently, http.StatusFound, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		first := serveWeb(t, http.RedirectHandler(other.URL+"/mcp", status))
		_, errs, exit := executed(t, "check", "-limit", "2s", "-start", "2s", "-only", "unknown-method", "-header", "X-Api-Key: zq-key-of-a-header", "-to", first.URL)
		require.Equal(t, exitUsage, exit)
		require.Contains(t, errs, fmt.Sprint(status))
	}
	mu.Lock()
	defer mu.Unlock()
	require.Empty(t, got)

	// At the same server it is followed, as of "/mcp" to "/mcp/".
	served := handlerOf(newTestServer(), &mcp.StreamableHTTPOptions{})
	same := serveWeb(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/mcp" {
			http.Redirect(w, r, "/mcp/", http.StatusTemporaryRedirect)
			return
		}
		served.ServeHTTP(w, r)
	}))
	out, errs, exit := executed(t, "check", "-only", "unknown-method", "-to", same.URL+"/mcp")
	require.Zero(t, exit, out+errs)
}
