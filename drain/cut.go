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

// cut adds, to the failure of a call whose context Shutdown has ended, whether the call may
// be made again, unless package retry has done so. The failure is classified as cut where it
// is made, whatever the handler returned.
func cut(c *call.Call, next mcp.MethodHandler, res mcp.Result, err error) (mcp.Result, error) {
	f := c.Failure(res, err)
	if f == nil {
		return res, err
	}
	if f.Err() == nil { // a result that the tool made itself: only the text of its error is left
		text := failure.FirstText(f.Result().Content)
		if !strings.Contains(text, ErrShutdown.Error()) && !strings.Contains(text, context.Canceled.Error()) {
			return res, err
		}
		res, err = nil, errors.New(text)
		f = c.Failure(res, err)
	}
	if f.View().Says.By == classify.Cut && f.Fault().Kind() == fault.KindServiceUnavailable && !f.Guided() {
		answer := f.Again(failure.Situation{Safety: func() failure.Safety { return c.Safety(next) }})
		f.Guide(failure.Guidance{Retry: answer.Said()})
	}
	return res, err
}
