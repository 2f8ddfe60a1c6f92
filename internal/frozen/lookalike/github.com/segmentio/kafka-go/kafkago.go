// Package kafka has errors that look like those of the library of this path.
package kafka

import "strconv"

// Error is a number that is an error.
type Error int

// Error returns the text.
func (e Error) Error() string { return "number " + strconv.Itoa(int(e)) }
