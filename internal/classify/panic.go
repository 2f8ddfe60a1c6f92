package classify

import (
	"encoding/json"

	"github.com/mcpchain/mcpchain/fault"
)

// JSON is json.Marshal that turns the panic of an untrusted MarshalJSON method into a
// [fault.PanicError].
func JSON(v any) (raw json.RawMessage, err error) {
	defer func() {
		if p := recover(); p != nil {
			raw, err = nil, fault.Panicked(p, 1)
		}
	}()
	return json.Marshal(v)
}
