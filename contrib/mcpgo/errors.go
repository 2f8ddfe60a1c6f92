package mcpgo

import (
	"reflect"
	"slices"
)

// maxErrors is how many errors of a tree are looked at.
const maxErrors = 64

// tree returns the errors that err holds, the outermost first. The methods of a handler's own errors may
// panic, and such an error may hold itself: then it returns what it has found.
func tree(err error) (all []error) {
	defer func() { _ = recover() }()
	for next := []error{err}; len(next) > 0 && len(all) < maxErrors; {
		e := next[0]
		next = next[1:]
		if isNil(e) {
			continue
		}
		all = append(all, e)
		switch e := e.(type) { //nolint:errorlint // it walks the tree itself
		case interface{ Unwrap() error }:
			next = slices.Insert(next, 0, e.Unwrap())
		case interface{ Unwrap() []error }:
			next = slices.Insert(next, 0, e.Unwrap()...)
		}
	}
	return all
}

// held returns the outermost error of type T in the tree of err.
func held[T error](err error) (found T, ok bool) {
	for _, e := range tree(err) {
		if found, ok = e.(T); ok { //nolint:errorlint // it walks the tree itself
			return found, true
		}
	}
	return found, false
}

// texts returns what the innermost errors in the tree of err say.
func texts(err error) (all []string) {
	for _, e := range tree(err) {
		switch e.(type) { //nolint:errorlint // it walks the tree itself
		case interface{ Unwrap() error }, interface{ Unwrap() []error }:
		default:
			all = append(all, textOf(e))
		}
	}
	return all
}

// textOf returns the text of an error, "" if its method panics.
func textOf(err error) (text string) {
	defer func() { _ = recover() }()
	return err.Error()
}

// isNil reports whether v is nil or holds a nil pointer.
func isNil(v any) bool {
	value := reflect.ValueOf(v)
	return !value.IsValid() || value.Kind() == reflect.Pointer && value.IsNil()
}
