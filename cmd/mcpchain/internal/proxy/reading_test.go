//go:build unix

package proxy

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/deadline"
	"github.com/mcpchain/mcpchain/replay"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/rpc"
)

// A received is what a server got, byte by byte.
type received struct {
	mu sync.Mutex
	b  strings.Builder
}

func (r *received) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.b.String()
}

const begun = `{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}`

const twoTools = `{"tools":[{"name":"danger","inputSchema":{"type":"object"}},{"name":"look","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}]}`

// listening returns a run that notes all it gets and answers every request.
func listening(got *received) *fakeRun {
	return newRun(func(m *rpc.Message) (string, error) {
		got.mu.Lock()
		defer got.mu.Unlock()
		got.b.Write(append(m.Line, '\n'))
		switch m.Method {
		case "initialize":
			return ok(m, begun), nil
		case "tools/list":
			return ok(m, twoTools), nil
		}
		return ok(m, `{"content":[]}`), nil
	})
}

// smuggled are lines of a client that would reach the tool "danger" in a server that reads them otherwise than
// this program does.
var smuggled = []string{
	`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"danger","Name":"look"}}`,
	`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"Name":"danger","name":"look"}}`,
	`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"danger","name":"look"}}`,
	`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"look","name":"danger"}}`,
	`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"look","n\u0061me":"danger"}}`,
	`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"danger"},"params":{"name":"look"}}`,
	`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"look"},"Params":{"name":"danger"}}`,
	`{"jsonrpc":"2.0","id":%d,"method":"ping","Method":"tools/call","params":{"name":"danger"}}`,
	`{"jsonrpc":"2.0","id":%d,"method":"ping","method":"tools/call","params":{"name":"danger"}}`,
	`{"jsonrpc":"2.0","id":%d,"method":"tools/call","Method":"tools/call","params":{"name":"danger"}}`,
	"{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\",\"params\":{\"name\":\"danger\xff\"}}",
}

// silent are lines that reach it without an answer.
var silent = []string{
	`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"danger"}}`,
	`{"jsonrpc":"2.0","Id":5,"method":"tools/call","params":{"name":"danger"}}`,
	`{"jsonrpc":"2.0","method":"notifications/x","Method":"tools/call","params":{"name":"danger"}}`,
}

// No guard is passed by a message that is read in two ways, and none is recorded as another one.
func TestGuardsReadWhatTheServerReads(t *testing.T) {
	for name, change := range map[string]func(*Options, *mcpchain.Options){
		"read only": func(o *Options, _ *mcpchain.Options) { o.Tools.ReadOnly = true },
		"hide":      func(o *Options, _ *mcpchain.Options) { o.Tools.Hide = []string{"danger"} },
		"serial":    func(o *Options, _ *mcpchain.Options) { o.Serial, o.Tools.Hide = true, []string{"danger"} },
		"chain": func(o *Options, c *mcpchain.Options) {
			o.Tools.Hide = []string{"danger"}
			c.Deadline, c.Replay = deadline.New(nil), replay.New(nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := &received{}
			c := initialized(t, runs(listening(got)), change)
			for i, line := range smuggled {
				c.send(fmt.Sprintf(line, i+10))
				answer := c.answer(fmt.Sprint(i + 10))
				require.Contains(t, answer, `"code":-32600`, line)
			}
			for _, line := range silent {
				c.send(line)
			}
			// A reader of text takes CR for the end of a line, and JSON takes it for white space.
			c.send("{\"jsonrpc\":\"2.0\",\"id\":50,\"method\":\"tools/call\",\"params\":{\"name\":\"look\",\"arguments\":\r{\"jsonrpc\":\"2.0\",\"id\":51,\"method\":\"tools/call\",\"params\":{\"name\":\"danger\"}}\r}}")
			c.answer("50")
			c.send(callLine("60", "danger", `{}`))
			require.Contains(t, c.answer("60"), "danger")
			c.call("61", "look", `{}`)
			for line := range strings.Lines(got.String()) {
				require.NotContains(t, line, "\r")
				var m struct {
					Method string
					Params struct{ Name string }
				}
				require.NoError(t, json.Unmarshal([]byte(line), &m))
				require.NotEqual(t, "danger", m.Params.Name, line)
			}
			require.Equal(t, 2, strings.Count(got.String(), `"method":"tools/call","params":{"name":"look"`))
			require.Contains(t, c.log.String(), "a line of the client is no message that a server can read")
		})
	}
}

// A request under an ID that is in use is not sent: its answer could not be told from the other one.
func TestAnOwnIDIsChosenAnew(t *testing.T) {
	u := &upstream{proxy: New(Options{Chain: func(next mcp.MethodHandler) mcp.MethodHandler { return next }, Out: rpc.NewWriter(io.Discard)}), waiting: map[string]*waiter{"n5": {}}}
	_, err := u.ask(t.Context(), rpc.Request(rpc.NumberID(5), "ping", nil), nil)
	require.ErrorIs(t, err, errUsed)
}

// A server that asks illegally and does not read what it is told is waited for by no refusal.
func TestRefusalsThatNobodyReads(t *testing.T) {
	run := newRun(func(*rpc.Message) (string, error) { return "", nil })
	u := &upstream{proxy: New(Options{Chain: func(next mcp.MethodHandler) mcp.MethodHandler { return next }, Out: rpc.NewWriter(io.Discard)}),
		process: run, queue: make(chan outgoing, 2)}
	for range 10 {
		u.refuse(rpc.Failed(rpc.NumberID(1), internal()))
	}
	require.Len(t, u.queue, 2)
}
