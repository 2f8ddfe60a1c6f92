package probe_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/probe"
)

// checked runs checks against a server of this binary.
func checked(t *testing.T, mode string, limit time.Duration, only ...string) *probe.Report {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	report, err := probe.Run(t.Context(), probe.Options{Command: []string{exe, "serve", mode}, Only: only, Limit: limit})
	require.NoError(t, err)
	return report
}

func found(report *probe.Report) []string {
	var names []string
	for _, r := range report.Results {
		if len(r.Findings) > 0 {
			names = append(names, r.Check.Name)
		}
	}
	return names
}

// TestSoundPasses proves that no check finds anything in a server that does all right, and that each
// check has something to look at there.
func TestSoundPasses(t *testing.T) {
	t.Parallel()
	report := checked(t, "sound", 20*time.Second)
	for _, r := range report.Results {
		require.Empty(t, r.Findings, r.Check.Name)
		if r.Check.Over() != "http" && r.Check.Name != "writes-kept" { // which would write
			require.Empty(t, r.NotChecked, r.Check.Name)
		}
	}
	require.Equal(t, []string{"2025-11-25", "2026-07-28"}, report.Protocols)
	require.Equal(t, []string{"write_down"}, report.NotCalled)
	require.Equal(t, "arithmetic 1.2.3", report.Server)
	require.Positive(t, report.Took)
}

// TestOnlyWhatReadsIsCalled proves that other tools are called if they are named, or all are.
func TestOnlyWhatReadsIsCalled(t *testing.T) {
	exe, err := os.Executable()
	require.NoError(t, err)
	for _, o := range []probe.Options{{}, {Tools: []string{"write_down"}}, {Writes: true}} {
		o.Command, o.Only = []string{exe, "serve", "sound"}, []string{"fitting-arguments"}
		report, err := probe.Run(t.Context(), o)
		require.NoError(t, err)
		called := o.Writes || o.Tools != nil // which ends this server
		require.Equal(t, called, len(found(report)) > 0)
		require.Equal(t, called, report.NotCalled == nil)
	}
	_, err = probe.Run(t.Context(), probe.Options{Command: []string{exe, "serve", "sound"}, Tools: []string{"write_dwon"}})
	require.EqualError(t, err, `the server lists no tool "write_dwon"`)
}

// TestEachCheckFinds proves that each check finds what it is for. The checks wait most of the time, so
// twelve run at once.
func TestEachCheckFinds(t *testing.T) {
	t.Parallel()
	exe, err := os.Executable()
	require.NoError(t, err)
	type outcome struct {
		name   string
		report *probe.Report
		err    error
	}
	run := func(name string, only []string, limit time.Duration) outcome {
		report, err := probe.Run(t.Context(), probe.Options{Command: []string{exe, "serve", name}, Only: only, Limit: limit})
		return outcome{name, report, err}
	}
	var outcomes []chan outcome
	silent := []string{"fitting-arguments", "many-at-once", "late-reader", "nasty-arguments", "unknown-cursor"} // what they find takes the limit, many times
	places := make(chan struct{}, 12)
	for _, check := range probe.Checks() {
		if check.Over() == "http" || check.Name == "writes-kept" || runtime.GOOS == "windows" && slices.Contains([]string{"ends-when-told", "leaves-nothing", "ends-unread"}, check.Name) {
			continue // or there are no such signals and groups
		}
		only := []string{check.Name}
		if check.Looks() {
			only = append(only, "unknown-tool", "argument-of-wrong-type", "fitting-arguments")
		}
		done := make(chan outcome, 1)
		outcomes = append(outcomes, done)
		go func() {
			places <- struct{}{}
			defer func() { <-places }()
			limit := 2 * time.Second
			if slices.Contains(silent, check.Name) {
				limit = time.Second
			}
			done <- run(check.Name, only, limit)
		}()
	}
	for _, done := range outcomes {
		o := <-done
		t.Run(o.name, func(t *testing.T) {
			// On a busy machine a server may end before it has done what is wrong with it: then it is checked alone.
			for tries := 0; tries < 3 && o.err == nil && !slices.Contains(found(o.report), o.name); tries++ {
				o = run(o.name, []string{o.name}, 5*time.Second)
			}
			require.NoError(t, o.err)
			require.Contains(t, found(o.report), o.name)
		})
	}
}

// TestHostileServer proves that no schema and no answer of a server stops the checks. It has the endless lists of
// the server read to where the checks stop only where time does not matter.
func TestHostileServer(t *testing.T) {
	soaking := os.Getenv("MCPCHAIN_SOAK") != ""
	var some []string // all
	if !soaking {     // else it needs all processors, and the other tests their time
		t.Parallel()
		some = []string{"argument-missing", "unknown-tool", "structured-content", "result-type"}
	}
	report := checked(t, "hostile", 300*time.Millisecond, some...)
	require.Less(t, report.Took, 2*time.Minute)
	require.Equal(t, "hostile 1", report.Server)
	for _, r := range report.Results {
		require.NotContains(t, fmt.Sprint(r), "\x1b")
	}
	if !soaking {
		return
	}
	report = checked(t, "hostile", 30*time.Second, "argument-missing", "structured-content")
	require.Equal(t, []string{"argument-missing", "structured-content"}, found(report), "it takes everything")
	require.Equal(t, []string{"tool_2"}, report.NotCalled, "what a terminal obeys is left out")
}

// TestCancelled proves that the checks end, with their server, when they are no longer wanted.
func TestCancelled(t *testing.T) {
	exe, err := os.Executable()
	require.NoError(t, err)
	ctx, cancel := context.WithTimeoutCause(t.Context(), 300*time.Millisecond, errors.New("enough"))
	defer cancel()
	begun := time.Now()
	_, err = probe.Run(ctx, probe.Options{Command: []string{exe, "serve", "silent"}})
	require.EqualError(t, err, "enough")
	require.Less(t, time.Since(begun), 5*time.Second)

	_, err = probe.Run(t.Context(), probe.Options{Command: []string{exe, "serve", "silent"}, Start: 200 * time.Millisecond})
	require.ErrorContains(t, err, "the server cannot be checked, because it does not start: initialize: nothing in 200 ms")
}

// A server that does not start is told with the line that says why.
func TestWhyItDoesNotStart(t *testing.T) {
	t.Parallel()
	exe, err := os.Executable()
	require.NoError(t, err)
	for mode, want := range map[string]string{
		"usage": "initialize: the server ended: exit status 0; it wrote what is no message: Usage: server COMMAND; and in",
		"crash": "initialize: the server ended: exit status 0; standard error: Error: Cannot find module './nope'; and in",
	} {
		_, err = probe.Run(t.Context(), probe.Options{Command: []string{exe, "serve", mode}})
		require.ErrorContains(t, err, want)
	}
}

// TestNothingIsLeft proves that what a server leaves behind ends with the checks.
func TestNothingIsLeft(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there is no /proc")
	}
	file := filepath.Join(t.TempDir(), "pid")
	t.Setenv("MCPCHAIN_PROBE_PID", file)
	require.Equal(t, []string{"leaves-nothing"}, found(checked(t, "leaves-nothing", time.Second, "leaves-nothing")))
	pid, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Eventually(t, func() bool { // the kernel takes its time
		stat, err := os.ReadFile("/proc/" + string(pid) + "/stat")
		return err != nil || strings.Contains(string(stat), ") Z ")
	}, 5*time.Second, 10*time.Millisecond)
}
