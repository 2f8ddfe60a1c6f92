// Package retry has errors that look like those of the library of this path.
package retry

type unrecoverableError struct{ error }

// Unrecoverable marks an error.
func Unrecoverable(err error) error { return unrecoverableError{err} }

// Unwrap returns the cause.
func (e unrecoverableError) Unwrap() error { return e.error }
