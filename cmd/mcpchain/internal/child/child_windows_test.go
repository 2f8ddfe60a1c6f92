package child_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/windows"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/child"
)

// TestMain lets this program be what is started.
func TestMain(m *testing.M) {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	switch os.Getenv("CHILD_TEST") {
	case "": // the tests
		os.Exit(m.Run())
	case "sleep":
		time.Sleep(10 * time.Minute)
	case "arguments":
		_ = json.NewEncoder(os.Stdout).Encode(os.Args[1:])
	case "leave", "stay": // starts something, and ends, or does not
		below := exec.Command(self)
		below.Env = append(os.Environ(), "CHILD_TEST=sleep")
		if err := below.Start(); err != nil {
			panic(err)
		}
		fmt.Println(below.Process.Pid)
		if os.Getenv("CHILD_TEST") == "stay" {
			time.Sleep(10 * time.Minute)
		}
	case "parent": // of a server
		p, err := child.Start(child.Command{Args: []string{self}, Env: append(os.Environ(), "CHILD_TEST=stay"), Stderr: os.Stderr})
		if err != nil {
			panic(err)
		}
		_, _ = io.Copy(os.Stdout, p.Out)
	}
}

func start(t *testing.T, what string, args ...string) *child.Process {
	t.Helper()
	p, err := child.Start(child.Command{Args: args, Env: append(os.Environ(), "CHILD_TEST="+what), Stderr: os.Stderr})
	require.NoError(t, err)
	t.Cleanup(p.Kill)
	return p
}

// folder is t.TempDir, which fails where files cannot be removed: under Wine.
func folder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "child") //nolint:usetesting // see above
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// batch writes a batch file that runs this program, as npx.cmd runs node.
func batch(t *testing.T) string {
	t.Helper()
	path := filepath.Join(folder(t), "a batch.cmd")
	require.NoError(t, os.WriteFile(path, []byte("@echo off\r\n\""+os.Args[0]+"\" %*\r\n"), 0o600))
	return path
}

// below returns a process whose ID is the next line of out.
func below(t *testing.T, out io.Reader) windows.Handle {
	t.Helper()
	var pid uint32
	_, err := fmt.Fscan(bufio.NewReader(out), &pid)
	require.NoError(t, err)
	process, err := windows.OpenProcess(windows.SYNCHRONIZE, false, pid)
	require.NoError(t, err)
	t.Cleanup(func() { _ = windows.CloseHandle(process) })
	state, err := windows.WaitForSingleObject(process, 0)
	require.NoError(t, err)
	require.EqualValues(t, windows.WAIT_TIMEOUT, state, "it runs")
	return process
}

func gone(t *testing.T, process windows.Handle) {
	t.Helper()
	state, err := windows.WaitForSingleObject(process, 10_000)
	require.NoError(t, err)
	require.EqualValues(t, windows.WAIT_OBJECT_0, state, "it is left")
}

// What a server has started ends with it, also when it did not end it, and when the server is behind a batch file.
func TestTheJobEnds(t *testing.T) {
	p := start(t, "stay", os.Args[0])
	left := below(t, p.Out)
	p.Stop(10 * time.Millisecond)
	gone(t, left)

	p = start(t, "stay", batch(t), "x")
	left = below(t, p.Out)
	p.Kill()
	gone(t, left)
	<-p.Ended()
	p.Kill() // does nothing any more
}

func TestWhatAServerLeavesEnds(t *testing.T) {
	p := start(t, "leave", os.Args[0])
	var pid uint32
	_, err := fmt.Fscan(bufio.NewReader(p.Out), &pid)
	require.NoError(t, err)
	<-p.Ended()
	require.Equal(t, 0, p.Status())
	require.Eventually(t, func() bool { // the process is no more, or another one has its ID
		process, err := windows.OpenProcess(windows.SYNCHRONIZE, false, pid)
		if err != nil {
			return true
		}
		defer func() { _ = windows.CloseHandle(process) }()
		state, err := windows.WaitForSingleObject(process, 0)
		return err == nil && state == windows.WAIT_OBJECT_0
	}, 10*time.Second, 10*time.Millisecond)
}

// Also when this process is killed without a chance to do anything.
func TestNoOrphanOfAKilledParent(t *testing.T) {
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), "CHILD_TEST=parent")
	out, err := parent.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, parent.Start())
	left := below(t, out)
	require.NoError(t, parent.Process.Kill())
	_ = parent.Wait()
	gone(t, left)
}

func TestArguments(t *testing.T) {
	args := []string{"-y", "@scope/server@1.0", "", `C:\a b\`, "https://x/?a=1&b=2", `{"a":"b c"}`, `"\"`, "a^b|c<d>e", "(x)", "!y!", "ü"}
	for _, path := range []string{os.Args[0], batch(t)} {
		p := start(t, "arguments", append([]string{path}, args...)...)
		out, err := io.ReadAll(p.Out)
		require.NoError(t, err)
		var got []string
		require.NoError(t, json.Unmarshal(out, &got), string(out))
		require.Equal(t, args, got, path)
	}
	_, err := child.Start(child.Command{Args: []string{batch(t), "a\r\nb"}, Stderr: os.Stderr})
	require.ErrorContains(t, err, "an argument of a batch file cannot have a line break")
}

func TestInTheWorkingDirectory(t *testing.T) {
	t.Chdir(folder(t))
	require.NoError(t, os.WriteFile("mine.cmd", []byte("@exit 7\r\n"), 0o600))
	_, err := child.Start(child.Command{Args: []string{"mine"}, Stderr: os.Stderr})
	require.ErrorIs(t, err, exec.ErrDot)
	p := start(t, "", `.\mine.cmd`)
	<-p.Ended()
	require.Equal(t, 7, p.Status())
}
