package classify

import "errors"

// ErrShutdown is drain.ErrShutdown, the cause of the end of the context of a call that the
// end of its server did not wait for.
var ErrShutdown = errors.New("drain: the server is shutting down")
