package node

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

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

	through   int               // how many checks pass through the program
	otherwise map[string]string // checks of the bare server that end otherwise through the program, and how; "" if they are not made
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
		// The program takes the version that the session has agreed on.
		through: 46, otherwise: map[string]string{
			"WARNING server-server-sse-polling server-sse-priming-event ServerSendsPrimingEvent Server did not send priming event with id and empty data on POST SSE stream. This is recommended for resumability.": "SUCCESS server-server-sse-polling server-sse-priming-event ServerSendsPrimingEvent",
			"WARNING server-server-sse-polling server-sse-retry-field ServerSendsRetryField Server did not send retry field. This is recommended for controlling client reconnection timing.":                       "SUCCESS server-server-sse-polling server-sse-retry-field ServerSendsRetryField",
		},
	},
	{
		name: "0.2.0-alpha.12 at 2025-11-25", pack: "conformance-0.2", args: []string{"--suite", "all", "--spec-version", "2025-11-25"},
		passed: 84,
		// A server that closes a stream before its answer closes that to the program, which reads on. Its client
		// gets the answer on the stream that it has, and need not come back.
		through: 83, otherwise: map[string]string{
			"SUCCESS server-server-sse-polling server-sse-disconnect-resume ServerDisconnectResume": "",
		},
	},
	{
		name: "0.2.0-alpha.12 at 2026-07-28", pack: "conformance-0.2", args: []string{"--suite", "all", "--spec-version", "2026-07-28"},
		passed: 153, stateless: true,
		// Nothing can be resumed in this version, so an answer that comes alone is JSON: its client sees by its
		// length that it is whole, and by its status what an error means. The suite looks at streams only.
		through: 152, otherwise: map[string]string{
			"SUCCESS server-server-sse-multiple-streams server-sse-streams-functional ServerSSEStreamsFunctional": "",
		},
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

// TestConformanceThroughTheProgram runs the suite against the same server through mcpchain run -http, which
// reaches it over HTTP, or starts it for each session and speaks with it over stdio.
func TestConformanceThroughTheProgram(t *testing.T) {
	needsNode(t)
	built := builtProgram(t)
	exe, err := os.Executable()
	require.NoError(t, err)
	for _, s := range suites {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			bare, _ := s.run(t, chainBare)
			far := child.Start(t, func(log string) any { return config{Stateless: s.stateless, Chain: chainBare, Log: log} })
			far.ReadURL(t)
			here := child.Environment(t, config{Stdio: true, Chain: chainBare, Log: filepath.Join(t.TempDir(), "log.json")})
			for _, args := range [][]string{{"-to", far.URL}, {"--", "env", here, exe}} {
				t.Run(args[0], func(t *testing.T) {
					lines := s.against(t, servedBy(t, built, args))
					require.Empty(t, difference(s.expected(bare), withoutNotes(lines)))
					passed := 0
					for _, line := range lines {
						if strings.HasPrefix(line, "SUCCESS ") {
							passed++
						}
					}
					require.Equal(t, s.through, passed)
				})
			}
		})
	}
}

// servedBy starts the program in front of a server, and returns where it serves it.
func servedBy(t *testing.T, built string, args []string) (url string) {
	t.Helper()
	said := &child.Buffer{}
	cmd := exec.CommandContext(t.Context(), built, append([]string{"run", "-http", "127.0.0.1:0"}, args...)...)
	cmd.Stderr = said
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Wait() })
	require.Eventually(t, func() bool {
		found := regexp.MustCompile(`url=(\S+)`).FindStringSubmatch(said.String())
		if found != nil {
			url = found[1]
		}
		return found != nil
	}, child.Patience, 10*time.Millisecond, "%s", said)
	return url
}

// expected returns how the checks of a bare server end through the program.
func (s suite) expected(bare []string) (lines []string) {
	for _, line := range withoutNotes(bare) {
		through, differs := s.otherwise[line]
		switch {
		case !differs:
			lines = append(lines, line)
		case through != "":
			lines = append(lines, through)
		}
	}
	return lines
}

// withoutNotes returns the checks without what is none.
func withoutNotes(lines []string) []string {
	return slices.DeleteFunc(slices.Clone(lines), func(line string) bool { return strings.HasPrefix(line, "INFO ") })
}

// difference returns what one list lacks of the other, and has besides.
func difference(want, got []string) (all []string) {
	got = slices.Clone(got)
	for _, line := range want {
		if at := slices.Index(got, line); at >= 0 {
			got = slices.Delete(got, at, at+1)
		} else {
			all = append(all, "- "+line)
		}
	}
	for _, line := range got {
		all = append(all, "+ "+line)
	}
	return all
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
