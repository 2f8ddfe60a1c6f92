package batch

import (
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// NotifyWith returns what Notify does, with another way to send.
func NotifyWith(send func(Progress) error) func(Progress) { return (&notifier{send: send}).notify }

// ElementOptions returns what New makes of the Run options of a List.
func ElementOptions(list List) any { return *elementOptions(list) }

// ReadArguments returns the arguments of the items of a call of a list form.
func ReadArguments(list List, raw []byte) ([][]byte, error) {
	list.Advanced.MaxBytes = defaultMaxInputBytes
	f := &form{List: list}
	elements, args, err := f.read(raw)
	if err != nil {
		return nil, err
	}
	all := make([][]byte, len(elements))
	for i, e := range elements {
		all[i] = args.with(e)
	}
	return all, nil
}

// InputSchema returns the schema of a list form.
func InputSchema(list List, of any) ([]byte, error) { return (&form{List: list}).inputSchema(of) }

// KeptValue returns how many bytes are kept of the answer of an item.
func KeptValue(res *mcp.CallToolResult) int {
	f := &form{run: resolved("", elementOptions(List{}))}
	value, err := f.value(res, nil)
	if err != nil {
		panic(err)
	}
	raw, _ := value.(json.RawMessage)
	return len(raw)
}
