// Package mssql has errors that look like those of the library of this path.
package mssql

import "strconv"

// Error is an error with a number.
type Error struct{ Number int32 }

// Error returns the text.
func (e Error) Error() string { return "number " + strconv.Itoa(int(e.Number)) }
