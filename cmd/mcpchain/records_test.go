package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	failedRecord = `{"time":"2026-11-29T10:00:01Z","level":"WARN","msg":"mcp call","tool":"mail","outcome":"timeout","kind":"timeout","reference":"id-1","error":"too late"}` + "\n"
	partRecord   = `{"time":"2026-11-29T10:00:02Z","level":"INFO","msg":"mcp part of a call","tool":"mail","outcome":"tool_error","reference":"id-1.0"}` + "\n"
	otherRecord  = `{"time":"2026-11-29T10:00:03Z","level":"INFO","msg":"mcp call","tool":"find","outcome":"ok","reference":"id-12"}` + "\n"
)

func logFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "week.log")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestLog(t *testing.T) {
	path, page := logFile(t, failedRecord+otherRecord), filepath.Join(t.TempDir(), "page.html")
	out, errs, status := executed(t, "log", path, "-html", page, logFile(t, partRecord))
	require.Zero(t, status, errs)
	require.Contains(t, out, "1 call and 1 part of a call failed, 1 succeeded.")
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	require.Contains(t, string(text), "<h1>What failed: week.log</h1>")
	require.NotContains(t, string(text), filepath.Dir(path), "the page goes to others")
	is, err := os.Stat(page)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), is.Mode().Perm(), "as private as the log")

	out, _, status = executed(t, "log", "-reference", "id-1", logFile(t, failedRecord+partRecord+otherRecord+"no record\n"))
	require.Zero(t, status)
	require.Contains(t, out, "error            too late\n")
	require.Contains(t, out, "id-1.0\n", "a part of the call")
	require.NotContains(t, out, "id-12")
}

func TestLogOfStandardInput(t *testing.T) {
	for _, args := range [][]string{{"log"}, {"log", "-"}} {
		var out, errs buffer
		require.Zero(t, execute(args, streams{in: io.NopCloser(strings.NewReader(failedRecord)), out: &out, err: &errs}), errs.String())
		require.Contains(t, out.String(), "1 call failed.")
		require.Empty(t, errs.String())
	}
}

// Where a pattern of a shell stands behind -html, the first log would be the page.
func TestAPageReplacesNoLog(t *testing.T) {
	path := logFile(t, failedRecord)
	_, errs, status := executed(t, "log", "-html", path, path)
	require.Equal(t, exitFailed, status)
	require.Contains(t, errs, "is no page: behind -html stands the name of the page")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, failedRecord, string(text))
	page := filepath.Join(t.TempDir(), "page.html")
	require.NoError(t, os.WriteFile(page, nil, 0o600))
	for range 2 {
		_, errs, status = executed(t, "log", "-html", page, path)
		require.Zero(t, status, errs)
	}
}

func TestWhatCannotBeWrittenIsSaid(t *testing.T) {
	out, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("there is no full device:", err)
	}
	defer out.Close()
	var errs buffer
	require.Equal(t, exitFailed, execute([]string{"log", logFile(t, failedRecord)}, streams{out: out, err: &errs}))
	require.Contains(t, errs.String(), "no space left")
}

func TestLogSaysWhatIsWrong(t *testing.T) {
	path := logFile(t, failedRecord)
	for want, args := range map[string][]string{
		"no line is a record of slog": {"log"},
		"no record has the reference \"id\"; the log goes from 2026-11-29 10:00:01 to": {"log", path, "-reference", "id"},
		"no-such-file":                   {"log", filepath.Join(t.TempDir(), "no-such-file")},
		"say either -reference or -html": {"log", "-reference", "id-1", "-html", "x", path},
		`did you mean "-html"?`:          {"log", "-htm", "x", path},
	} {
		out, errs, status := executed(t, args...)
		require.NotZero(t, status)
		require.Empty(t, out)
		require.True(t, strings.HasPrefix(errs, "mcpchain log: "), errs)
		require.Contains(t, errs, want)
	}
}
