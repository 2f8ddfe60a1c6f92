// Package sqlite3 has errors that look like those of the library of this path.
package sqlite3

import "strconv"

// ErrNo is a number of an error.
type ErrNo int

// ErrNoExtended is an extended one.
type ErrNoExtended int

// Error is an error with two numbers.
type Error struct {
	Code         ErrNo
	ExtendedCode ErrNoExtended
}

// Error returns the text.
func (e Error) Error() string { return "number " + strconv.Itoa(int(e.ExtendedCode)) }
