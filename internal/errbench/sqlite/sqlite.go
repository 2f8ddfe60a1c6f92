// Package sqlite has an error like those of the drivers of SQLite.
package sqlite

import "fmt"

// An Error has the result code of SQLite.
type Error struct {
	code int
	text string
}

// Busy is what a driver returns if another connection holds the lock.
func Busy() error { return &Error{5, "database is locked"} }

// Code returns the result code.
func (e *Error) Code() int { return e.code }

// Error returns the text as drivers write it.
func (e *Error) Error() string { return fmt.Sprintf("%s (%d) (SQLITE_BUSY)", e.text, e.code) }
