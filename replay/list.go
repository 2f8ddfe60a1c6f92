package replay

import (
	"context"
	"encoding/json"
	"strings"
	"sync"

	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/kept"
	"github.com/mcpchain/mcpchain/internal/safe"
	"github.com/mcpchain/mcpchain/internal/stored"
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
	args  string // the loose hash of the arguments of the list
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
		args, ok := looseHashOf(call.ArgumentsOf(c.Request()))
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

// looseHashOf is hashOf for the arguments of a list, which are the same before and after items of them were
// mended. It says which lists may be equal; each item is compared exactly.
func looseHashOf(arguments json.RawMessage) (hash string, ok bool) {
	var v any
	if hash, ok = hashOf(arguments); ok && json.Unmarshal(arguments, &v) == nil {
		form, err := safe.JSON(loose(v)) // what was JSON
		if err != nil {
			return "", false
		}
		hash, ok = hashOf(form)
	}
	return hash, ok
}

// loose replaces each text by the JSON in it, and leaves out members that are null.
func loose(v any) any {
	switch v := v.(type) {
	case string:
		var in any
		if json.Unmarshal([]byte(v), &in) == nil {
			return loose(in)
		}
	case []any:
		for i := range v {
			v[i] = loose(v[i])
		}
	case map[string]any:
		for name := range v {
			if v[name] = loose(v[name]); v[name] == nil {
				delete(v, name)
			}
		}
	}
	return v
}

// use notes that a key is used for a list, unless it was used for another one, or for a call of a tool with the
// name of the list. It writes the record each time, so that it lasts as long as those of the items that run now.
func (k *keeper) use(ctx context.Context, c *call.Call, name, args string) (ok bool, err error) {
	return k.engine.Entry(name, c.Target(), k.logger(c)).Put(ctx, kept.Record{Args: args, List: true}, func(there kept.Record) bool {
		return there.List && there.Args == args
	})
}
