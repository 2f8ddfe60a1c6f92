// Package redis has errors that look like those of the library of this path.
package redis

// Error is an answer of the server.
type Error string

// Error returns the text.
func (e Error) Error() string { return string(e) }
