package recover

import (
	"runtime"
	"sync"
	"weak"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// checkedTools remembers the tools that were marshalled once, because a tool must
// not change after it was added (see [mcp.Server.AddTool]): without it every list of
// tools would be marshalled twice. The keys are weak, and a tool that is gone takes its
// entry with it, so the table is as large as the tools that there are.
var checkedTools sync.Map // weak.Pointer[mcp.Tool] to struct{}

func checkTool(t *mcp.Tool) error {
	key := weak.Make(t)
	if _, ok := checkedTools.Load(key); ok {
		return nil
	}
	if err := checkValue("tool", t); err != nil {
		return err
	}
	if _, loaded := checkedTools.LoadOrStore(key, struct{}{}); !loaded {
		runtime.AddCleanup(t, func(key weak.Pointer[mcp.Tool]) { checkedTools.Delete(key) }, key)
	}
	return nil
}
