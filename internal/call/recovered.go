package call

import (
	"reflect"

	"github.com/mcpchain/mcpchain/internal/classify"
)

// Recovered returns the PanicError for a value that recover returned during this
// Call: the one that there is already when a middleware recovered the same panic
// and went on with it, and else a new one, as from [classify.NewPanicError].
func (c *Call) Recovered(value any, skip int) *classify.PanicError {
	cold := c.lock()
	defer c.mu.Unlock()
	if cold.panic == nil || !samePanic(cold.panic.Value, value) {
		cold.panic = classify.NewPanicError(value, skip+1)
	}
	return cold.panic
}

// samePanic reports whether b is a when it was raised again. Values that cannot be
// compared are the same when they share their memory.
func samePanic(a, b any) bool {
	va, vb := reflect.ValueOf(a), reflect.ValueOf(b)
	if !va.IsValid() || !vb.IsValid() || va.Type() != vb.Type() {
		return false
	}
	switch va.Kind() {
	case reflect.Slice, reflect.Map, reflect.Func:
		return va.Pointer() == vb.Pointer()
	case reflect.Float32, reflect.Float64:
		return a == b || a != a && b != b //nolint:gocritic // neither is a number
	default:
		if va.Comparable() && vb.Comparable() {
			return a == b
		}
		return reflect.DeepEqual(a, b)
	}
}
