package rpc

// A FailedError says that a request gets no answer. What comes after it can be read.
type FailedError struct {
	ID    ID    // of the request
	Err   error // what it fails with; nil if Again is set
	Again bool  // nothing was done of it: it may be sent to the next run of the server
}

func (e *FailedError) Error() string { return "rpc: the request gets no answer" }
