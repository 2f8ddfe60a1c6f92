package node

import (
	"bufio"
	"bytes"
	"fmt"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/internal/harness/authority"
)

// TestClientsSignInAgain: a client's token expires in the middle of a session, or lacks a scope. The
// client gets another one by itself, and the call succeeds.
func TestClientsSignInAgain(t *testing.T) {
	needsNode(t)
	for _, line := range []string{"1", "2"} {
		for name, opts := range map[string]mcp.StreamableHTTPOptions{
			"stateless": {Stateless: true}, "stateless, JSON": {Stateless: true, JSONResponse: true}, "stateful": {}, "stateful, JSON": {JSONResponse: true},
		} {
			t.Run(fmt.Sprintf("sdk %s.x/%s", line, name), func(t *testing.T) {
				a := authority.New(t)
				notes := authority.Serve(t, a, opts)
				cmd := program(t, "signin.mjs", notes.URL, line, authority.ClientID, authority.Secret)
				var stderr bytes.Buffer
				cmd.Stderr = &stderr
				in, err := cmd.StdinPipe()
				require.NoError(t, err)
				out, err := cmd.StdoutPipe()
				require.NoError(t, err)
				require.NoError(t, cmd.Start())
				lines := bufio.NewScanner(out)
				call := func(tool string) {
					t.Helper()
					_, err := fmt.Fprintln(in, tool)
					require.NoError(t, err)
					require.True(t, lines.Scan(), "%s", &stderr)
					require.Equal(t, `{"text":"done"}`, lines.Text(), "%s after %q", tool, a.Asked())
				}
				call("read_note")
				a.Expire()
				call("read_note")
				call("write_note") // the 2.x line asks for one scope more, the 1.x line has it
				call("read_note")
				a.Expire()
				call("write_note")
				a.Revoke()
				call("write_note")
				require.NoError(t, in.Close())
				require.NoError(t, cmd.Wait())
				require.EqualValues(t, 3, notes.Reads.Load())
				require.EqualValues(t, 3, notes.Written.Load())
			})
		}
	}
}
