//go:build unix

package proxy

import (
	"io"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/internal/call"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/rpc"
)

// What explains a failure goes by what was listed a moment ago, and a guard never does. Neither goes by what
// another caller was shown.
func TestAGuardAsksAnew(t *testing.T) {
	p := New(Options{Chain: func(next mcp.MethodHandler) mcp.MethodHandler { return next }, Out: rpc.NewWriter(io.Discard)})
	defer p.finish()
	req := &mcp.ListToolsRequest{Params: &mcp.ListToolsParams{}}
	first, err := p.look(call.MethodListTools, req, "ada", false)
	require.NoError(t, err)
	joined, err := p.look(call.MethodListTools, req, "ada", true)
	require.NoError(t, err)
	require.Same(t, first, joined, "while it is asked, all share the question")
	other, err := p.look(call.MethodListTools, req, "bob", false)
	require.NoError(t, err)
	require.NotSame(t, first, other)

	answered := &look{done: make(chan struct{})}
	close(answered.done)
	p.mu.Lock()
	for key, l := range p.looks {
		if l == first {
			p.looks[key] = answered
		}
	}
	p.mu.Unlock()
	again, err := p.look(call.MethodListTools, req, "ada", false)
	require.NoError(t, err)
	require.Same(t, answered, again)
	guard, err := p.look(call.MethodListTools, req, "ada", true)
	require.NoError(t, err)
	require.NotSame(t, answered, guard)
}

// A slowServer takes some time for each list.
type slowServer struct {
	asked chan *rpc.Message
	ended chan struct{}
	lists int
}

func (s *slowServer) Write(m *rpc.Message) error {
	s.asked <- m
	return nil
}

func (s *slowServer) Next() (*rpc.Message, error) {
	select {
	case m := <-s.asked:
		s.lists++
		time.Sleep(50 * time.Millisecond)
		return rpc.Answered(m.ID, []byte(`{"tools":[]}`)), nil
	case <-s.ended:
		return nil, io.EOF
	}
}

func (s *slowServer) EndInput()              {}
func (s *slowServer) Ended() <-chan struct{} { return s.ended }
func (s *slowServer) How() string            { return "" }
func (s *slowServer) Status() int            { return 0 }
func (s *slowServer) Stop(time.Duration)     { s.Kill() }
func (s *slowServer) Kill()                  { close(s.ended) }
func (s *slowServer) Close()                 {}

// A server whose calls fail all the time is not kept busy with its lists.
func TestALongListIsAskedForLess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slowServer{asked: make(chan *rpc.Message), ended: make(chan struct{})}
		p := New(Options{
			Chain: func(next mcp.MethodHandler) mcp.MethodHandler { return next }, Out: rpc.NewWriter(io.Discard), Logger: slog.New(slog.DiscardHandler),
			Start: func() (Server, error) { return s, nil },
		})
		defer p.finish()
		up, err := p.start()
		require.NoError(t, err)
		p.publish(up)
		req := &mcp.ListToolsRequest{Params: &mcp.ListToolsParams{}}
		for range 1000 {
			l, err := p.look(call.MethodListTools, req, "", false)
			require.NoError(t, err)
			<-l.done
			time.Sleep(10 * time.Millisecond)
		}
		require.LessOrEqual(t, s.lists, 11)
		require.Greater(t, s.lists, 5, "but it is asked again")
		s.Kill()
		<-up.ended
	})
}
