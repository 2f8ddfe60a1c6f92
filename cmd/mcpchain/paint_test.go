package main

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/probe"
)

// A report in colours is the report, with colours.
func TestPaint(t *testing.T) {
	var plain, painted strings.Builder
	require.NoError(t, writeTable(&plain, sampleReport(), -1, false))
	require.NoError(t, writeTable(&painted, sampleReport(), -1, true))
	require.Contains(t, painted.String(), "\x1b[1;31mWHAT A USER NOTICES\x1b[0m")
	require.NotContains(t, plain.String(), "\x1b")
	bare := painted.String()
	for _, code := range []string{"0", "1", "2", "1;31", "1;33", "1;34"} {
		bare = strings.ReplaceAll(bare, "\x1b["+code+"m", "")
	}
	require.Equal(t, plain.String(), bare)
	require.False(t, bool(paintOf(&painted)), "it is no terminal")
}

// On a terminal the progress is one line, which is gone at the end; elsewhere it is a line a second.
func TestProgress(t *testing.T) {
	shown := func(terminal bool, each time.Duration) string {
		var b strings.Builder
		synctest.Test(t, func(*testing.T) {
			show, done := progress(&b, terminal, "bare, ")
			for i := range 4 {
				time.Sleep(each)
				show(i, 4, "no-json")
			}
			done()
		})
		return b.String()
	}
	require.Empty(t, shown(true, time.Second/10))
	require.Equal(t, "\r\x1b[Kmcpchain: bare, check 4 of 4, no-json\r\x1b[K", shown(true, 600*time.Millisecond))
	require.Equal(t, 3, strings.Count(shown(true, 900*time.Millisecond), "\r"))
	require.Equal(t, "mcpchain: bare, check 4 of 4, no-json\n", shown(false, 600*time.Millisecond))
	require.Equal(t, "mcpchain: bare, check 3 of 4, no-json\n", shown(false, 900*time.Millisecond))
}

// What each of a server's findings weighs decides where it is shown: once, with what it explains.
func TestGrades(t *testing.T) {
	is := func(name string, all ...probe.Finding) probe.Result {
		return probe.Result{Check: &probe.Check{Name: name}, Findings: all}
	}
	r := &probe.Report{Results: []probe.Result{
		is("odd-id", probe.Finding{Weight: probe.Letter, What: "a"}),
		is("no-json", probe.Finding{Weight: probe.Letter, What: "b"}, probe.Finding{Weight: probe.User, What: "c"}),
		is("batch", probe.Finding{Weight: probe.User, What: "c", Because: "no-json"}),
	}}
	all := grades(r)
	require.Len(t, all, 3)
	require.Len(t, all[0].Results, 1)
	require.Equal(t, []string{"batch"}, all[0].Results[0].Also)
	require.Equal(t, "c", all[0].Results[0].Findings[0].What, "the heaviest first")
	require.Len(t, all[0].Results[0].Findings, 2)
	require.Empty(t, all[1].Results)
	require.Equal(t, "odd-id", all[2].Results[0].Name)
}
