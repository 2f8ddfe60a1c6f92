package node

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/internal/child"
)

// A suite is one run of the official suite.
type suite struct {
	name      string
	pack      string // the directory of the package
	args      []string
	stateless bool
	passed    int      // how many checks the bare server passes
	other     []string // those that it does not
}

var suites = []suite{
	{
		name: "0.1.16", pack: "conformance-0.1", args: []string{"--suite", "all"}, passed: 44,
		// The suite opens a stream without saying its version of the protocol, so that the SDK
		// leaves out what came with 2025-11-25.
		other: []string{
			"WARNING server-server-sse-polling server-sse-priming-event ServerSendsPrimingEvent Server did not send priming event with id and empty data on POST SSE stream. This is recommended for resumability.",
			"WARNING server-server-sse-polling server-sse-retry-field ServerSendsRetryField Server did not send retry field. This is recommended for controlling client reconnection timing.",
		},
	},
	{
		name: "0.2.0-alpha.12 at 2025-11-25", pack: "conformance-0.2", args: []string{"--suite", "all", "--spec-version", "2025-11-25"},
		passed: 84,
	},
	{
		name: "0.2.0-alpha.12 at 2026-07-28", pack: "conformance-0.2", args: []string{"--suite", "all", "--spec-version", "2026-07-28"},
		passed: 153, stateless: true,
	},
}

// A check is one line of a result of the suite.
type check struct {
	ID           string
	Name         string
	Status       string
	ErrorMessage string
}

// run runs the suite against a server with the chain and returns its checks, one line each,
// and the server's log.
func (s suite) run(t *testing.T, chain string) (lines []string, log child.LogFile) {
	t.Helper()
	server := child.Start(t, func(log string) any { return config{Stateless: s.stateless, Chain: chain, Log: log} })
	server.ReadURL(t)
	lines = s.against(t, server.URL)
	server.Alive(t)
	return lines, server.Log
}

// against runs the suite against what answers at a URL.
func (s suite) against(t *testing.T, url string) (lines []string) {
	t.Helper()
	results := t.TempDir()
	cmd := program(t, "node_modules/"+s.pack+"/dist/index.js", append([]string{"server", "--url", url, "-o", results}, s.args...)...)
	out, _ := cmd.CombinedOutput() // fails where a check does
	files, err := filepath.Glob(filepath.Join(results, "*", "checks.json"))
	require.NoError(t, err)
	require.NotEmpty(t, files, "%s", out)
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		var checks []check
		require.NoError(t, json.Unmarshal(data, &checks), "%s", data)
		scenario := timestamp.ReplaceAllString(filepath.Base(filepath.Dir(file)), "")
		for _, c := range checks {
			lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %s %s %s %s", c.Status, scenario, c.ID, c.Name, c.ErrorMessage)))
		}
	}
	slices.Sort(lines)
	return lines
}

// timestamp is what the suite appends to the name of a scenario.
var timestamp = regexp.MustCompile(`-\d{4}-\d{2}-\d{2}T[\d-]+Z$`)

// TestConformance runs the suite against the same server bare and behind the chain. No check
// may end otherwise. The bare server passes what is said here, so that a server that fails
// everything is noticed, and so is a suite that checks less.
func TestConformance(t *testing.T) {
	needsNode(t)
	for _, s := range suites {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			bare, log := s.run(t, chainBare)
			require.Empty(t, log.Since(t, 0), "nobody logs here")
			passed, other := 0, []string(nil)
			for _, line := range bare {
				switch status, _, _ := strings.Cut(line, " "); status {
				case "SUCCESS":
					passed++
				case "INFO": // no check
				default:
					other = append(other, line)
				}
			}
			require.Equal(t, s.passed, passed, "%s", strings.Join(bare, "\n"))
			require.Equal(t, s.other, other)
			for _, chain := range []string{chainStandard, chainEverything} {
				t.Run(chain, func(t *testing.T) {
					wrapped, log := s.run(t, chain)
					require.Equal(t, strings.Join(bare, "\n"), strings.Join(wrapped, "\n"))
					require.NotEmpty(t, log.Since(t, 0), "the chain records the calls that fail")
				})
			}
		})
	}
}

// TestADifferenceIsSeen runs one scenario against a server that loses what failing tools say.
func TestADifferenceIsSeen(t *testing.T) {
	needsNode(t)
	s := suite{pack: "conformance-0.1", args: []string{"--scenario", "tools-call-error"}}
	bare, _ := s.run(t, chainBare)
	lossy, _ := s.run(t, chainLossy)
	require.Equal(t, []string{"SUCCESS server-tools-call-error tools-call-error ToolsCallError"}, bare)
	require.Equal(t, []string{"FAILURE server-tools-call-error tools-call-error ToolsCallError Error result missing error message"}, lossy)
}
