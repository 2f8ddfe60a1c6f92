package rpc

// A FailedError says that a request gets no answer. What comes after it can be read.
type FailedError struct {
	ID    ID    // of the request
	Err   error // what it fails with; nil if Again is set
	Again bool  // it was not sent: it may be sent to the next run of the server
	Lost  bool  // it was sent in a session that the server does not have: what only reads may be sent to the next run
}

func (e *FailedError) Error() string { return "rpc: the request gets no answer" }
