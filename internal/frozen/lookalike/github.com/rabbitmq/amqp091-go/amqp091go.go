// Package amqp091 has errors that look like those of the library of this path.
package amqp091

import "strconv"

// Error is an error with a number.
type Error struct{ Code int }

// Error returns the text.
func (e *Error) Error() string { return "number " + strconv.Itoa(e.Code) }
