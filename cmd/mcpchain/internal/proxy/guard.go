package proxy

import (
	"fmt"
	"log/slog"
	"runtime/debug"
)

// guard recovers from a panic of this program, records it, and calls then. A message of one client, or of one
// server, must not end the process for all. What it panicked with may hold a secret, and is not recorded. Defer it.
func (p *Proxy) guard(then func()) {
	if v := recover(); v != nil {
		p.Logger.Error("mcpchain panicked: please report it", slog.String("panic", fmt.Sprintf("%T", v)), slog.String("stack", string(debug.Stack()))) //nolint:forbidigo // once, before the end of the call
		then()
	}
}
