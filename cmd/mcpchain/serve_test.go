//go:build unix

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

var served = regexp.MustCompile(`msg=serving url=(\S+)`)

// overHTTP starts mcpchain on an address of its own.
func overHTTP(t *testing.T, args ...string) (url string, cmd *exec.Cmd, log *stderr) {
	t.Helper()
	cmd, log = program(t, append([]string{"run", "-http", "127.0.0.1:0"}, args...)...)
	return started(t, cmd, log), cmd, log
}

func started(t testing.TB, cmd *exec.Cmd, log *stderr) (url string) {
	t.Helper()
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	require.Eventually(t, func() bool {
		found := served.FindStringSubmatch(log.String())
		if found != nil {
			url = found[1]
		}
		return found != nil
	}, 20*time.Second, 5*time.Millisecond)
	return url
}

func connected(t *testing.T, url, version string, opts *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "1"}, opts)
	s, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: url}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func pid(t *testing.T, s *mcp.ClientSession) int {
	t.Helper()
	var is struct{ PID int }
	require.NoError(t, json.Unmarshal([]byte(text(t, called(t, s, "pid", nil))), &is))
	return is.PID
}

func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }

// A client of either era sees the same server over HTTP as over stdio.
func TestTheSameServerServedOverHTTP(t *testing.T) {
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			cmd, _ := program(t)
			url, _, log := overHTTP(t)
			s := connected(t, url, version, clientOptions)
			require.Equal(t, seenBy(t, session(t, version, cmd)), seenBy(t, s))

			res := called(t, s, "divide", numbers{1, 0})
			require.Contains(t, text(t, res), "Internal error: the server ended (exit status 2) while it ran this call, and is started again")
			require.Contains(t, text(t, called(t, s, "divide", numbers{6, 3})), `"quotient":2`)
			require.Contains(t, text(t, called(t, s, "divide", map[string]any{"a": "six"})), "Argument 'a' expected an integer, but received 'six'.")
			require.Contains(t, text(t, called(t, s, "fail", nil)), "the service refused [redacted] for")
			require.NotContains(t, log.String(), token)
			_, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "dvide"})
			require.ErrorContains(t, err, "Did you mean 'divide'?")
		})
	}
}

// What a server says by itself reaches the client that it is for: progress by its token, changes of lists.
func TestWhatAServerSaysOverHTTP(t *testing.T) {
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			url, _, _ := overHTTP(t)
			const clients = 5
			var wait sync.WaitGroup
			for n := range clients {
				progress, changed := make(chan any, 100), make(chan struct{}, 1)
				s := connected(t, url, version, &mcp.ClientOptions{
					ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { progress <- r.Params.ProgressToken },
					ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {
						select {
						case changed <- struct{}{}:
						default:
						}
					},
				})
				wait.Go(func() { // all use the same IDs, and half of them the same tokens
					for range 10 {
						token := fmt.Sprint("token-", n/2)
						_, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "progress", Meta: mcp.Meta{"progressToken": token}})
						if err != nil {
							t.Error(err)
							return
						}
						select {
						case got := <-progress:
							if got != token {
								t.Errorf("%v is not %v", got, token)
							}
						case <-time.After(10 * time.Second):
							t.Error("there is no progress")
							return
						}
					}
					if len(progress) > 0 {
						t.Error("progress of others")
					}
					if _, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "grow"}); err != nil {
						t.Error(err)
					}
					select {
					case <-changed:
					case <-time.After(10 * time.Second):
						t.Error("nobody says that the list has changed")
					}
				})
			}
			wait.Wait()
		})
	}
}

// A session has a server of its own, which ends with it. Clients without sessions share one.
func TestSessionsOverHTTP(t *testing.T) {
	url, _, log := overHTTP(t, "-sessions", "3", "-idle", "1s")
	older, other := connected(t, url, "2025-11-25", nil), connected(t, url, "2025-11-25", nil)
	require.NotEqual(t, pid(t, older), pid(t, other))
	newer, another := connected(t, url, "2026-07-28", nil), connected(t, url, "2026-07-28", nil)
	require.Equal(t, pid(t, newer), pid(t, another))

	res, body := posted(t, url, nil, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	require.Equal(t, http.StatusServiceUnavailable, res.status)
	require.Contains(t, body, "there are as many sessions as may be")

	was := pid(t, older)
	require.NoError(t, older.Close())
	require.Eventually(t, func() bool { return !alive(was) }, 10*time.Second, 10*time.Millisecond)
	require.Eventually(t, func() bool { return strings.Contains(log.String(), "a session that nobody uses ends") }, 20*time.Second, 10*time.Millisecond)
	require.NotZero(t, pid(t, newer), "another one is started")
}

// A client of a version that the server does not speak takes one that it does.
func TestAnOlderServerOverHTTP(t *testing.T) {
	cmd, log := program(t, "run", "-http", "127.0.0.1:0", "-path", "/there")
	cmd.Env = append(cmd.Env, "MCPCHAIN_TEST_OLDER=1")
	url := started(t, cmd, log)
	require.True(t, strings.HasSuffix(url, "/there"))
	for range 2 {
		s := connected(t, url, "2026-07-28", nil)
		require.Equal(t, "2025-11-25", s.InitializeResult().ProtocolVersion)
		require.Contains(t, text(t, called(t, s, "divide", numbers{6, 3})), `"quotient":2`)
	}
	require.Equal(t, 1, strings.Count(log.String(), "the server does not speak 2026-07-28"))
}

// answered is an answer of HTTP.
type answered struct {
	status int
	header http.Header
}

func posted(t *testing.T, url string, header map[string]string, body string) (answered, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for name, value := range header {
		if req.Header.Set(name, value); name == "Host" {
			req.Host = value
		}
	}
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return answered{res.StatusCode, res.Header}, string(got)
}

func TestRefusedOverHTTP(t *testing.T) {
	url, _, _ := overHTTP(t, "-max-request", "100000")
	about := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
	newer := map[string]string{"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "pid"}
	with := func(name, value string) map[string]string {
		all := map[string]string{}
		for k, v := range newer {
			all[k] = v
		}
		all[name] = value
		return all
	}
	call := `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"pid",` + about + `}}`
	for _, c := range []struct {
		name   string
		header map[string]string
		body   string
		status int
		want   string
	}{
		{"fine", newer, call, 200, `"id":7`},
		{"a pretty body", newer, strings.ReplaceAll(call, ",", ",\r\n\t"), 200, `"id":7`},
		{"a name in base64", with("Mcp-Name", "=?base64?cGlk?="), call, 200, `"id":7`},
		{"no JSON", nil, `{"jsonrpc"`, 400, "-32700"},
		{"nothing", nil, "", 400, "-32700"},
		{"a batch", nil, "[" + call + "]", 400, "batches are not supported"},
		{"no method", nil, `{"jsonrpc":"2.0","id":1}`, 400, "-32600"},
		{"no session", nil, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, 400, "begins with initialize"},
		{"another session", map[string]string{"Mcp-Session-Id": "guessed"}, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, 404, "Session not found"},
		{"another version", with("Mcp-Protocol-Version", "2025-11-25"), call, 400, "-32020"},
		{"another method", with("Mcp-Method", "tools/list"), call, 400, "-32020"},
		{"another name", with("Mcp-Name", "fail"), call, 400, "-32020"},
		{"a version that nobody knows", with("Mcp-Protocol-Version", "2030-01-01"), strings.Replace(call, "2026-07-28", "2030-01-01", 1), 400, `"supported":["2026-07-28"`},
		{"a method that nobody knows", with("Mcp-Method", "x/y"), strings.Replace(call, "tools/call", "x/y", 1), 404, "-32601"},
		{"too long", newer, call + strings.Repeat(" ", 200_000), 413, "-32600"},
		{"no JSON by its type", map[string]string{"Content-Type": "text/plain"}, call, 415, ""},
		{"nothing is accepted", map[string]string{"Accept": "text/html"}, call, 406, ""},
		{"the page of a stranger", map[string]string{"Origin": "https://stranger.example"}, call, 403, "Forbidden"},
		{"a name that leads here", map[string]string{"Host": "stranger.example"}, call, 403, "Forbidden"},
	} {
		t.Run(c.name, func(t *testing.T) {
			res, body := posted(t, url, c.header, c.body)
			require.Equal(t, c.status, res.status, body)
			require.Contains(t, body, c.want)
		})
	}
	for method, status := range map[string]int{http.MethodGet: 404, http.MethodDelete: 404, http.MethodPut: 405} {
		req, err := http.NewRequestWithContext(t.Context(), method, url, nil)
		require.NoError(t, err)
		res, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Equal(t, status, res.StatusCode, method)
	}
}

// A stranger reads nothing of what the server writes for who runs it.
func TestAServerThatCannotWorkOverHTTP(t *testing.T) {
	cmd := exec.Command(os.Args[0], "run", "-http", "127.0.0.1:0", "--", "sh", "-c", "echo cannot open /srv/private/key.pem >&2; exit 3")
	log := &stderr{}
	cmd.Env, cmd.Stderr = append(cmd.Environ(), "MCPCHAIN_TEST=1"), log
	url := started(t, cmd, log)
	for _, header := range []map[string]string{nil, {"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "server/discover"}} {
		method := "initialize"
		if header != nil {
			method = header["Mcp-Method"]
		}
		res, body := posted(t, url, header, `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"`+header["Mcp-Protocol-Version"]+`"},"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
		require.Contains(t, body, "Service unavailable", res.status)
		require.NotContains(t, body, "/srv")
	}
	require.Contains(t, log.String(), "/srv/private/key.pem")
	out, errs, status := executed(t, "run", "-http", "127.0.0.1:0", "--", "there-is-no-such-program")
	require.Equal(t, 127, status, out+errs)
}

// A signal ends the program when its calls have been answered, and leaves no server.
func TestDrainedOverHTTP(t *testing.T) {
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			url, cmd, log := overHTTP(t, "-drain", "10s")
			s := connected(t, url, version, nil)
			of := pid(t, s)
			const calls = 20
			answers := make(chan error, calls)
			for range calls {
				go func() {
					res, err := s.CallTool(context.WithoutCancel(t.Context()), &mcp.CallToolParams{Name: "work", Arguments: numbers{1, 2}})
					if err == nil && res.IsError {
						err = fmt.Errorf("%v", res.Content[0])
					}
					answers <- err
				}()
			}
			require.NoError(t, <-answers)
			require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
			for range calls - 1 {
				if err := <-answers; err != nil { // it came too late, and is told where to go
					require.Regexp(t, "this server is being replaced|connection refused|EOF|reset", err.Error())
				}
			}
			_ = s.Close()
			require.NoError(t, cmd.Wait(), log)
			require.Eventually(t, func() bool { return !alive(of) }, 5*time.Second, 10*time.Millisecond)
		})
	}
}

// Each call that was made is answered, whenever the signal comes.
func TestNothingIsLostAtTheEnd(t *testing.T) {
	for i := range 6 {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "calls")
			t.Setenv("MCPCHAIN_TEST_FILE", file)
			url, cmd, log := overHTTP(t, "-drain", "10s")
			var clients []*mcp.ClientSession
			for n := range 6 {
				clients = append(clients, connected(t, url, versions[n%2], nil))
			}
			var answered atomic.Int64
			var calls sync.WaitGroup
			for _, s := range clients {
				calls.Go(func() {
					for {
						res, err := s.CallTool(context.WithoutCancel(t.Context()), &mcp.CallToolParams{Name: "write"})
						if err != nil || res.IsError {
							return
						}
						answered.Add(1)
					}
				})
			}
			time.Sleep(time.Duration(i*i) * 7 * time.Millisecond)
			require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
			calls.Wait()
			for _, s := range clients {
				_ = s.Close()
			}
			require.NoError(t, cmd.Wait(), log)
			made, err := os.ReadFile(file)
			if answered.Load() > 0 {
				require.NoError(t, err)
			}
			require.Len(t, made, int(answered.Load()), log)
		})
	}
}

// Health is asked beside the endpoint.
func TestHealthOverHTTP(t *testing.T) {
	url, _, _ := overHTTP(t)
	for _, path := range []string{"/livez", "/readyz"} {
		res, err := http.Get(strings.TrimSuffix(url, "/mcp") + path)
		require.NoError(t, err)
		body, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Equal(t, http.StatusOK, res.StatusCode)
		require.Equal(t, "ok", strings.TrimSpace(string(body)))
	}
}

// A server that is reached over HTTP gets each client's own token, and no other's; one that it refuses is asked to
// sign in.
func TestTokensArePassedOn(t *testing.T) {
	for _, stateless := range []bool{true, false} {
		server := mcp.NewServer(&mcp.Implementation{Name: "guarded", Version: "1"}, nil)
		mcp.AddTool(server, &mcp.Tool{Name: "whoami"}, func(_ context.Context, req *mcp.CallToolRequest, _ any) (*mcp.CallToolResult, any, error) {
			return nil, map[string]string{"user": req.Extra.TokenInfo.UserID}, nil
		})
		verify := func(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
			user, ok := strings.CutPrefix(token, "token-of-")
			if !ok {
				return nil, auth.ErrInvalidToken
			}
			return &auth.TokenInfo{UserID: user, Expiration: time.Now().Add(time.Hour)}, nil
		}
		handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: stateless})
		web := httptest.NewServer(auth.RequireBearerToken(verify, nil)(handler))
		t.Cleanup(web.Close)
		cmd := exec.Command(os.Args[0], "run", "-http", "127.0.0.1:0", "-to", web.URL, "-pass-authorization", "-v")
		log := &stderr{}
		cmd.Env, cmd.Stderr = append(cmd.Environ(), "MCPCHAIN_TEST=1"), log
		url := started(t, cmd, log)
		for _, version := range versions {
			var wait sync.WaitGroup
			for _, user := range []string{"ann", "bob"} {
				wait.Go(func() {
					client := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "1"}, nil)
					s, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: bearer("token-of-" + user)}},
						&mcp.ClientSessionOptions{ProtocolVersion: version})
					if err != nil {
						t.Error(err)
						return
					}
					defer s.Close()
					for range 5 {
						res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "whoami"})
						if err != nil || !strings.Contains(fmt.Sprint(res.StructuredContent), user) {
							t.Errorf("%s in %s: %v %v", user, version, res, err)
						}
					}
				})
			}
			wait.Wait()
		}
		for version, method := range map[string]string{"2026-07-28": "tools/list", "": "initialize"} {
			for _, token := range []string{"Bearer secret-of-nobody", ""} {
				header := map[string]string{"Mcp-Protocol-Version": version, "Mcp-Method": method, "Authorization": token}
				meta := ""
				if version != "" {
					meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}},`
				}
				res, body := posted(t, url, header, `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":{`+meta+`"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
				require.Contains(t, body, "Not authenticated", "%d %s %s", res.status, method, log)
				if token != "" {
					require.Equal(t, http.StatusUnauthorized, res.status, body)
					require.Contains(t, res.header.Get("WWW-Authenticate"), `error="invalid_token"`)
				}
			}
		}
		require.NotContains(t, log.String(), "secret-of-nobody")
		require.NotContains(t, log.String(), "token-of-")
	}
}

type bearer string

func (b bearer) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(req)
}
