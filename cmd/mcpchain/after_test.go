//go:build unix

package main

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// ends returns a function that lets the calls of the tool "last" end. The servers that are started then know of it.
func ends(t *testing.T) func() {
	t.Helper()
	file := filepath.Join(t.TempDir(), "ends")
	t.Setenv("MCPCHAIN_TEST_FILE", file)
	return func() { require.NoError(t, os.WriteFile(file, nil, 0o600)) }
}

// handleOf returns the ID in an answer that says that the call still runs.
func handleOf(t *testing.T, res *mcp.CallToolResult) string {
	t.Helper()
	is, _ := res.Meta["io.github.mcpchain/task"].(map[string]any)
	require.Equal(t, "running", is["status"], "%v", text(t, res))
	require.False(t, res.IsError)
	return is["id"].(string)
}

// A call that lasts is answered with a handle, over stdio and over HTTP, whoever the server is, and its answer is fetched.
func TestACallThatLasts(t *testing.T) {
	for _, version := range versions {
		for name, connect := range map[string]func(t *testing.T) *mcp.ClientSession{
			"stdio": func(t *testing.T) *mcp.ClientSession {
				cmd, _ := program(t, "run", "-after", "200ms")
				return over(t, &mcp.CommandTransport{Command: cmd}, version)
			},
			"HTTP": func(t *testing.T) *mcp.ClientSession {
				url, _, _ := overHTTP(t, "-after", "200ms")
				return over(t, &mcp.StreamableClientTransport{Endpoint: url}, version)
			},
			"to": func(t *testing.T) *mcp.ClientSession {
				cmd, _ := reaching(serveWeb(t, handlerOf(newTestServer(), &mcp.StreamableHTTPOptions{Stateless: version == versions[1]})).URL, "-after", "200ms")
				return over(t, &mcp.CommandTransport{Command: cmd}, version)
			},
		} {
			t.Run(name+" "+version, func(t *testing.T) {
				end := ends(t)
				s := connect(t)
				list, err := s.ListTools(t.Context(), nil)
				require.NoError(t, err)
				names := []string{}
				for _, tool := range list.Tools {
					names = append(names, tool.Name)
				}
				require.Equal(t, []string{"task_result", "task_cancel"}, names[len(names)-2:])

				first := called(t, s, "last", nil)
				id := handleOf(t, first)
				require.True(t, strings.HasPrefix(text(t, first), "Still running: 'last' has not finished after "), text(t, first))
				require.Contains(t, text(t, first), "Its last progress: 1 of 2.")
				require.Equal(t, id, first.StructuredContent.(map[string]any)["still_running"].(map[string]any)["id"])
				require.Contains(t, text(t, called(t, s, "divide", numbers{6, 3})), `"quotient":2`, "the server is free")
				end()
				done := called(t, s, "task_result", map[string]string{"id": id})
				require.False(t, done.IsError)
				require.Equal(t, map[string]any{"rows": 7.0}, done.StructuredContent)
				require.JSONEq(t, `{"rows":7}`, text(t, done))
				require.Equal(t, map[string]any{"rows": 7.0}, called(t, s, "last", nil).StructuredContent, "in time")
				require.Contains(t, text(t, called(t, s, "task_result", map[string]string{"id": "x"})), "no call of yours runs or has ended under this ID")
			})
		}
	}
}

func over(t *testing.T, transport mcp.Transport, version string) *mcp.ClientSession {
	t.Helper()
	s, err := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "1"}, nil).Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// The end of its server is the end of a call that lasts, and its client is told so. The next one runs.
func TestAServerDiesDuringACallThatLasts(t *testing.T) {
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			ends(t)
			cmd, _ := program(t, "run", "-after", "200ms")
			s := session(t, version, cmd)
			was := pid(t, s)
			id := handleOf(t, called(t, s, "last", nil))
			require.NoError(t, syscall.Kill(was, syscall.SIGKILL))
			res := called(t, s, "task_result", map[string]string{"id": id})
			require.True(t, res.IsError)
			require.True(t, strings.HasPrefix(text(t, res), "'last' has ended. This is its failure:\nInternal error: the server ended (signal: killed) while it ran this call, and is started again"), text(t, res))
			require.NotEqual(t, was, pid(t, s))
			again := handleOf(t, called(t, s, "last", nil))
			require.NotEqual(t, id, again)
			require.False(t, called(t, s, "task_cancel", map[string]string{"id": again}).IsError)
			require.Contains(t, text(t, called(t, s, "task_result", map[string]string{"id": again})), "Cancelled: ")
		})
	}
}

// A client whose connection breaks before it has the handle comes back within its session and finds the call. The
// session lasts as long as the call.
func TestAClientComesBackForACallThatLasts(t *testing.T) {
	end := ends(t)
	url, _, log := overHTTP(t, "-after", "100ms", "-idle", "500ms")
	const begin = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	begun, _ := posted(t, url, nil, begin)
	in := map[string]string{"Mcp-Session-Id": begun.header.Get("Mcp-Session-Id"), "Mcp-Protocol-Version": "2025-11-25"}
	const call = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"last","arguments":{}}}`
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(call))
	require.NoError(t, err)
	req.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "Mcp-Session-Id": {in["Mcp-Session-Id"]}, "Mcp-Protocol-Version": {"2025-11-25"}}
	if res, err := http.DefaultClient.Do(req); err == nil {
		defer res.Body.Close()
		<-ctx.Done()
	}
	soon(t, func() bool { return strings.Contains(log.String(), "goes on behind a handle") }, log)
	time.Sleep(2 * time.Second) // the session would have ended

	_, body := posted(t, url, in, strings.Replace(call, `"id":2`, `"id":3`, 1))
	require.Contains(t, body, "The same call runs already, and was not run again.")
	_, id, _ := strings.Cut(body, `task_result {\"id\":\"`)
	id, _, _ = strings.Cut(id, `\"`)
	end()
	_, body = posted(t, url, in, `{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"task_result","arguments":{"id":"`+id+`"}}}`)
	require.Contains(t, body, `"structuredContent":{"rows":7}`)
	other, _ := posted(t, url, nil, begin)
	in["Mcp-Session-Id"] = other.header.Get("Mcp-Session-Id")
	_, body = posted(t, url, in, `{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"task_result","arguments":{"id":"`+id+`"}}}`)
	require.Contains(t, body, "no call of yours runs or has ended under this ID")
}

// A signal lets a call end that lasts, in the time of -drain.
func TestACallThatLastsIsDrained(t *testing.T) {
	end := ends(t)
	url, cmd, log := overHTTP(t, "-after", "100ms", "-drain", "1m")
	s := over(t, &mcp.StreamableClientTransport{Endpoint: url}, "2025-11-25")
	handleOf(t, called(t, s, "last", nil))
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	soon(t, func() bool {
		res, err := http.Get(strings.TrimSuffix(url, "/mcp") + "/readyz")
		return err == nil && res.Body.Close() == nil && res.StatusCode == http.StatusServiceUnavailable
	}, log)
	end()
	soon(t, func() bool { return strings.Contains(log.String(), "mcp call behind a handle ended") }, log)
	_ = s.Close()
	require.NoError(t, cmd.Wait(), log)
	require.NotContains(t, log.String(), "outcome=", "it has not failed")
}

// Another program with the same Redis knows the answer.
func TestAnotherReplicaHasTheAnswer(t *testing.T) {
	end := ends(t)
	redis := miniredis.RunT(t)
	args := []string{"-after", "100ms", "-redis", "redis://" + redis.Addr()}
	one, _, _ := overHTTP(t, args...)
	two, _, log := overHTTP(t, args...)
	call := func(url, token, tool, arguments string) string {
		_, body := posted(t, url, map[string]string{"Authorization": "Bearer " + token, "Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": tool},
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+tool+`","arguments":`+arguments+`,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`)
		return body
	}
	_, id, found := strings.Cut(call(one, "ann", "last", `{}`), `task_result {\"id\":\"`)
	require.True(t, found)
	id, _, _ = strings.Cut(id, `\"`)
	end()
	require.Contains(t, call(two, "bob", "task_result", `{"id":"`+id+`"}`), "no call of yours runs or has ended under this ID")
	require.Contains(t, call(two, "ann", "task_result", `{"id":"`+id+`"}`), `"structuredContent":{"rows":7}`, log)
}
