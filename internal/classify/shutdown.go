package classify

import "errors"

// ErrShutdown is drain.ErrShutdown: the cause when the server's shutdown ends the context
// of a call for which it did not wait.
var ErrShutdown = errors.New("drain: the server is shutting down")
