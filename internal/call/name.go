package call

import "cmp"

// NoHandlerError is the panic of a middleware of ours that gets no handler. It is the name of the
// middleware's constructor, such as "limit.New", and empty where there is none.
type NoHandlerError string

// Error says what is wrong.
func (n NoHandlerError) Error() string {
	return cmp.Or(string(n), "mcpchain") + ": the middleware got a nil handler; give it the handler that it stands in front of"
}

// NameOf returns the name that all these middlewares have, and "" if one of them has another name or
// none, as a middleware that is not ours. A middleware is asked by giving it no handler, so that
// nothing of a user's runs for it but the middleware itself.
func NameOf(mw ...Middleware) (name string) {
	for i, m := range mw {
		if one := nameOf(m); i == 0 {
			name = one
		} else if one != name {
			return ""
		}
	}
	return name
}

func nameOf(mw Middleware) (name string) {
	defer func() {
		none, _ := recover().(NoHandlerError)
		name = string(none)
	}()
	mw(nil)
	return ""
}
