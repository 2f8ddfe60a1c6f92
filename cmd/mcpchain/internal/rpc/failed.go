package rpc

import "errors"

// A FailedError says that a request gets no answer. What comes after it can be read.
type FailedError struct {
	ID   ID    // of the request
	Err  error // what it fails with; [ErrUnsent] if it may be sent to the next run of the server
	Lost bool  // it was sent in a session that the server does not have: what only reads may be sent to the next run
}

func (e *FailedError) Error() string { return "rpc: the request gets no answer" }

// ErrUnsent says that a request was not sent, because the run of the server has ended.
var ErrUnsent = errors.New("the server has ended")
