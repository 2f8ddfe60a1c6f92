//go:build unix

package proxy

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain"
)

// restarting has a server that differs after a restart.
func restarting(t *testing.T, mode string) *client {
	t.Helper()
	return initialized(t, func(o *Options, _ *mcpchain.Options) {
		o.Env = append(os.Environ(), "PROXY_TEST_SERVER=restarts", "PROXY_TEST_MODE="+mode, "PROXY_TEST_RUNS="+filepath.Join(t.TempDir(), "runs"))
		o.Hang = 300 * time.Millisecond
	})
}

func (c *client) ask(id, method, params string) string {
	c.t.Helper()
	c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, params))
	return c.answer(id)
}

// A run of the server does not know what another one has listed. The client is told, if it may expect that.
func TestARestartThatListsOtherTools(t *testing.T) {
	for mode, told := range map[string]bool{"other": true, "same": false, "unannounced": false} {
		t.Run(mode, func(t *testing.T) {
			c := restarting(t, mode)
			require.Contains(t, c.ask("1", "tools/list", `{}`), `"one"`)
			require.Contains(t, c.ask("2", "prompts/list", `{}`), `"one"`) // whose changes are not announced
			c.call("3", "die", `{}`)
			if told {
				require.JSONEq(t, `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`,
					c.next(func(line string) bool { return strings.Contains(line, "list_changed") }))
				require.Contains(t, c.ask("4", "tools/list", `{}`), `"other"`)
			}
			require.Eventually(t, func() bool {
				seen := c.ask(`"seen"`, "custom/seen", `{}`)
				return mode == "unannounced" || strings.Contains(seen, "tools/list")
			}, patient, time.Millisecond)
			require.Contains(t, c.call("5", "echo", `{"text":"alive"}`), "alive")
			for _, line := range c.early {
				require.NotContains(t, line, "list_changed")
			}
		})
	}
}

// What the server has listed before it says that it lists something else explains nothing any more.
func TestAChangedListExplains(t *testing.T) {
	c := restarting(t, "")
	require.NotContains(t, textOf(t, c.call("1", "one", `{}`)), "required")
	require.Contains(t, c.call("2", "change", `{}`), "done")
	require.Contains(t, textOf(t, c.call("3", "one", `{}`)), "Argument 'b' is required")
}

// The client has agreed on a version, and would not understand another one.
func TestARestartInAnotherVersion(t *testing.T) {
	c := restarting(t, "asked version") // the one in which the session began is asked for
	c.call("1", "die", `{}`)
	require.Contains(t, c.call("2", "echo", `{"text":"alive"}`), "alive")

	c = restarting(t, "version")
	c.call("1", "die", `{}`)
	require.Eventually(t, func() bool { return strings.Contains(c.log.String(), "speaks version") }, patient, time.Millisecond)
	text := textOf(t, c.call("2", "echo", `{"text":"alive"}`))
	require.Contains(t, text, `the server was started again and speaks version '2025-11-25' of the protocol now, and this session began with '2025-06-18'`)
	require.Contains(t, text, "Retry: no. The client has to connect anew.")
	require.Eventually(t, func() bool { // the fourth run speaks the old one again
		return strings.Contains(c.call(`"again"`, "echo", `{"text":"alive"}`), `"isError": false`)
	}, patient, time.Millisecond)
}

// A subscription that silences the server does not keep it from being started.
func TestASubscriptionThatSilences(t *testing.T) {
	c := restarting(t, "silent")
	c.ask("1", "resources/subscribe", `{"uri":"x://good"}`)
	c.ask("2", "resources/subscribe", `{"uri":"x://bad"}`)
	c.call("3", "die", `{}`)
	require.Contains(t, c.call("4", "echo", `{"text":"alive"}`), "alive")
	require.Contains(t, c.log.String(), "the server was silent twice after what it had taken before, which is not sent again")
	require.Contains(t, c.ask("5", "custom/seen", `{}`), `"resources/subscribe"`, "the other one is")
	require.Equal(t, 2, strings.Count(c.log.String(), "cannot be restored"))
}
