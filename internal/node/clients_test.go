package node

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/internal/child"
)

var update = flag.Bool("update", false, "write what the clients show into testdata")

// A call is one that a client makes.
type call struct {
	Method string         `json:"method"`
	Params map[string]any `json:"params"`
}

func tool(name string, args map[string]any) call {
	return call{"tools/call", map[string]any{"name": name, "arguments": args}}
}

// plays are what is called of which example server.
var plays = []struct {
	server string
	calls  []call
}{
	{"wrapserver", []call{
		{"tools/list", map[string]any{}},
		tool("get_weather", map[string]any{"city": "Lisbon"}),   // structured content
		tool("get_weather", map[string]any{"city": "Atlantis"}), // an error that is hidden
		tool("get_forecast", map[string]any{"city": "Lisbon"}),  // a panic
		tool("get_weather", map[string]any{}),                   // an argument is missing
		tool("get_wether", map[string]any{"city": "Lisbon"}),
		{"resources/read", map[string]any{"uri": "weather://stations"}}, // an error that is hidden
		{"resources/read", map[string]any{"uri": "weather://station"}},
		{"prompts/get", map[string]any{"name": "advise"}}, // neither a result nor an error
		{"prompts/get", map[string]any{"name": "advice"}},
	}},
	{"projects", []call{
		{"tools/list", map[string]any{}},
		tool("get_project", map[string]any{"name": "websiet"}),
		tool("create_project", map[string]any{"name": "payroll"}), // with a step to do next
		tool("create_project", map[string]any{"name": "games"}),   // a wait, and a cause that is hidden
	}},
}

// secrets stand in the errors of these servers.
var secrets = []string{"hunter2", "10.0.0.7", "/srv/weather", "/mnt/nfs-7", "index out of range", "goroutine", "main.go"}

// A client shows what it gets from a server, which it starts or which is at a URL.
type client struct {
	name   string
	play   func(t *testing.T, target string, calls []call) []shown
	golden map[bool]string // the files in testdata, over HTTP or not
}

// shown is what a client shows of an answer.
type shown struct {
	Version string          `json:"version"` // of the protocol, once for a client
	Result  json.RawMessage `json:"result"`
	Error   json.RawMessage `json:"error"`
}

var clients = []client{
	{"sdk 1.x", script("sdk1.mjs"), same("sdk1")},
	{"sdk 2.x", script("sdk2.mjs", "legacy"), same("sdk2")},
	// The examples speak 2026-07-28 over stdio only: over HTTP they have sessions.
	{"sdk 2.x auto", script("sdk2.mjs", "auto"), map[bool]string{false: "sdk2-2026", true: "sdk2"}},
	{"inspector", inspect, same("inspector")},
}

func same(name string) map[bool]string { return map[bool]string{false: name, true: name} }

// script returns a client that is one of the scripts beside this file.
func script(file string, args ...string) func(*testing.T, string, []call) []shown {
	return func(t *testing.T, target string, calls []call) []shown {
		t.Helper()
		text, err := json.Marshal(calls)
		require.NoError(t, err)
		cmd := program(t, file, append([]string{target}, args...)...)
		cmd.Env = append(cmd.Env, "CALLS="+string(text))
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		require.NoError(t, err, "%s", &stderr)
		var all []shown
		for line := range bytes.Lines(out) {
			var s shown
			require.NoError(t, json.Unmarshal(line, &s), "%s", line)
			all = append(all, s)
		}
		return all
	}
}

// inspect makes each call with an Inspector of its own, which prints a result to the standard
// output and what it says of a failure to the other.
func inspect(t *testing.T, target string, calls []call) []shown {
	t.Helper()
	all := []shown{{}}
	for _, c := range calls {
		if c.Method == "tools/list" {
			all = append(all, shown{Result: []byte("{}")}) // each of them lists the tools by itself
			continue
		}
		args := []string{"--cli", target, "--method", c.Method}
		if strings.HasPrefix(target, "http://") {
			args = append(args, "--transport", "http")
		}
		switch c.Method {
		case "tools/call":
			args = append(args, "--tool-name", fmt.Sprint(c.Params["name"]))
			for name, value := range c.Params["arguments"].(map[string]any) {
				args = append(args, "--tool-arg", fmt.Sprint(name, "=", value))
			}
		case "prompts/get":
			args = append(args, "--prompt-name", fmt.Sprint(c.Params["name"]))
		case "resources/read":
			args = append(args, "--uri", fmt.Sprint(c.Params["uri"]))
		}
		cmd := program(t, "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js", args...)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr // the log of a server that it starts is there, too
		out, err := cmd.Output()
		s := shown{Result: bytes.TrimSpace(out)}
		for line := range strings.Lines(stderr.String()) {
			if failure, ok := strings.CutPrefix(line, `{"error":`); ok {
				s.Error = json.RawMessage(strings.TrimSuffix(strings.TrimSpace(failure), "}"))
			}
		}
		require.Equal(t, s.Error != nil, err != nil, "%v\n%s", err, &stderr)
		all = append(all, s)
	}
	return all
}

var reference = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

// transcript returns what people and programs get from a client, without what differs each
// time.
func transcript(t *testing.T, calls []call, all []shown) string {
	t.Helper()
	require.Len(t, all, len(calls)+1)
	var out strings.Builder
	if v := all[0].Version; v != "" {
		fmt.Fprintln(&out, "protocol:", v)
	}
	for i, c := range calls {
		s := all[i+1]
		params, err := json.Marshal(c.Params)
		require.NoError(t, err)
		require.False(t, len(s.Result) == 0 && len(s.Error) == 0, "%s %s", c.Method, params)
		if c.Method == "tools/list" && len(s.Error) == 0 {
			continue
		}
		fmt.Fprintf(&out, "\n--> %s %s\n", c.Method, params)
		if len(s.Result) > 0 {
			writeResult(t, &out, s.Result)
		}
		if len(s.Error) > 0 {
			writeFields(t, &out, "error.", s.Error, "message")
		}
	}
	numbers := map[string]string{}
	return reference.ReplaceAllStringFunc(out.String(), func(id string) string {
		if numbers[id] == "" {
			numbers[id] = fmt.Sprintf("call-%d", len(numbers)+1)
		}
		return numbers[id]
	})
}

// writeResult writes the texts of a result as they are, and what else it has.
func writeResult(t *testing.T, out *strings.Builder, result json.RawMessage) {
	t.Helper()
	var res struct{ Content []struct{ Text string } }
	require.NoError(t, json.Unmarshal(result, &res), "%s", result)
	for _, c := range res.Content {
		fmt.Fprintln(out, c.Text)
	}
	writeFields(t, out, "", result, "")
}

// writeFields writes the fields of an object, by name. The text of one is written as it is.
func writeFields(t *testing.T, out *strings.Builder, prefix string, object json.RawMessage, text string) {
	t.Helper()
	var fields map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(object, &fields), "%s", object)
	names := make([]string, 0, len(fields))
	for name := range fields {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		var line bytes.Buffer
		require.NoError(t, json.Compact(&line, fields[name]))
		value := line.String()
		if name == text {
			require.NoError(t, json.Unmarshal(fields[name], &value))
		}
		if name != "content" {
			fmt.Fprintf(out, "%s%s: %s\n", prefix, name, value)
		}
	}
}

// build compiles the example servers.
func build(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for _, p := range plays {
		out, err := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(dir, p.server), "../../examples/"+p.server).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	return dir
}

// listen starts an example server and returns its address.
func listen(t *testing.T, file string) string {
	t.Helper()
	cmd := exec.Command(file, "-http", "127.0.0.1:0")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	return strings.TrimSpace(line)
}

// TestClients compares what each client shows of each failure, over stdio and over HTTP. When
// a text changes on purpose, run UPDATE=1 .ci/run node and read the difference.
func TestClients(t *testing.T) {
	needsNode(t)
	dir := build(t)
	for _, c := range clients {
		for _, overHTTP := range []bool{false, true} {
			t.Run(c.name+map[bool]string{false: "/stdio", true: "/http"}[overHTTP], func(t *testing.T) {
				t.Parallel()
				for _, p := range plays {
					if overHTTP && c.name == "inspector" && p.server == "wrapserver" {
						continue // it takes a second for each call
					}
					target := filepath.Join(dir, p.server)
					if overHTTP {
						target = listen(t, target)
					}
					got := transcript(t, p.calls, c.play(t, target, p.calls))
					for _, secret := range secrets {
						require.NotContains(t, got, secret)
					}
					golden := filepath.Join("testdata", c.golden[overHTTP]+"."+p.server+".golden")
					if *update {
						writeOnce(t, golden, got)
					}
					want, err := os.ReadFile(golden)
					require.NoError(t, err)
					require.Equal(t, string(want), got)
				}
			})
		}
	}
}

// TestTheTextIsLost shows why a failure has no structured content unless it is asked for, and
// none where the tool has an output schema: clients that check it lose the text.
func TestTheTextIsLost(t *testing.T) {
	needsNode(t)
	server := child.Start(t, func(log string) any { return config{Chain: chainBare, Log: log} })
	server.ReadURL(t)
	calls := []call{{"tools/list", map[string]any{}}, tool("test_misfit", map[string]any{})}
	for _, c := range clients {
		got := transcript(t, calls, c.play(t, server.URL, calls))
		if c.name == "sdk 1.x" || c.name == "inspector" {
			require.Contains(t, got, "must have required property 'sky'", c.name)
			require.NotContains(t, got, "The sky cannot be seen.", c.name)
		} else {
			require.Contains(t, got, "The sky cannot be seen.\nisError: true\nstructuredContent: {\"success\":false}\n", c.name)
		}
	}
}

var written sync.Map

// writeOnce writes what the first of several tests that share a file got: the others are
// compared with it.
func writeOnce(t *testing.T, file, text string) {
	t.Helper()
	if _, done := written.LoadOrStore(file, true); !done {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	}
}
