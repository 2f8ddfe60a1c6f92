package probe

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/proxy"
	"github.com/mcpchain/mcpchain/internal/words"
)

const (
	// maxLine bounds what is read as one message. What is longer is read on, and forgotten.
	maxLine = 64 << 20
	// maxStderr is how much of the end of a server's standard error is kept.
	maxStderr = 16 << 10
)

// A child is a wire to a server in a process of its own, with a process group of its own.
type child struct {
	o      *Options
	cmd    *exec.Cmd
	queue  chan []byte
	read   *os.File
	write  *os.File
	whole  sync.Mutex // held while a line is written, so that no other one stands in it
	exited chan struct{}
	ended  chan struct{} // closed when nothing is read any more
	stderr tail
	cut    atomic.Bool // the check has ended the server, or its reading
}

// startChild starts a command. Each line that it writes is given to receive, and what it writes to standard error to
// logged. Nothing is read before hold is closed, unless it is nil.
func startChild(o *Options, receive, logged func(line []byte), hold <-chan struct{}) (*child, error) {
	c := &child{
		o:      o,
		cmd:    exec.CommandContext(context.WithoutCancel(context.Background()), o.Command[0], o.Command[1:]...), //nolint:gosec // the user names the command
		queue:  make(chan []byte, 4096),
		exited: make(chan struct{}),
		ended:  make(chan struct{}),
		stderr: tail{logged: logged},
	}
	c.cmd.Env = append(os.Environ(), planted...)
	c.cmd.Stderr = &c.stderr
	c.cmd.WaitDelay = 500 * time.Millisecond // something below it may hold standard error open
	ownGroup(c.cmd)
	stdin, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	read, stdout, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, stdin.Close(), write.Close())
	}
	c.cmd.Stdin, c.cmd.Stdout, c.read, c.write = stdin, stdout, read, write
	started := make(chan error)
	go func() {
		// Linux ends the child with the thread that started it.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := c.cmd.Start()
		_, _ = stdin.Close(), stdout.Close()
		if err != nil {
			started <- err
			return
		}
		begun(c.cmd)
		started <- nil
		_ = c.cmd.Wait() // ProcessState says it
		close(c.exited)
	}()
	if err := <-started; err != nil {
		return nil, errors.Join(err, read.Close(), write.Close())
	}
	go c.writeLines()
	go func() {
		defer close(c.ended)
		if hold != nil {
			<-hold
		}
		readLines(read, func(line []byte) {
			if c.cut.Load() && !bytes.HasSuffix(line, []byte{'\n'}) {
				return // the check itself has cut it
			}
			receive(line)
		})
	}()
	return c, nil
}

func (c *child) writeLines() {
	for line := range c.queue {
		if line == nil {
			break
		}
		c.whole.Lock()
		_, err := c.write.Write(line)
		c.whole.Unlock()
		if err != nil {
			break // the server has gone, which is seen elsewhere
		}
	}
	_ = c.write.Close()
}

// readLines reads lines until there are no more.
func readLines(from io.Reader, receive func(line []byte)) {
	in := bufio.NewReaderSize(from, 64<<10)
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		if len(line)+len(part) <= maxLine {
			line = append(line, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if len(bytes.TrimSpace(line)) > 0 {
			receive(line)
		}
		line = nil
		if err != nil {
			return
		}
	}
}

// send implements [wire]. A server that has left thousands of messages unread does not get more.
func (c *child) send(line []byte, _ func(status int, body []byte)) {
	select {
	case c.queue <- append(bytes.Clone(line), '\n'):
	default:
	}
}

// sendSlowly writes a line in parts, with a pause behind each.
func (c *child) sendSlowly(line []byte, pause time.Duration) {
	c.whole.Lock()
	defer c.whole.Unlock()
	for len(line) > 0 {
		n := min(len(line), 1+len(line)/3)
		if _, err := c.write.Write(line[:n]); err != nil {
			return // the server has gone, which is seen elsewhere
		}
		line = line[n:]
		time.Sleep(pause)
	}
}

// gone implements [wire].
func (c *child) gone() <-chan struct{} { return c.exited }

// how says how the server ended. It has ended.
func (c *child) how() string {
	text := c.cmd.ProcessState.String()
	if cause := c.stderr.cause(c.cmd.ProcessState.Success(), c.o.hidden); cause != "" {
		text += "; standard error: " + cause
	}
	return text
}

// hangUp closes the server's standard input, when what was sent has been written.
func (c *child) hangUp() {
	select {
	case c.queue <- nil:
	case <-c.exited:
	case <-time.After(endLimit): // nothing is read: what follows finds out
	}
}

// stopReading closes the server's standard output.
func (c *child) stopReading() {
	c.cut.Store(true)
	_ = c.read.Close()
	<-c.ended // a read that has not returned keeps the pipe open
}

// kill ends the server and all that it has started.
func (c *child) kill() {
	c.cut.Store(true)
	killGroup(c.cmd)
	select {
	case <-c.exited:
	case <-time.After(3 * time.Second): // the system does not let go of it
	}
	_ = c.read.Close()
	_ = c.write.Close()
}

// A tail keeps the end of what is written to it. It shows that end each time to logged.
type tail struct {
	mu     sync.Mutex
	buf    []byte
	logged func(end []byte)
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	t.logged(t.buf) // before it is cut
	if over := len(t.buf) - maxStderr; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
	return len(p), nil
}

// cause returns the line that names why the server ended, as hide leaves it. What it wrote last is none if it ended
// in order.
func (t *tail) cause(inOrder bool, hide func([]byte) []byte) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := string(t.buf)
	if len(t.buf) == maxStderr {
		_, text, _ = strings.Cut(text, "\n") // the first line may be a part of one
	}
	cause, named := proxy.Cause(text)
	if inOrder && !named {
		return ""
	}
	return clip(words.Line(string(hide([]byte(cause)))), 200)
}

func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return fmt.Sprintf("%s ... (%d bytes)", strings.ToValidUTF8(text[:most], ""), len(text))
}
