// Package mysql has errors that look like those of the library of this path.
package mysql

import "strconv"

// MySQLError is an error with a number and a state.
type MySQLError struct { //nolint:revive // the name of the library
	Number   uint16
	SQLState [5]byte
	Message  string
}

// Error returns the text.
func (e *MySQLError) Error() string { return "Error " + strconv.Itoa(int(e.Number)) + ": " + e.Message }
