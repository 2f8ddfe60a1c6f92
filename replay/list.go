package replay

import (
	"context"
	"crypto/rand"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/stored"
	"github.com/mcpchain/mcpchain/store"
)

// The calls of a list form carry one key: that of the list. Its record says which list the key was
// used for, and each item has a record of its own.

// nameOf returns the name of the record of a call, or of a list.
func nameOf(owner, tool, key string) string {
	return stored.OwnedName("replay/", owner, "call", tool, key)
}

// A place says which item of which list a call is. It has the names of the tools from the item
// outwards, its number in each list, and the key. No key names a place, because each part counts with
// its length.
type place []string

func placeOf(c *call.Call, key string) place {
	var p place
	for outer := c.Parent(); outer != nil; c, outer = outer, outer.Parent() {
		p = append(p, c.Target(), strings.TrimPrefix(c.ID(), outer.ID()))
	}
	return append(p, c.Target(), key)
}

// name returns the name of the record of an item.
func (p place) name(owner string) string {
	return stored.OwnedName("replay/", owner, append([]string{"item"}, p...)...)
}

// key returns what the handler passes on as the key of an item.
func (p place) key() string { return stored.Name("item-", p...) }

// A listing is what is known of the keys of one call of a list.
type listing struct {
	args  string // the hash of the arguments of the list
	equal bool   // they have one

	mu   sync.Mutex
	keys map[string]bool // whether a key is used for this list
}

// list returns the hash of the arguments of the list that an item belongs to, and whether the key is used
// for that list. If it was used for another one, the list is refused as a whole. The store is asked once
// for all items.
func (k *keeper) list(ctx context.Context, c *call.Call, owner, key string) (args string, ok bool, err error) {
	for outer := c.Parent(); outer != nil; outer = outer.Parent() {
		c = outer
	}
	c.KeepList()
	l := k.lists.Of(c, func(*call.Call) *listing {
		args, ok := hashOf(call.ArgumentsOf(c.Request()))
		return &listing{args: args, equal: ok, keys: map[string]bool{}}
	})
	if !l.equal {
		c.RefuseList(incomparable(call.ArgumentsOf(c.Request())))
		return "", false, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	ok, known := l.keys[key]
	if !known {
		if ok, err = k.use(ctx, c, nameOf(owner, c.Target(), key), l.args); err != nil {
			return "", false, err
		}
		l.keys[key] = ok
	}
	if !ok {
		c.RefuseList(errOtherArguments)
	}
	return l.args, ok, nil
}

// use notes that a key is used for a list, unless it was used for another one. It writes the record
// each time, so that it lasts as long as those of the items that run now.
func (k *keeper) use(ctx context.Context, c *call.Call, name, args string) (ok bool, err error) {
	a := &attempt{keeper: k, c: c, req: &mcp.CallToolRequest{}, name: name, log: k.logger(c)}
	mine, err := a.seal(record{Holder: rand.Text(), Args: args, List: true})
	if err != nil {
		return false, err
	}
	item, err := k.Store.Get(ctx, name)
	for err == nil && !ok {
		if item.Version != 0 {
			rec, err := a.open(item.Value)
			if err != nil || (rec.Args != args || !rec.List) && !rec.Withdrawn { // or it was used for a call of a tool with the name of the list
				return false, err
			}
		}
		item, ok, err = k.Store.Swap(store.Within(ctx, k.bound(k.spare())), name, item.Version, mine, k.Keep)
	}
	return ok, err
}
