// Package connect has errors that look like those of the library of this path.
package connect

import (
	"net/http"
	"strconv"
)

// Code is that of an error.
type Code uint32

// Error is an error with a code.
type Error struct {
	Number Code
	Header http.Header
	Err    error
}

// Error returns the text.
func (e *Error) Error() string { return "code " + strconv.Itoa(int(e.Number)) }

// Code returns the code.
func (e *Error) Code() Code { return e.Number }

// Meta returns the header.
func (e *Error) Meta() http.Header { return e.Header }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }
