package safe

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
)

// Call calls f, a function of the program's own. It returns the value of its panic, and whether it
// panicked. If f ends its goroutine with runtime.Goexit, Call does not return; it calls exited
// first, unless that is nil.
func Call(f, exited func()) (p any, panicked bool) {
	ended := false
	defer func() {
		if ended {
			return
		}
		if p = recover(); p != nil {
			panicked = true
		} else if exited != nil {
			exited()
		}
	}()
	f()
	ended = true
	return nil, false
}

// Ask returns f(name) for a function of the program's own, false if f panics.
func Ask(f func(string) bool, name string) (yes bool) {
	_, panicked := Call(func() { yes = f(name) }, nil)
	return yes && !panicked
}

// Survive recovers a panic. Defer it around untrusted code whose failure has no consequence, such
// as a log.
func Survive() { _ = recover() }

// JSON is json.Marshal for a value whose methods may panic.
func JSON(v any) (raw []byte, err error) {
	if _, panicked := Call(func() { raw, err = json.Marshal(v) }, nil); panicked {
		return nil, errors.New("a MarshalJSON method panicked")
	}
	return raw, err
}

// Text returns the text of a method, "" if it panics.
func Text(method func() string) (text string) {
	if _, panicked := Call(func() { text = method() }, nil); panicked {
		return ""
	}
	return text
}

// Format prints err as %+v does, but does not print the text of a panic.
func Format(err error) (text string) {
	if _, panicked := Call(func() { text = fmt.Sprintf("%+v", err) }, nil); panicked {
		return Error(err)
	}
	return text
}

// LogValue resolves a value for the log. If its LogValue method panics, it returns the name of the
// type.
func LogValue(v slog.Value) (out slog.Value) {
	for range 8 {
		if v.Kind() != slog.KindLogValuer {
			return v
		}
		valuer := v.LogValuer()
		if _, panicked := Call(func() { v = valuer.LogValue() }, nil); panicked {
			return slog.StringValue(placeholder(valuer, "LogValue"))
		}
	}
	return slog.StringValue("<" + fmt.Sprintf("%T", v.Any()) + ": its LogValue method does not end>")
}

// Unwrap returns the errors that err wraps, nil if its method panics.
func Unwrap(err error) (inner []error) {
	Call(func() {
		switch e := err.(type) {
		case interface{ Unwrap() error }:
			inner = []error{e.Unwrap()}
		case interface{ Unwrap() []error }:
			inner = e.Unwrap()
		}
	}, nil)
	return inner
}

// As returns the first error of type T in the tree of err, as [Find] walks. Like errors.As it calls
// As methods.
func As[T error](err error) (target T, ok bool) {
	Find(err, func(err error) bool {
		if target, ok = err.(T); ok {
			return true
		}
		if a, asks := err.(interface{ As(any) bool }); asks {
			var asked T // a variable of its own, because its address escapes
			if ok = a.As(&asked); ok {
				target = asked
			}
		}
		return ok
	})
	return target, ok
}
