// Package client has errors that look like those of the library of this path.
package client

type httpError struct {
	error
	errdef any
}

// New returns an error with a marker.
func New(err error, marker any) error { return &httpError{err, marker} }

// Unwrap returns the cause.
func (e *httpError) Unwrap() error { return e.error }

type errConnectionFailed struct{ error } //nolint:errname // the name of the library

// ConnectionFailed returns the error of a connection.
func ConnectionFailed(err error) error { return errConnectionFailed{err} }
