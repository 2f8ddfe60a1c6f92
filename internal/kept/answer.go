package kept

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/sink"
)

// An Answer is the answer of a call; exactly one field is set.
type Answer struct {
	Result json.RawMessage `json:"r,omitempty"`
	Fault  *fault.Error    `json:"f,omitempty"`
	Wire   *jsonrpc.Error  `json:"w,omitempty"`
}

// Ended returns the record with the answer of a call of a tool.
func (e *Entry) Ended(c *call.Call, res mcp.Result, err error) *Record {
	rec := &Record{Done: true}
	tool, _ := res.(*mcp.CallToolResult)
	f := c.End(res, err)
	if f != nil {
		rec.Call = c.ID()
	}
	switch {
	case f == nil || (err == nil && tool.GetError() == nil):
		raw, err := JSON(c, tool)
		if err != nil {
			sink.Log(c, e.log, slog.LevelWarn, notKept, slog.Any("error", err))
			return rec
		}
		rec.Answer = &Answer{Result: raw}
	case f.Wire() != nil:
		rec.Answer = &Answer{Wire: f.Wire()}
	default:
		rec.Answer = &Answer{Fault: f.Fault()}
	}
	return rec
}

// Reply returns the answer of a record, which has one, to another call: a result that may be changed, or an error.
func (k *Keeper) Reply(c *call.Call, rec Record) (*mcp.CallToolResult, error) {
	switch {
	case rec.Answer.Wire != nil:
		return nil, rec.Answer.Wire
	case rec.Answer.Fault != nil:
		return nil, rec.Answer.Fault.Because(fmt.Errorf("%s: the answer of the call with the reference %s", k.Package, rec.Call))
	}
	if o := OutsideOf(c); o != nil {
		res := o.Read(rec.Answer.Result)
		if res.Meta == nil {
			res.Meta = mcp.Meta{}
		}
		return res, nil
	}
	var first mcp.CallToolResult
	var exact struct { // of which the SDK rounds numbers
		StructuredContent json.RawMessage `json:"structuredContent"`
		Meta              mcp.Meta        `json:"_meta"`
	}
	numbers := json.NewDecoder(bytes.NewReader(rec.Answer.Result))
	numbers.UseNumber()
	if err := errors.Join(json.Unmarshal(rec.Answer.Result, &first), numbers.Decode(&exact)); err != nil {
		return nil, k.Unavailable(fmt.Errorf("an answer cannot be read: %w", err))
	}
	first.Meta = exact.Meta
	if exact.StructuredContent != nil {
		first.StructuredContent = exact.StructuredContent
	}
	res := call.NewResult(c.Request())
	res.Meta, res.IsError, res.Content, res.StructuredContent = first.Meta, first.IsError, first.Content, first.StructuredContent
	if res.Meta == nil {
		res.Meta = mcp.Meta{}
	}
	return res, nil
}
