// Package sarama has errors that look like those of the library of this path.
package sarama

import "strconv"

// KError is a number that is an error.
type KError int16

// Error returns the text.
func (e KError) Error() string { return "number " + strconv.Itoa(int(e)) }
