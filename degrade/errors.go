package degrade

import "github.com/mcpchain/mcpchain/internal/safe"

// as returns the outermost error of a type, nil where there is none.
func as[E interface {
	error
	comparable
}](err error) (e E) {
	var none E
	safe.Find(err, func(err error) bool {
		e, _ = err.(E) //nolint:errorlint // Find unwraps
		return e != none
	})
	return e
}
