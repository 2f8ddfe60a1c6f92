// Package child runs the process of a server over stdio, with all that it starts: the whole process
// group ends with it, and with this process, however that ends.
package child

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"time"
)

// A Command says what is started.
type Command struct {
	Args   []string  // the program and its arguments
	Env    []string  // nil means the environment of this process
	Stderr io.Writer // gets what the process writes to its standard error
}

// A Process is a server that was started. All methods may be called concurrently.
type Process struct {
	In  io.WriteCloser // its standard input
	Out io.ReadCloser  // its standard output; it ends soon after the process

	cmd     *exec.Cmd
	out     *os.File
	release func() // ends the guard of the group, which ends it when this process was killed

	ended chan struct{}
}

// Start starts a process in a process group of its own: the interrupt of a terminal reaches it only by way of this
// process. The error of a program that cannot be started is an [UnstartedError].
func Start(c Command) (*Process, error) {
	if len(c.Args) == 0 {
		return nil, errors.New("child: there is no command")
	}
	pipes := make([]*os.File, 0, 6)
	closeAll := func() {
		for _, f := range pipes {
			_ = f.Close()
		}
	}
	for range 3 {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll()
			return nil, err
		}
		pipes = append(pipes, r, w)
	}
	inR, inW, outR, outW, errR, errW := pipes[0], pipes[1], pipes[2], pipes[3], pipes[4], pipes[5]
	cmd := exec.CommandContext(context.Background(), c.Args[0], c.Args[1:]...) //nolint:gosec // to run it is what the program is for
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Env, inR, outW, errW
	ownGroup(cmd)
	if err := cmd.Start(); err != nil {
		closeAll()
		return nil, unstarted(c.Args, err)
	}
	_ = inR.Close()
	_ = outW.Close()
	_ = errW.Close()
	p := &Process{In: inW, cmd: cmd, out: outR, ended: make(chan struct{})}
	p.Out = output{p}
	p.release = guarded(cmd)
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		_, _ = io.Copy(c.Stderr, errR)
	}()
	go p.wait(copied, errR)
	return p, nil
}

// lingering is how long the pipes of an ended process may stay open. Something that left its group may have them,
// too.
const lingering = 500 * time.Millisecond

func (p *Process) wait(copied <-chan struct{}, stderr io.Closer) {
	_ = p.cmd.Wait() // its state says how it ended
	killGroup(p.cmd)
	p.release()
	select {
	case <-copied:
	case <-time.After(lingering):
	}
	_ = stderr.Close()
	close(p.ended)
	_ = p.out.SetReadDeadline(time.Now().Add(lingering)) // for a Read that waits already
}

// output is what a process writes. After its end no Read waits for what has left its group. What it wrote before can
// still be read.
type output struct{ p *Process }

func (o output) Read(b []byte) (int, error) {
	select {
	case <-o.p.ended:
		_ = o.p.out.SetReadDeadline(time.Now().Add(lingering))
	default:
	}
	return o.p.out.Read(b)
}

func (o output) Close() error { return o.p.out.Close() }

// Ended returns a channel that is closed when the process has ended, and its group with it.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// Status returns the exit status of a process that has ended: 128 and the number of a signal if one
// ended it.
func (p *Process) Status() int { return status(p.cmd.ProcessState) }

// How says how a process has ended: "exit status 1", "signal: killed".
func (p *Process) How() string { return p.cmd.ProcessState.String() }

// PID returns the ID of the process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Kill ends the process group at once.
func (p *Process) Kill() { p.signal(killGroup) }

// signal does nothing after the end, when another group may have the ID.
func (p *Process) signal(send func(*exec.Cmd)) {
	select {
	case <-p.ended:
	default:
		send(p.cmd)
	}
}

// Stop ends a process. It has the time of grace to end by itself, as the protocol wants after the end of its input.
// Then it is asked to end, and a second later its group is killed. Stop returns when the process has ended. A second
// call may be in more of a hurry than the first.
func (p *Process) Stop(grace time.Duration) {
	if !p.within(grace) {
		p.signal(endGroup)
		if !p.within(time.Second) {
			p.Kill()
		}
	}
	<-p.ended
}

func (p *Process) within(d time.Duration) bool {
	if d <= 0 {
		return false
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-p.ended:
		return true
	case <-timer.C:
		return false
	}
}
