package probe

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/mcpchain/mcpchain/internal/conduct"
)

// progressEnds takes back a call of each tool, and waits for what a server reports all the same.
func progressEnds(t *trial) {
	const grace, watched = 300 * time.Millisecond, 3 * time.Second
	for _, tool := range t.toCall() {
		good, ok := tool.good()
		if !ok || t.late() {
			continue
		}
		c := t.conn()
		id := c.id()
		token := quote("mcpchain-" + id)
		c.follow(token)
		meta := strings.TrimSuffix(currentMeta, "}") + `,"progressToken":` + token + `}`
		if c.version != conduct.Current {
			meta = `"_meta":{"progressToken":` + token + `}`
		}
		x := &exchange{sent: c.line(id, "tools/call", `{"name":`+quote(tool.Name)+`,"arguments":`+object(good, "")+`,`+meta+`}`), ignored: true}
		_ = json.Unmarshal(x.sent, &x.request)
		c.start(x, id, false)
		t.asked = true
		if c.await(x, grace).none != silent {
			continue // it is too quick to be taken back
		}
		c.wire.send(c.line("", "notifications/cancelled", `{"requestId":`+id+`,"reason":"mcpchain check"}`), func(int, []byte) {})
		time.Sleep(grace)
		before := c.follow(token)
		for began := time.Now(); time.Since(began) < watched; time.Sleep(grace / 10) {
			if c.follow(token) > before {
				t.found(tool.Name, "The call was taken back, and goes on to report progress.", string(x.sent), "")
				break
			}
		}
	}
}

// readingName is how tools are called that read and need not be marked so.
var readingName = regexp.MustCompile(`(?i)(?:^|[_\-./])(?:read|list|get|search|show|find|export|dump|fetch|view)|^(?:read|list|get|search|show|find)[A-Z]`)

const (
	writesAtOnce = 50
	markOfWrites = "mcpchainw" // begins each text that is written
)

// writesKept lets each tool that writes write fifty texts at once, then fifty one after the other. A tool that shows
// all of the second fifty would have shown all of the first: those that it does not show are lost.
func writesKept(t *trial) {
	if !t.Writes && len(t.Tools) == 0 {
		t.skip("it needs -writes")
		return
	}
	var writers, readers []*tool
	for _, tool := range t.quick() {
		if tool.Annotations.ReadOnlyHint || readingName.MatchString(tool.Name) {
			readers = append(readers, tool)
		} else if _, ok := tool.writing("a"); ok {
			writers = append(writers, tool)
		}
	}
	for i, writer := range writers {
		if t.late() {
			break
		}
		t.lost(writer, readers, fmt.Sprintf("%s%d", markOfWrites, i))
	}
	if !t.asked {
		t.skip("no tool shows all that another one writes")
	}
}

// lost notes a finding if a tool loses writes, in texts that begin with a mark.
func (t *trial) lost(writer *tool, readers []*tool, mark string) {
	c := t.conn()
	written := func(round string, i int) string { return fmt.Sprintf("%s%s%02dx", mark, round, i) }
	begin := func(round string, i int) *exchange {
		arguments, _ := writer.writing(written(round, i))
		return c.beginCall(writer, arguments, c.id())
	}
	var all []*exchange
	var told, after []string // what was answered with a success
	for i := range writesAtOnce {
		all = append(all, begin("a", i))
	}
	for i, x := range all {
		if o := c.await(x, 2*c.limit); o.none == replied && !o.failed() {
			told = append(told, written("a", i))
		}
	}
	shown := t.shown(c, readers)
	for i := range writesAtOnce {
		if o := c.await(begin("b", i), c.limit); o.none == replied && !o.failed() {
			after = append(after, written("b", i))
		}
	}
	last := t.shown(c, readers)
	for _, reader := range readers {
		if len(after) < writesAtOnce || missing(last[reader], after) > 0 {
			continue // it does not show what is there
		}
		t.asked = true
		if n := min(missing(shown[reader], told), missing(last[reader], told)); n > 0 {
			t.found(writer.Name, fmt.Sprintf("%d of %d writes at once are told as a success and lost: %s does not show them.", n, len(told), reader.Name), string(all[0].sent), "")
		}
		return
	}
}

func missing(text string, marks []string) (n int) {
	for _, mark := range marks {
		if !strings.Contains(text, mark) {
			n++
		}
	}
	return n
}

// shown returns what tools show of all that was written.
func (t *trial) shown(c *conn, readers []*tool) map[*tool]string {
	all := map[*tool]string{}
	for _, reader := range readers {
		arguments, ok := reader.writing(markOfWrites)
		if (!ok && len(reader.schema.Required) > 0) || t.late() {
			continue
		}
		if o := t.call(c, reader, arguments); o.none == replied && !o.failed() {
			all[reader] = string(o.raw)
		}
	}
	return all
}

// writing returns arguments that fit, with a text wherever one may stand. ok is false if there is no such place.
func (t *tool) writing(text string) (arguments string, ok bool) {
	if t.input == nil {
		return "", false
	}
	members := map[string]json.RawMessage{}
	for _, name := range t.schema.Required {
		members[name] = textual(t.schema.Properties[name], text, 0)
	}
	arguments = object(members, "")
	return arguments, strings.Contains(arguments, text) && t.input.Explain([]byte(arguments), true) == nil
}

// textual returns a sample of a schema in which each text that may be any is the given one, and each list has an item.
func textual(s *jsonschema.Schema, text string, depth int) json.RawMessage {
	switch {
	case s == nil || depth > 8 || s.Const != nil || len(s.Enum) > 0 || s.Format != "":
		return sample(s, depth)
	case s.Type == "string" && s.Pattern == "":
		return raw(text)
	case s.Type == "array":
		return raw([]json.RawMessage{textual(s.Items, text, depth+1)})
	case s.Type == "object":
		members := map[string]json.RawMessage{}
		for _, name := range s.Required {
			members[name] = textual(s.Properties[name], text, depth+1)
		}
		return raw(members)
	}
	return sample(s, depth)
}
