package main

import (
	"errors"
	"testing"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/mcptest"
)

// TestLocked follows the advice of a failure, in both versions of the protocol.
func TestLocked(t *testing.T) {
	for _, version := range []string{mcptest.Current, mcptest.Older} {
		s := mcptest.Start(t, newServer(), &mcptest.Options{Version: version})

		res, err := s.Call("pay", map[string]any{"amount": 5})

		mcptest.Expect{Kind: fault.KindPreconditionFailed, Steps: []string{"unlock"}}.Check(t, res, err)
		failure := mcptest.Failure(t, res, err)
		mcptest.ExecutableSteps(t, s, failure)
		step := failure.Data().RecoverySteps[0]
		if _, err := s.Call(step.Tool, step.Parameters); err != nil {
			t.Fatal(err)
		}
		if res, err := s.Call("pay", map[string]any{"amount": 5}); err != nil || res.IsError {
			t.Errorf("the advice does not help: %s", mcptest.Text(res, err))
		}
		mcptest.Legal(t, s)
	}
}

// TestTooMuch compares what a model reads with testdata/too-much.golden.
func TestTooMuch(t *testing.T) {
	s := mcptest.Start(t, newServer(), nil)
	_, _ = s.Call("unlock", nil)
	mcptest.Golden(t, "too-much", mcptest.Text(s.Call("pay", map[string]any{"amount": 500})))
}

// TestNothingLeaves lets every call fail with what must not leave.
func TestNothingLeaves(t *testing.T) {
	for name, failure := range map[string]mcptest.Injection{
		"error": {Error: errors.New("dial postgres://bank:hunter2@10.0.0.7")},
		"panic": {Panic: "hunter2 at 10.0.0.7"},
		"nil":   {Nil: true},
		"NaN":   {NaN: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := mcptest.Start(t, newServer(mcptest.Inject(t, failure)), nil)

			res, err := s.Call("pay", map[string]any{"amount": 5})

			mcptest.Expect{Kind: fault.KindInternal}.Check(t, res, err)
			mcptest.NoLeak(t, s, "hunter2", "10.0.0.7")
		})
	}
}
