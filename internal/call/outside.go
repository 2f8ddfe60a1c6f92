package call

import (
	"context"
	"log/slog"
	"reflect"
	"runtime"
	"strings"
)

// Outermost reports whether none of the program's own middlewares stands outside the
// middleware that opened this Call, so that the list of the opener's handler is the list
// that the caller may see. It reads the stack, so use it for failures only. It reports
// false if it cannot know, because a middleware in between went on in another goroutine.
func (c *Call) Outermost() bool {
	outside, received := opened(selects)
	return outside == "" && received
}

// WarnOfOutside writes a warning if a function of the program's own stands outside the
// middleware that opened the Call: errors that this function makes are not masked.
func (c *Call) WarnOfOutside(ctx context.Context, logger *slog.Logger) {
	if outside, received := opened(isOurs); outside != "" && received {
		Warn(ctx, logger, "a middleware stands outside of mask, and the errors that it makes itself are sent as they are; "+
			"add it before, or give it to mcpchain.Standard as an inner one", slog.String("function", outside))
	}
}

// opened reads the stack of a function that a Call runs. It returns the innermost
// function outside the Call's opener for which skip is false, "" if there is only the
// SDK, and whether the SDK received the call in this goroutine.
func opened(skip func(function string) bool) (outside string, received bool) {
	const enough = 1024 // frames
	pcs := make([]uintptr, 64)
	n := runtime.Callers(2, pcs)
	for n == len(pcs) && n < enough {
		pcs = make([]uintptr, 2*len(pcs))
		n = runtime.Callers(2, pcs)
	}
	opened := false
	for frames := runtime.CallersFrames(pcs[:n]); ; {
		f, more := frames.Next()
		switch {
		case !opened:
			opened = f.Function == openFunction // the innermost one is this Call's
		case strings.HasPrefix(f.Function, sdkPath+"."):
			return outside, true
		case outside == "" && !skip(f.Function):
			outside = f.Function
		}
		if !more {
			return outside, false
		}
	}
}

// selects reports whether a function belongs to a package that only selects the calls a
// middleware applies to, such as middleware.ForMethods, or that only observes.
func selects(function string) bool {
	return strings.HasPrefix(function, ownPrefix) || strings.HasPrefix(function, modulePath+"middleware.") ||
		strings.HasPrefix(function, modulePath+"contrib/otel.")
}

// isOurs reports whether a function is mcpchain's: failures of such functions are
// rendered with the settings of the middlewares inside. Its tests and examples count as
// programs.
func isOurs(function string) bool {
	return strings.HasPrefix(function, modulePath) && !strings.HasPrefix(function, modulePath+"examples/") && !strings.Contains(function, "_test.")
}

var (
	modulePath   = strings.TrimSuffix(ownPrefix, "internal/call.")
	ownPrefix    = strings.TrimSuffix(openFunction, "(*opener).open")
	openFunction = functionName((*opener).open)
)

// functionName returns the name that a function has in a stack.
func functionName(f any) string {
	return runtime.FuncForPC(reflect.ValueOf(f).Pointer()).Name()
}
