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

// cut says of the failure of a call whose context Shutdown has ended whether the call may be
// made again, where package retry did not. That such a call was cut, whatever its handler
// says, is classified where its failure is made.
func cut(c *call.Call, next mcp.MethodHandler, res mcp.Result, err error) (mcp.Result, error) {
	f := c.Failure(res, err)
	if f == nil {
		return res, err
	}
	if f.Err() == nil { // a result of the tool's own: of an error its text is all that is left
		text := failure.FirstText(f.Result().Content)
		if !strings.Contains(text, ErrShutdown.Error()) && !strings.Contains(text, context.Canceled.Error()) {
			return res, err
		}
		res, err = nil, errors.New(text)
		f = c.Failure(res, err)
	}
	if f.View().Says.By == classify.Cut && f.Fault().Kind() == fault.KindServiceUnavailable && !f.Guided() {
		answer := f.Again(failure.Situation{Safety: func() failure.Safety { return c.Safety(next) }})
		f.Guide(failure.Guidance{Retry: answer.Said(), Step: answer.Step})
	}
	return res, err
}
