package degrade

import (
	"slices"

	"github.com/mcpchain/mcpchain/internal/safe"
)

// maxErrors bounds the walk through an error, which may have a cycle.
const maxErrors = 256

// find walks through err and what it wraps until found reports true, and reports
// whether it did. It does what errors.Is and errors.As do for a stranger's error, whose
// methods may panic, which would end the process in a goroutine of ours.
func find(err error, found func(error) bool) (yes bool) {
	defer func() {
		if recover() != nil {
			yes = false
		}
	}()
	left := maxErrors
	var walk func(error) bool
	walk = func(err error) bool {
		for err != nil && left > 0 {
			left--
			if found(err) {
				return true
			}
			switch e := err.(type) { //nolint:errorlint // this is what unwraps
			case interface{ Unwrap() []error }:
				return slices.ContainsFunc(e.Unwrap(), walk)
			case interface{ Unwrap() error }:
				err = e.Unwrap()
			default:
				return false
			}
		}
		return false
	}
	return walk(err)
}

// is does what errors.Is does.
func is(err, target error) bool {
	return find(err, func(err error) bool {
		if safe.Same(err, target) {
			return true
		}
		e, ok := err.(interface{ Is(error) bool })
		return ok && e.Is(target)
	})
}

// as returns the outermost error of a type, nil where there is none.
func as[E interface {
	error
	comparable
}](err error) (e E) {
	var none E
	find(err, func(err error) bool {
		e, _ = err.(E) //nolint:errorlint // find unwraps
		return e != none
	})
	return e
}
