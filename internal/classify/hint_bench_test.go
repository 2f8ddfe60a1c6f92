package classify_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"syscall"
	"testing"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/failure"
)

// statusError is an error of a client for an HTTP service.
type statusError int

func (e statusError) Error() string   { return fmt.Sprintf("status %d", int(e)) }
func (e statusError) StatusCode() int { return int(e) }

// BenchmarkHint is what a failure pays to be told apart.
func BenchmarkHint(b *testing.B) {
	deep := func(err error) error {
		for range 3 {
			err = fmt.Errorf("outer: %w", err)
		}
		return fmt.Errorf("outer: %w", errors.Join(errors.New("other"), err))
	}
	refused := &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	for _, c := range []struct {
		name string
		err  error
	}{
		{"deadline", context.DeadlineExceeded},
		{"refused", &url.Error{Op: "Get", Err: refused}},
		{"joined, 5 deep, status", deep(statusError(503))},
		{"joined, 5 deep, refused", deep(refused)},
		{"joined, 5 deep, unknown", deep(errors.New("unknown"))},
		{"joined, 5 deep, file", deep(&fs.PathError{Err: syscall.ENOENT})},
		{"fault", fault.Unavailable("the shop").Because(statusError(503))},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				failure.HintOf(c.err)
			}
		})
	}
}

// BenchmarkClassify is what a failure pays to be told apart, with its public text.
func BenchmarkClassify(b *testing.B) {
	err := fmt.Errorf("outer: %w", errors.Join(errors.New("other"), fmt.Errorf("inner: %w", &url.Error{Err: statusError(503)})))
	b.ReportAllocs()
	for b.Loop() {
		_ = failure.Classify(err)
	}
}
