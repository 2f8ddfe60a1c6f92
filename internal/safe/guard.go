package safe

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
)

// Call calls f, a function of the program's, and returns the value of its panic, and whether there was one. If f ends
// its goroutine with runtime.Goexit, Call does not return; exited is called then, unless it is nil.
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

// Ask asks a function of the program's about a name. One that panics says no.
func Ask(f func(string) bool, name string) (yes bool) {
	_, panicked := Call(func() { yes = f(name) }, nil)
	return yes && !panicked
}

// Survive ends a panic. It is deferred around untrusted code whose outcome nobody waits for, such as a log.
func Survive() { _ = recover() }

// JSON is json.Marshal for a value whose methods may panic.
func JSON(v any) (raw []byte, err error) {
	if _, panicked := Call(func() { raw, err = json.Marshal(v) }, nil); panicked {
		return nil, errMarshal
	}
	return raw, err
}

var errMarshal = errors.New("a MarshalJSON method panicked")

// Text calls a method that returns a text; a panic makes it "".
func Text(method func() string) (text string) {
	if _, panicked := Call(func() { text = method() }, nil); panicked {
		return ""
	}
	return text
}

// Format prints v with all that it tells, as %+v does, and does not print the text of a panic.
func Format(err error) (text string) {
	if _, panicked := Call(func() { text = fmt.Sprintf("%+v", err) }, nil); panicked {
		return Error(err)
	}
	return text
}

// LogValue resolves a value for the log. One whose LogValue panics is named by its type.
func LogValue(v slog.Value) (out slog.Value) {
	for range 8 {
		if v.Kind() != slog.KindLogValuer {
			return v
		}
		valuer := v.LogValuer()
		if _, panicked := Call(func() { v = valuer.LogValue() }, nil); panicked {
			return slog.StringValue(unprintable(valuer, "LogValue"))
		}
	}
	return slog.StringValue("<" + fmt.Sprintf("%T", v.Any()) + ": its LogValue method does not end>")
}

// Unwrap returns what err wraps, and nil if its method panics.
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

// As returns the first error of type T in the tree of err, as [Find] walks. Like errors.As it asks an As method.
func As[T error](err error) (target T, ok bool) {
	Find(err, func(err error) bool {
		if target, ok = err.(T); ok {
			return true
		}
		if a, asks := err.(interface{ As(any) bool }); asks {
			var asked T // apart, because its address leaves
			if ok = a.As(&asked); ok {
				target = asked
			}
		}
		return ok
	})
	return target, ok
}
