package classify

import (
	"encoding/json"

	"github.com/mcpchain/mcpchain/fault"
)

// JSON is json.Marshal, but the panic of a MarshalJSON method, which is untrusted, becomes a
// [fault.PanicError].
func JSON(v any) (raw json.RawMessage, err error) {
	defer func() {
		if p := recover(); p != nil {
			raw, err = nil, fault.Panicked(p, 1)
		}
	}()
	return json.Marshal(v)
}
