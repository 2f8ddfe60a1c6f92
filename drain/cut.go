package drain

import (
	"context"
	"errors"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/classify"
	"github.com/mcpchain/mcpchain/internal/failure"
)

// ended returns the outcome of a call whose context Shutdown has ended. If a tool reported its failure in
// a result of its own, only the text shows that the end of the context is the cause.
func ended(res mcp.Result, err error) (mcp.Result, error) {
	tool, ok := res.(*mcp.CallToolResult)
	if !ok || err != nil || !failure.IsError(res) || tool.GetError() != nil {
		return res, err
	}
	text := failure.FirstText(tool.Content)
	if !strings.Contains(text, ErrShutdown.Error()) && !strings.Contains(text, context.Canceled.Error()) {
		return res, err
	}
	return nil, errors.New(text)
}

// cut is the step of a call whose context Shutdown has ended. It says whether the call may be made again,
// unless package retry has said so.
type cut struct{}

func (cut) AtFailure(c *call.Call, f *failure.Failure, at call.Entry) {
	if c.WasCut() && f.View().Says.By == classify.Cut && f.Fault().Kind() == fault.KindServiceUnavailable && !f.Guided() {
		answer := f.Again(failure.Situation{Safety: func() failure.Safety { return c.Safety(at.Next) }})
		f.Guide(failure.Guidance{Retry: answer.Said()})
	}
}
