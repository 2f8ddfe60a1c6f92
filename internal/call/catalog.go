package call

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpchain/mcpchain/internal/safe"
)

const (
	// maxNames is how many tools a catalog knows at most.
	maxNames = 4096
	// lookEvery is how often names that are not known may have a server asked for its tools.
	lookEvery = time.Second
	// fresh is how long what was read of a schema holds.
	fresh = time.Minute
)

// A catalog knows the tools of the servers whose calls pass one middleware, so that the
// name that a caller sends can be told from one that it invented. It asks the server
// seldom, and what it holds is bounded, whatever callers send.
type catalog struct {
	entries sync.Map // of *entry by name
	count   atomic.Int32
	schemas Schemas
}

// An entry is what is known of a tool. Its fields do not change.
type entry struct {
	read   time.Duration // when its schema was read, zero if it was not
	schema *Schema
}

// known returns what is known of the name, nil if it is none of the server's.
func (k *catalog) known(name string) *entry {
	e, _ := k.entries.Load(name)
	known, _ := e.(*entry)
	return known
}

// add makes a name known, unless there is no room for it.
func (k *catalog) add(name string, e *entry) bool {
	if _, have := k.entries.Load(name); have {
		if e.read != 0 {
			k.entries.Store(name, e)
		}
		return true
	}
	if len(name) > maxName || k.count.Load() >= maxNames {
		return false
	}
	if _, have := k.entries.LoadOrStore(name, e); !have {
		k.count.Add(1)
	}
	return true
}

// find returns what is known of the tool that is called, nil if it is none of the
// server's. schema asks for its schema, too. A server is asked by one call at a time, at
// most once in lookEvery: until then a new name is not known.
func (k *catalog) find(c *Call, schema bool) *entry {
	name := Target(c.req)
	now := time.Since(epoch)
	have := k.known(name)
	if have != nil && (!schema || have.read != 0 && now-have.read < fresh) || !c.by.mayLook(now) {
		return have
	}
	for tool, err := range c.Tools() {
		if err != nil {
			if _, one := safe.As[*OneHandlerError](err); one && have == nil { // the SDK found the handler by this name
				k.add(name, &entry{})
			}
			break
		}
		e := &entry{}
		if schema {
			e.read, e.schema = now, k.schemas.Of(tool)
		}
		k.add(tool.Name, e)
	}
	return k.known(name)
}

// mayLook reports whether the handlers behind the opener may be asked for their tools now.
func (o *opener) mayLook(now time.Duration) bool {
	if o == nil {
		return false
	}
	last := o.looked.Load()
	return (last == 0 || now-time.Duration(last) >= lookEvery) && o.looked.CompareAndSwap(last, int64(now))
}
