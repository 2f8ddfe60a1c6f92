//go:build unix

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// unread gives a command a standard error that is a pipe, and returns its end. Nobody has read anything of it yet.
func unread(t *testing.T, cmd *exec.Cmd) *os.File {
	t.Helper()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	t.Cleanup(func() { _ = r.Close(); _ = w.Close() })
	cmd.Stderr = w
	return r
}

// failing makes calls that fail, and expects all answers within a minute.
func failing(t *testing.T, s *mcp.ClientSession, calls int) {
	t.Helper()
	require.NoError(t, failed(t.Context(), s, calls))
}

func failed(ctx context.Context, s *mcp.ClientSession, calls int) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for i := range calls {
		res, err := s.CallTool(ctx, &mcp.CallToolParams{Name: "fail"})
		if err != nil || !res.IsError {
			return fmt.Errorf("call %d: %w", i, err)
		}
	}
	return nil
}

var wereDropped = regexp.MustCompile(`\d+ records were dropped, because [^"]*`)

// untilDropped reads lines until one says that some were dropped. Each is whole.
func untilDropped(t *testing.T, r *bufio.Reader, whole func(line string) bool) string {
	t.Helper()
	for {
		line, err := r.ReadString('\n')
		require.NoError(t, err)
		require.True(t, whole(line), line)
		if found := wereDropped.FindString(line); found != "" {
			return found
		}
	}
}

func wholeText(line string) bool {
	return strings.HasPrefix(line, "time=") || strings.HasPrefix(line, "a line with ") && strings.HasSuffix(line, "[redacted]\n") ||
		strings.HasPrefix(line, "warning: module ") && strings.HasSuffix(line, " is deprecated\n")
}

func wholeJSON(line string) bool { return json.Valid([]byte(line)) }

// A host that pipes standard error and reads nothing of it stops no call and not the end. When it reads, it gets the
// lines that were held, and the number of the others.
func TestNobodyReadsStandardError(t *testing.T) {
	for name, c := range map[string]struct {
		args  []string
		whole func(string) bool
	}{
		"text": {[]string{"run"}, wholeText},
		"JSON": {[]string{"run", "-log-json"}, wholeJSON},
	} {
		t.Run(name, func(t *testing.T) {
			cmd, _ := program(t, c.args...)
			errs := unread(t, cmd)
			s := session(t, "2025-11-25", cmd)
			failing(t, s, 1500)
			r := bufio.NewReader(errs)
			require.Contains(t, untilDropped(t, r, c.whole), "because nobody reads standard error")
			failing(t, s, 1)
			for { // the log goes on
				line, err := r.ReadString('\n')
				require.NoError(t, err)
				require.True(t, c.whole(line), line)
				if strings.Contains(line, "mcp call") {
					break
				}
			}
		})
		t.Run(name+", and it ends", func(t *testing.T) {
			cmd, _ := program(t, c.args...)
			unread(t, cmd)
			client := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "1"}, nil)
			s, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: cmd, TerminateDuration: time.Minute}, nil)
			require.NoError(t, err)
			failing(t, s, 500)
			require.NoError(t, s.Close())
			require.Zero(t, cmd.ProcessState.ExitCode())
		})
	}
}

// What a server prints when it starts, on whichever of its outputs, does not hinder it.
func TestAServerThatPrintsMuch(t *testing.T) {
	for _, args := range [][]string{{"run"}, {"run", "-log-json"}} {
		cmd, _ := program(t, args...)
		cmd.Env = append(cmd.Env, "MCPCHAIN_TEST_BANNER=3000")
		errs := unread(t, cmd)
		s := session(t, "2025-11-25", cmd)
		require.Contains(t, text(t, called(t, s, "divide", numbers{6, 3})), `"quotient":2`)
		failing(t, s, 500)
		whole := wholeText
		if len(args) > 1 {
			whole = wholeJSON
		}
		untilDropped(t, bufio.NewReader(errs), whole)
	}
}

// Over HTTP the calls of all clients are answered.
func TestNobodyReadsTheLogOverHTTP(t *testing.T) {
	cmd, _ := program(t, "run", "-http", "127.0.0.1:0")
	r := bufio.NewReader(unread(t, cmd))
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	line, err := r.ReadString('\n')
	require.NoError(t, err)
	url := served.FindStringSubmatch(line)
	require.NotNil(t, url, line)
	answered := make(chan error, 3)
	for _, version := range []string{"2025-11-25", "2026-07-28", "2025-11-25"} {
		s := connected(t, url[1], version, nil)
		go func() { answered <- failed(t.Context(), s, 500) }()
	}
	for range cap(answered) {
		require.NoError(t, <-answered)
	}
	untilDropped(t, r, wholeText)
	go func() { _, _ = io.Copy(io.Discard, r) }()
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(t, cmd.Wait())
}

// A log that is a named pipe holds nothing up before somebody opens it, nor when nobody reads it any more.
func TestALogThatIsANamedPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	cmd, errs := program(t, "run", "-log", path)
	s := session(t, "2025-11-25", cmd)
	failing(t, s, 1500)
	require.Eventually(t, func() bool { return strings.Count(errs.String(), "a line with ") == 1500 }, time.Minute, 10*time.Millisecond,
		"what the server writes passes")
	require.NotContains(t, errs.String(), "mcp call")
	log, err := os.Open(path)
	require.NoError(t, err)
	defer log.Close()
	require.Contains(t, untilDropped(t, bufio.NewReader(log), wholeText), "because the file of -log did not take them")
}

// What "mcpchain log" reads is what "mcpchain run" writes, in both forms.
func TestTheLogIsRead(t *testing.T) {
	for _, args := range [][]string{{"-log-json"}, nil} {
		path := filepath.Join(t.TempDir(), "log")
		cmd, _ := program(t, append([]string{"run", "-log", path}, args...)...)
		s := session(t, "2025-11-25", cmd)
		failing(t, s, 3)
		require.NoError(t, s.Close())
		out, errs, status := executed(t, "log", path)
		require.Zero(t, status, errs)
		require.Contains(t, out, ": 3 calls failed. No success is recorded")
		require.Contains(t, out, "  3  fail  tool_error  last ")
		require.Contains(t, out, "the service refused [redacted] for /srv/data")
	}
}
