package batch

import (
	"context"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/listform"
)

// RunTelling is Run with another way to send notifications.
func RunTelling[In, Out any](
	ctx context.Context, items []In, fn func(context.Context, In) (Out, error), opts *RunOptions[In], send func(done, total int, message string) error,
) *Result[Out] {
	o := resolved("", opts)
	b := newBatch(ctx, items, func(ctx context.Context, i int) (Out, error) { return fn(ctx, items[i]) }, &o)
	b.notify = func(_ context.Context, done, total int, message string) error { return send(done, total, message) }
	return b.run(ctx)
}

// RetryItems and CheckItems return what a caller sends again, and what it checks first.
func (r *Result[Out]) RetryItems() []any { return r.sent(sendAgain) }
func (r *Result[Out]) CheckItems() []any { return r.sent(checkFirst) }

func (r *Result[Out]) sent(next step) (items []any) {
	for i := range r.Items {
		if r.Items[i].next() == next {
			items = append(items, r.send(i))
		}
	}
	return items
}

// ElementOptions returns what New makes of the Run options of a List.
func ElementOptions(list List) any { return *elementOptions(list) }

// ReadArguments returns the arguments of the items of a call of a list form.
func ReadArguments(list List, raw []byte) ([][]byte, error) {
	elements, head, err := list.form().Read(raw)
	if err != nil {
		return nil, err
	}
	all := make([][]byte, len(elements))
	for i, e := range elements {
		all[i] = listform.Arguments(head, e)
	}
	return all, nil
}

// InputSchema returns the schema of a list form.
func InputSchema(list List, of any) ([]byte, error) { return list.form().InputSchema(of) }

// KeptValue returns how many bytes are kept of the answer of an item.
func KeptValue(res *mcp.CallToolResult) int {
	value, err := valueOf(res, List{}.form(), nil, defaultMaxBytes)
	if err != nil {
		panic(err)
	}
	raw, _ := value.(json.RawMessage)
	return len(raw)
}
