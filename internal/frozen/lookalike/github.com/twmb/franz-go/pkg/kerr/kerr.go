// Package kerr has errors that look like those of the library of this path.
package kerr

import "strconv"

// Error is an error with a number.
type Error struct{ Code int16 }

// Error returns the text.
func (e *Error) Error() string { return "number " + strconv.Itoa(int(e.Code)) }
