//go:build unix

package child_test

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/child"
)

// TestMain lets this program be the one that starts a process and is killed.
func TestMain(m *testing.M) {
	if os.Getenv("CHILD_TEST_PARENT") == "" {
		os.Exit(m.Run())
	}
	parent()
}

// parent starts a server that ends and two that do not, and prints what these have started.
func parent() {
	start := func(script string) *child.Process {
		p, err := child.Start(child.Command{Args: []string{"/bin/sh", "-c", script}, Stderr: os.Stderr})
		if err != nil {
			panic(err)
		}
		return p
	}
	const stays = "trap '' TERM HUP; sleep 600 & echo $!; wait"
	first := start(stays)
	<-start("exit 0").Ended()
	second := start(stays)
	go func() { _, _ = io.Copy(os.Stdout, first.Out) }()
	_, _ = io.Copy(os.Stdout, second.Out)
}

type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func start(t *testing.T, script string) (*child.Process, *safeBuffer) {
	t.Helper()
	stderr := &safeBuffer{}
	p, err := child.Start(child.Command{Args: []string{"/bin/sh", "-c", script}, Stderr: stderr})
	require.NoError(t, err)
	t.Cleanup(p.Kill)
	return p, stderr
}

// gone waits until a process is no more, or is only a zombie that nobody has waited for.
func gone(t *testing.T, pid int) {
	t.Helper()
	require.Eventually(t, func() bool {
		state, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if err == nil {
			_, after, _ := strings.Cut(string(state), ") ")
			return strings.HasPrefix(after, "Z")
		}
		return syscall.Kill(pid, 0) != nil
	}, 10*time.Second, 10*time.Millisecond, "process %d is left", pid)
}

func TestStreamsAndStatus(t *testing.T) {
	p, stderr := start(t, "read line; echo got $line; echo trouble >&2; exit 7")
	_, err := io.WriteString(p.In, "x\n")
	require.NoError(t, err)
	out, err := io.ReadAll(p.Out)
	require.NoError(t, err)
	require.Equal(t, "got x\n", string(out))
	<-p.Ended()
	require.Equal(t, 7, p.Status())
	require.Equal(t, "exit status 7", p.How())
	require.Equal(t, "trouble\n", stderr.String())

	p, _ = start(t, "kill -KILL $$")
	<-p.Ended()
	require.Equal(t, 137, p.Status())

	_, err = child.Start(child.Command{Args: []string{"/there/is/no/such/program"}, Stderr: stderr})
	require.Error(t, err)
	_, err = child.Start(child.Command{Stderr: stderr})
	require.Error(t, err)
}

// What a server has started ends with it, also when it did not end it.
func TestTheGroupEnds(t *testing.T) {
	p, _ := start(t, "sleep 600 & echo $!; exit 0")
	line, err := bufio.NewReader(p.Out).ReadString('\n')
	require.NoError(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	require.NoError(t, err)
	<-p.Ended()
	gone(t, pid)
}

func TestStop(t *testing.T) {
	began := time.Now()
	p, _ := start(t, "cat >/dev/null; exit 3") // ends by itself with its input
	require.NoError(t, p.In.Close())
	p.Stop(10 * time.Second)
	require.Equal(t, 3, p.Status())
	require.Less(t, time.Since(began), 5*time.Second)

	p, _ = start(t, "exec sleep 600") // ends when it is told to
	p.Stop(10 * time.Millisecond)
	require.Equal(t, 128+15, p.Status())

	p, _ = start(t, "trap '' TERM; echo ready; sleep 600 & wait; sleep 600") // does not end
	_, err := bufio.NewReader(p.Out).ReadString('\n')
	require.NoError(t, err)
	p.Stop(10 * time.Millisecond)
	require.Equal(t, 128+9, p.Status())
}

// Also when this process is killed without a chance to do anything.
func TestNoOrphanOfAKilledParent(t *testing.T) {
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), "CHILD_TEST_PARENT=1")
	out, err := parent.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, parent.Start())
	lines := bufio.NewReader(out)
	var grandchildren []int
	for range 2 {
		line, err := lines.ReadString('\n')
		require.NoError(t, err)
		pid, err := strconv.Atoi(strings.TrimSpace(line))
		require.NoError(t, err)
		require.NoError(t, syscall.Kill(pid, 0))
		grandchildren = append(grandchildren, pid)
	}
	if children := childrenOf(parent.Process.Pid); children > 0 {
		require.Equal(t, 3, children, "two servers, and one guard")
	}
	require.NoError(t, parent.Process.Kill())
	_ = parent.Wait()
	for _, pid := range grandchildren {
		gone(t, pid)
	}
}

// A guard that is gone is replaced by another one.
func TestAGuardThatIsKilled(t *testing.T) {
	p, _ := start(t, "exec sleep 600")
	child.KillGuard()
	other, _ := start(t, "exec sleep 600")
	require.ElementsMatch(t, []int{p.PID(), other.PID()}, child.Guarded())
	p.Kill()
	<-p.Ended()
	require.Equal(t, []int{other.PID()}, child.Guarded())
	third, _ := start(t, "exec sleep 600")
	child.KillGuard()
	third.Kill() // that it is gone is seen when a server ends, too
	<-third.Ended()
	require.Equal(t, []int{other.PID()}, child.Guarded())
	other.Kill()
	<-other.Ended()
	require.Empty(t, child.Guarded())
}

// childrenOf returns how many children a process has, zero where the system does not say it.
func childrenOf(pid int) (n int) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range stats {
		stat, _ := os.ReadFile(name)
		if _, after, ok := strings.Cut(string(stat), ") "); ok && strings.HasPrefix(after[2:], strconv.Itoa(pid)+" ") {
			n++
		}
	}
	return n
}

func TestStopInAHurry(t *testing.T) {
	p, _ := start(t, "exec sleep 600")
	stopped := make(chan struct{})
	go func() {
		p.Stop(time.Hour)
		close(stopped)
	}()
	p.Stop(0)
	<-stopped
	require.Equal(t, 128+15, p.Status())
	p.Kill() // does nothing any more
}
