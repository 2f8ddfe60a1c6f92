package validate

import (
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/safe"
)

// Arguments marks an error as being about the arguments of the call, for a handler
// that checks them itself:
//
//	err := validate.Arguments(validator.Struct(in))
//
// Errors of go-playground/validator, encoding/json, strconv and time in it become
// violations, also where they could not be found in the arguments otherwise, and
// any other error the generic validation fault: its text is not shown. A nil error
// stays nil. A handler that words the fault itself returns one from fault.Invalid,
// or errors.Join of several, and needs no mark.
func Arguments(err error) error {
	if err == nil {
		return nil
	}
	return &argumentError{err}
}

type argumentError struct{ error }

func (e *argumentError) Unwrap() error { return e.error }

// PublicKind is what is told of the error where no middleware of this package stands.
func (e *argumentError) PublicKind() string { return string(fault.KindValidation) }

// handlerFault makes a fault of an error with which a handler refuses what it got.
// It returns nil when the error is not about the arguments. Nothing in such an error
// says whose value it complains of: a handler decodes the answers of others too.
// So, unless it is marked, it is about the arguments only where the value that it
// complains of stands in them.
func (r *room) handlerFault(f *call.Failure, args []byte, schemaOf func() *inputSchema) *fault.Error {
	if !f.Explainable() {
		return nil
	}
	return guarded(func() *fault.Error { // the errors are strangers'
		c := checks{}
		found := visit(f.Err(), c.add)
		switch {
		case c.marked && !found:
			return fault.Generic(fault.KindValidation)
		case !found, r.KeepHandlerErrors && !c.marked:
			return nil
		}
		return r.checksFault(&c, newPlaces(args, schemaOf()))
	})
}

// maxErrors bounds the walk through a stranger's tree of errors, which may have a
// cycle, in which errors.As would not end.
const maxErrors = 256

// visit shows an error and what it wraps to a function, the outermost first, and
// goes no deeper where the function reports true. It reports whether it ever did.
func visit(err error, found func(error) bool) bool {
	left := maxErrors
	var walk func(error) bool
	walk = func(err error) bool {
		for ; err != nil; err = errors.Unwrap(err) {
			if left--; left < 0 || safe.Nil(err) {
				return false
			}
			if found(err) {
				return true
			}
			if joined, ok := err.(interface{ Unwrap() []error }); ok {
				one := false
				for _, e := range joined.Unwrap() {
					one = walk(e) || one
				}
				return one
			}
		}
		return false
	}
	return walk(err)
}

// checks are the errors of checks that were found in an error.
type checks struct {
	marked bool // by Arguments
	found  []check
}

// A check is one error of a check: it makes the violation, given where the values
// of the arguments stand, and reports false when it is not about them.
type check func(p *places, marked bool) (fault.Violation, bool)

// add adds the checks that one error tells of, and reports whether there are any.
func (c *checks) add(err error) bool {
	switch e := err.(type) {
	case *argumentError:
		c.marked = true
		return false
	case *json.UnmarshalTypeError:
		c.found = append(c.found, typeCheck(e))
	case *json.SyntaxError:
		c.found = append(c.found, syntaxCheck(e))
	case *strconv.NumError:
		c.found = append(c.found, numberCheck(e))
	case *time.ParseError:
		c.found = append(c.found, timeCheck(e))
	default:
		found := fieldChecks(err)
		c.found = append(c.found, found...)
		return len(found) > 0
	}
	return true
}

// checksFault makes one fault of all the checks. Unless the error is marked, one of
// them that is not about the arguments is enough to leave the error alone.
func (r *room) checksFault(c *checks, p *places) *fault.Error {
	var violations []fault.Violation
	for _, check := range c.found {
		v, ok := check(p, c.marked)
		switch {
		case ok:
			violations = append(violations, r.shown(v, p))
		case !c.marked:
			return nil
		}
	}
	if len(violations) == 0 {
		return fault.Generic(fault.KindValidation)
	}
	return r.violationsFault(violations, len(violations), nil)
}

// shown takes from a violation a received value that must not be shown.
func (r *room) shown(v fault.Violation, p *places) fault.Violation {
	if v.Received == nil || !r.HideReceived && !p.secret(v.Pointer) {
		return v
	}
	v.Received = nil
	if v.Message = "Argument '" + v.Field + "' is not valid"; v.Expected != "" {
		v.Message = "Argument '" + v.Field + "' expected " + v.Expected
	}
	v.Message += "; the received value is not shown."
	return v
}
