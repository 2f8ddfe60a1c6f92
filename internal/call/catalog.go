package call

import (
	"time"

	"github.com/mcpchain/mcpchain/internal/safe"
	"github.com/mcpchain/mcpchain/internal/secrets"
	"github.com/mcpchain/mcpchain/internal/table"
)

const (
	// lookEvery is how often names that are not known may have a server asked for its tools.
	lookEvery = time.Second
	// fresh is how long what was read of a schema holds.
	fresh = time.Minute
)

// A catalog knows the tools of the servers whose calls pass one middleware, so that the
// name that a caller sends can be told from one that it invented. It asks the server
// seldom, and what it holds is bounded, whatever callers send.
type catalog struct {
	entries table.Names[entry]
	schemas secrets.Schemas
}

// An entry is what is known of a tool.
type entry struct {
	read   time.Duration // when its schema was read, zero if it was not
	schema *secrets.Schema
}

// add makes a name known, unless there is no room for it.
func (k *catalog) add(name string, e entry) bool {
	if _, have := k.entries.Get(name); have && e.read == 0 {
		return true
	}
	return len(name) <= maxName && k.entries.Add(name, e)
}

// find returns what is known of the tool that is called, and false if it is none of the
// server's. schema asks for its schema, too. A server is asked by one call at a time, at
// most once in lookEvery: until then a new name is not known.
func (k *catalog) find(c *Call, schema bool) (entry, bool) {
	name := Target(c.req)
	now := time.Since(epoch)
	have, known := k.entries.Get(name)
	if known && (!schema || have.read != 0 && now-have.read < fresh) || !c.by.mayLook(now) {
		return have, known
	}
	for tool, err := range c.Tools() {
		if err != nil {
			if _, one := safe.As[*OneHandlerError](err); one && !known { // the SDK found the handler by this name
				k.add(name, entry{})
			}
			break
		}
		e := entry{}
		if schema {
			e = entry{now, k.schemas.Of(tool)}
		}
		k.add(tool.Name, e)
	}
	return k.entries.Get(name)
}

// mayLook reports whether the handlers behind the opener may be asked for their tools now.
func (o *opener) mayLook(now time.Duration) bool {
	if o == nil {
		return false
	}
	last := o.looked.Load()
	return (last == 0 || now-time.Duration(last) >= lookEvery) && o.looked.CompareAndSwap(last, int64(now))
}
