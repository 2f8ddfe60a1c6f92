package proxy

import (
	"log/slog"
	"time"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/child"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/rpc"
)

// A Server is one run of a server: a process, or a session over HTTP. One goroutine calls Write and
// EndInput, one calls Next; the others may be called concurrently.
type Server interface {
	// Write sends a message. [rpc.ErrUnsent] says that a request was not sent. What else becomes of it is an error of
	// Next, or the end.
	Write(m *rpc.Message) error

	// EndInput says that no more messages come.
	EndInput()

	// Next returns the next message. The error is a *[rpc.TooLongError], a *[rpc.RefusedError], a
	// *[rpc.FailedError], or the end of the run, which Ended tells soon.
	Next() (*rpc.Message, error)

	Ended() <-chan struct{}
	How() string // it has ended
	Status() int // the exit status, of what has ended

	// Stop ends the run within a moment after the time of grace, and returns when it has ended.
	// Kill ends it at once.
	Stop(grace time.Duration)
	Kill()

	// Close releases what is left of a run that has ended.
	Close()
}

// beginRun begins a run of the server.
func (p *Proxy) beginRun() (Server, error) {
	if p.Start != nil {
		return p.Start()
	}
	c, err := child.Start(child.Command{Args: p.Command, Env: p.Env, Stderr: p.stderr})
	if err != nil {
		return nil, err
	}
	p.Logger.Info("the server runs", slog.Int("pid", c.PID()))
	return &process{Process: c, Messages: rpc.NewMessages(c.Out, p.MaxAnswer), to: rpc.NewWriter(c.In)}, nil
}

// A process is a Server that was started, over stdio.
type process struct {
	*child.Process
	*rpc.Messages

	to *rpc.Writer
}

func (p *process) Write(m *rpc.Message) error { return p.to.Write(m) }

func (p *process) EndInput() { _ = p.In.Close() }

func (p *process) Close() {
	_ = p.Out.Close()
	_ = p.In.Close()
}
