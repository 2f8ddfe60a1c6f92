// Package child runs a server in a process of its own for tests, and watches what
// leaves it. The server is the test binary, executed again with its configuration in
// the environment:
//
//	func TestMain(m *testing.M) { child.Main(m, serve) }
//
//	p := child.Start(t, func(log string) any { return config{Transport: "stdio", Log: log} })
package child

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	configEnv = "MCPCHAIN_TEST_SERVER" // the configuration of a server process, as JSON
	seedEnv   = "MCPCHAIN_TEST_SEED"   // what the canaries of this run are made from
)

// Patience is how long anything may take. The machine may be busy, and a test that
// waits for this long has failed.
const Patience = 2 * time.Minute

// Lifetime ends a server process whose test forgot it, or was killed, unless
// [Immortal] is called.
const Lifetime = 5 * time.Minute

// lifetime is what ends this process.
var lifetime *time.Timer

// Immortal lets a server process live until its standard input ends.
func Immortal() { lifetime.Stop() }

// Main runs the tests of a package, or serve when this is a server process.
func Main(m *testing.M, serve func(config string) error) {
	if config := os.Getenv(configEnv); config != "" {
		lifetime = time.AfterFunc(Lifetime, func() { os.Exit(3) })
		if err := serve(config); err != nil {
			fmt.Fprintln(os.Stderr, "server:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if os.Getenv(seedEnv) == "" {
		if err := os.Setenv(seedEnv, rand.Text()); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

// A Process is one server process.
type Process struct {
	Cmd    *exec.Cmd
	Stdin  io.WriteCloser
	Stdout io.Reader
	Stderr *Buffer
	Log    LogFile
	URL    string        // the first line of a server that says one, see [Process.ReadURL]
	Exited chan struct{} // closed when the process has ended
	Err    error         // how it ended, once Exited is closed
}

// A Buffer keeps what is written to it. It is safe for concurrent use.
type Buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write appends p.
func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

// String returns everything that was written.
func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// Environment returns the variable of the environment that makes this test binary a server process with a
// configuration, as NAME=VALUE.
func Environment(t testing.TB, config any) string {
	t.Helper()
	text, err := json.Marshal(config)
	require.NoError(t, err)
	return configEnv + "=" + string(text)
}

// Start starts a server process, which is killed at the end of the test. config gets the
// path of the log and returns the configuration, which serve gets as JSON.
func Start(t testing.TB, config func(log string) any) *Process {
	t.Helper()
	log := filepath.Join(t.TempDir(), "log.json")
	require.NoError(t, os.WriteFile(log, nil, 0o600))
	exe, err := os.Executable()
	require.NoError(t, err)
	p := &Process{Cmd: exec.Command(exe), Stderr: &Buffer{}, Log: LogFile(log), Exited: make(chan struct{})}
	p.Cmd.Env = append(os.Environ(), Environment(t, config(log)))
	p.Cmd.Stderr = p.Stderr
	// Not StdoutPipe, which Wait closes before everything is read.
	read, write, err := os.Pipe()
	require.NoError(t, err)
	p.Cmd.Stdout, p.Stdout = write, read
	p.Stdin, err = p.Cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, p.Cmd.Start())
	require.NoError(t, write.Close())
	go func() {
		p.Err = p.Cmd.Wait()
		close(p.Exited)
	}()
	t.Cleanup(func() {
		_ = p.Cmd.Process.Kill()
		<-p.Exited
		_ = read.Close()
	})
	return p
}

// ReadURL reads the first line of the standard output, where an HTTP server says its
// address.
func (p *Process) ReadURL(t testing.TB) {
	t.Helper()
	line, err := bufio.NewReader(p.Stdout).ReadString('\n')
	require.NoError(t, err, "%s", p.Stderr)
	p.URL = strings.TrimSpace(line)
}

// Alive requires that the process has not ended.
func (p *Process) Alive(t require.TestingT) {
	select {
	case <-p.Exited:
		require.FailNow(t, "the server is dead", "%v\n%s", p.Err, p.Stderr)
	default:
	}
}

// Stop closes the standard input of the process, as its parent would, and requires that the
// process ends without an error.
func (p *Process) Stop(t require.TestingT) {
	_ = p.Stdin.Close()
	select {
	case <-p.Exited:
	case <-time.After(Patience):
		require.FailNow(t, "the server does not end", "%s", p.Stderr)
	}
	require.NoError(t, p.Err, "%s", p.Stderr)
	require.NotContains(t, p.Stderr.String(), "DATA RACE")
}
