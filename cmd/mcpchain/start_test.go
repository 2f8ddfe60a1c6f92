//go:build unix

package main

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// A client reads why its server does not start.
func TestAServerThatDoesNotStart(t *testing.T) {
	for name, one := range map[string]struct {
		args   []string
		status int
		answer string
		log    string
	}{
		"no program": {[]string{"run", "--", "chmdo"}, 127, `there is no program \"chmdo\" in PATH. Did you mean \"chmod\"?`, "the server cannot be started"},
		"its end":    {[]string{"run", "--", "sh", "-c", "echo 'panic: no key' >&2; echo; echo 'goroutine 1 [running]:' >&2; exit 2"}, 2, "wrote: 'panic: no key'", `cause="panic: no key"`},
		"silence":    {[]string{"run", "-start-timeout", "100ms", "--", "sleep", "60"}, 128 + 9, "did not answer within 100 ms of its start and was ended: it has written nothing to standard output", "-start-timeout=0 leaves it alone"},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command(os.Args[0], one.args...)
			cmd.Env = append(os.Environ(), "MCPCHAIN_TEST=1")
			errs := &stderr{}
			cmd.Stderr = errs
			in, err := cmd.StdinPipe()
			require.NoError(t, err)
			out, err := cmd.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			_, err = io.WriteString(in, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`+"\n")
			require.NoError(t, err)
			line, err := bufio.NewReader(out).ReadString('\n')
			require.NoError(t, err, errs)
			require.Contains(t, line, `"id":1,"error"`)
			require.Contains(t, line, one.answer)
			_ = cmd.Wait() // its status is looked at
			require.Equal(t, one.status, cmd.ProcessState.ExitCode())
			require.Contains(t, errs.String(), one.log)
		})
	}
}
