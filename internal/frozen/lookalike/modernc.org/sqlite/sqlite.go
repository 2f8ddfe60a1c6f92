// Package sqlite has errors that look like those of the library of this path.
package sqlite

import "strconv"

// Error is an error with a number.
type Error struct{ Number int }

// Error returns the text.
func (e *Error) Error() string { return "number " + strconv.Itoa(e.Number) }

// Code returns the number.
func (e *Error) Code() int { return e.Number }
