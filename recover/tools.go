package recover

import (
	"sync"
	"weak"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// checkedTools remembers the tools that were marshalled once, because a tool must
// not change after it was added (see [mcp.Server.AddTool]) and its schemas are
// too large to marshal for every list. The keys are weak: a tool of a server that
// is gone is not kept.
var checkedTools = struct {
	sync.RWMutex
	ok map[weak.Pointer[mcp.Tool]]struct{}
}{ok: map[weak.Pointer[mcp.Tool]]struct{}{}}

// maxCheckedTools bounds the memory; when it is reached, everything is forgotten
// and checked again.
const maxCheckedTools = 4096

func checkTool(t *mcp.Tool) error {
	key := weak.Make(t)
	checkedTools.RLock()
	_, ok := checkedTools.ok[key]
	checkedTools.RUnlock()
	if ok {
		return nil
	}
	if err := checkValue("tool", t); err != nil {
		return err
	}
	checkedTools.Lock()
	defer checkedTools.Unlock()
	if len(checkedTools.ok) >= maxCheckedTools {
		clear(checkedTools.ok)
	}
	checkedTools.ok[key] = struct{}{}
	return nil
}
