package proxy

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/rpc"
	"github.com/mcpchain/mcpchain/internal/jsons"
	"github.com/mcpchain/mcpchain/internal/near"
)

// merged returns the JSON of a result that the middlewares have changed. before is what they got,
// raw what the server wrote: what they did not change stays as the server wrote it, also what the
// SDK does not know.
func merged(raw json.RawMessage, before, after mcp.Result) (json.RawMessage, error) {
	to, err := json.Marshal(after)
	if err != nil || raw == nil || before == nil {
		return to, err
	}
	from, err := json.Marshal(before)
	if err != nil {
		return to, nil //nolint:nilerr // then there is nothing to compare with
	}
	return merge(raw, from, to), nil
}

func merge(raw, from, to json.RawMessage) json.RawMessage {
	switch {
	case bytes.Equal(from, to):
		return raw
	case object(raw) && object(from) && object(to):
		return mergeObjects(raw, from, to)
	case array(raw) && array(from) && array(to):
		return mergeArrays(raw, from, to)
	default:
		return to
	}
}

func object(raw json.RawMessage) bool { return len(raw) > 0 && raw[0] == '{' }
func array(raw json.RawMessage) bool  { return len(raw) > 0 && raw[0] == '[' }

func mergeObjects(raw, from, to json.RawMessage) json.RawMessage {
	var own, had, has map[string]json.RawMessage
	if rpc.Unmarshal(raw, &own) != nil || rpc.Unmarshal(from, &had) != nil || rpc.Unmarshal(to, &has) != nil {
		return to
	}
	for name := range had {
		if _, left := has[name]; !left {
			delete(own, name)
		}
	}
	for name, value := range has {
		before, was := had[name]
		server, written := own[name]
		switch {
		case was && written:
			own[name] = merge(server, before, value)
		case !was || !bytes.Equal(before, value): // what the SDK adds by itself is no change
			own[name] = value
		}
	}
	doc, err := jsons.Tolerant(raw, nil)
	if err != nil {
		return to
	}
	members := make([]jsons.Member, 0, len(own))
	for _, name := range slices.Concat(doc.Names(), slices.Sorted(maps.Keys(own))) { // those of the server first, in its order
		if value, left := own[name]; left {
			members = append(members, jsons.Member{Name: name, Value: value})
			delete(own, name)
		}
	}
	return jsons.Written(members...)
}

func mergeArrays(raw, from, to json.RawMessage) json.RawMessage {
	var own, had, has []json.RawMessage
	if rpc.Unmarshal(raw, &own) != nil || rpc.Unmarshal(from, &had) != nil || rpc.Unmarshal(to, &has) != nil || len(own) != len(had) {
		return to
	}
	next := 0 // items are left out or added, and keep their order
	for i, value := range has {
		name := nameOf(value)
		at := slices.IndexFunc(had[min(next, len(had)):], func(one json.RawMessage) bool {
			return bytes.Equal(one, value) || name != "" && name == nameOf(one)
		})
		switch {
		case at >= 0:
			has[i] = merge(own[next+at], had[next+at], value)
			next += at + 1
		case name == "" && len(has) == len(had):
			has[i] = merge(own[i], had[i], value)
			next = i + 1
		}
	}
	out := []byte{'['}
	for i, value := range has {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, value...)
	}
	return append(out, ']')
}

// nameOf returns what an item of a list is known by, "" if it has no name.
func nameOf(item json.RawMessage) string {
	var is struct {
		Name string `json:"name"`
		URI  string `json:"uri"`
	}
	if !object(item) || rpc.Unmarshal(item, &is) != nil {
		return ""
	}
	return is.URI + is.Name
}

// filter returns a list of tools without those that the client does not see, and whether there were any.
func (t *Tools) filter(raw json.RawMessage) (_ json.RawMessage, changed bool) {
	if len(t.Hide) == 0 && !t.ReadOnly {
		return raw, false
	}
	var list map[string]json.RawMessage
	var tools []json.RawMessage
	if rpc.Unmarshal(raw, &list) != nil || rpc.Unmarshal(list["tools"], &tools) != nil {
		return raw, false
	}
	shown := slices.DeleteFunc(slices.Clone(tools), t.hidden)
	if len(shown) == len(tools) {
		return raw, false
	}
	list["tools"] = marshal(shown)
	return marshal(list), true
}

func (t *Tools) hidden(raw json.RawMessage) bool {
	var tool struct {
		Name        string `json:"name"`
		Annotations struct {
			ReadOnly bool `json:"readOnlyHint"`
		} `json:"annotations"`
	}
	if rpc.Unmarshal(raw, &tool) != nil {
		return true // what it is cannot be read
	}
	return slices.Contains(t.Hide, tool.Name) || t.ReadOnly && !tool.Annotations.ReadOnly && !slices.Contains(t.Reads, tool.Name)
}

// checkNames records, once, the names of the operator's that no tool in a whole list of the server has: a
// mistyped name hides nothing.
func (p *Proxy) checkNames(req mcp.Request, raw json.RawMessage) {
	if len(p.Tools.Hide) == 0 && len(p.Tools.Reads) == 0 {
		return
	}
	var list struct {
		Next  string            `json:"nextCursor"`
		Tools []json.RawMessage `json:"tools"`
	}
	params, _ := req.GetParams().(*mcp.ListToolsParams)
	if params != nil && params.Cursor != "" || rpc.Unmarshal(raw, &list) != nil || list.Next != "" {
		return
	}
	p.named.Do(func() {
		listed := make([]string, 0, len(list.Tools))
		for _, tool := range list.Tools {
			listed = append(listed, nameOf(tool))
		}
		for _, name := range slices.Concat(p.Tools.Hide, p.Tools.Reads) {
			if !slices.Contains(listed, name) {
				p.Logger.Warn("a setting names a tool that the server does not list", slog.String("tool", name), slog.Any("similar", near.Matches(name, listed)))
			}
		}
	})
}

// marshal writes what consists of JSON that was read.
func marshal(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return raw
}

// lists keeps what the server has listed, for when it does not run.
type lists struct {
	mu   sync.Mutex
	kept map[string]json.RawMessage
	size int
	run  map[string]bool // the keys of what the run that is there has listed
}

// maxKept bounds the bytes of the lists that are kept.
const maxKept = 16 << 20

func listKey(method string, req mcp.Request) string {
	var at struct {
		Cursor string `json:"cursor"`
	}
	_ = json.Unmarshal(marshal(req.GetParams()), &at) // without one it is the first page
	return method + " " + at.Cursor
}

func (l *lists) keep(method string, req mcp.Request, raw json.RawMessage) {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := listKey(method, req)
	l.size -= len(l.kept[key])
	delete(l.kept, key)
	if len(raw) > maxKept {
		return
	}
	if l.kept == nil || l.size+len(raw) > maxKept {
		l.kept, l.size, l.run = map[string]json.RawMessage{}, 0, nil
	}
	if l.run == nil {
		l.run = map[string]bool{}
	}
	l.kept[key], l.run[key] = raw, true
	l.size += len(raw)
}

// get returns what was listed, for a guard only by the run that is there: it must not go by another one's list.
func (l *lists) get(method string, req mcp.Request, guard bool) json.RawMessage {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := listKey(method, req)
	if guard && !l.run[key] {
		return nil
	}
	return l.kept[key]
}

// all returns what is kept.
func (l *lists) all() map[string]json.RawMessage {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.kept)
}

// ended notes that the run has ended which has listed what is kept.
func (l *lists) ended() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.run = nil
}

// changed forgets what a notification says has changed, and reports whether it says so.
func (l *lists) changed(method string) bool {
	what, ok := strings.CutSuffix(strings.TrimPrefix(method, "notifications/"), "/list_changed")
	if !ok {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for key, raw := range l.kept {
		if strings.HasPrefix(key, what+"/") {
			l.size -= len(raw)
			delete(l.kept, key)
		}
	}
	return true
}
