package call

import (
	"cmp"
	"reflect"
)

// NoHandlerError is the panic of a middleware of ours that gets no handler. It is the name of the
// middleware's constructor, such as "limit.New", and empty where there is none.
type NoHandlerError string

// Error says what is wrong.
func (n NoHandlerError) Error() string {
	return cmp.Or(string(n), "mcpchain") + ": the middleware got a nil handler; give it the handler that it stands in front of"
}

// Split returns a middleware that is made of two. [Halves] finds them, so that other middlewares may stand between.
func Split(name string, outer, inner Middleware) Middleware {
	return (&split{NoHandlerError(name), outer, inner}).around
}

// A split is what Split makes, and the NoHandlerError of it.
type split struct {
	NoHandlerError

	outer, inner Middleware
}

// around is the middleware.
func (s *split) around(next Handler) Handler {
	if next == nil {
		panic(s)
	}
	return s.outer(s.inner(next))
}

// NameOf returns the name that all these middlewares have, and "" if one of them has another name or
// none, as a middleware that is not ours. A middleware is asked by giving it no handler, so that
// nothing of a user's runs for it but the middleware itself.
func NameOf(mw ...Middleware) (name string) {
	for i, m := range mw {
		if one, _ := asked(m); i == 0 {
			name = string(one)
		} else if string(one) != name {
			return ""
		}
	}
	return name
}

// Halves returns the two middlewares that [Split] has put together. It is false if mw is another one, such as one
// that stands around them.
func Halves(mw Middleware) (outer, inner Middleware, ok bool) {
	if _, s := asked(mw); s != nil && reflect.ValueOf(mw).Pointer() == reflect.ValueOf(s.around).Pointer() {
		return s.outer, s.inner, true
	}
	return nil, nil, false
}

func asked(mw Middleware) (name NoHandlerError, halves *split) {
	defer func() {
		switch p := recover().(type) {
		case NoHandlerError:
			name = p
		case *split:
			name, halves = p.NoHandlerError, p
		}
	}()
	mw(nil)
	return "", nil
}
