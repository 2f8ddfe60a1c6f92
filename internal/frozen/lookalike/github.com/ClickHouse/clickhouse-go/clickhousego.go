// Package clickhouse has errors that look like those of the library of this path.
package clickhouse

import "strconv"

// Exception is an error with a number.
type Exception struct{ Code int32 } //nolint:errname // the name of the library

// Error returns the text.
func (e *Exception) Error() string { return "number " + strconv.Itoa(int(e.Code)) }
