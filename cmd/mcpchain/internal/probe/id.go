package probe

import (
	"bytes"
	"encoding/json"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/rpc"
)

// canonicalID returns what two spellings of the same ID have in common: 1 and 1.0, "é" and "\u00e9". A
// number and a string are never the same. What no ID may be stands for itself. It is empty for no ID, and
// for null.
func canonicalID(id json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, id) != nil || b.String() == "null" {
		return ""
	}
	if key := rpc.ID(b.Bytes()).Key(); key != "" {
		return key
	}
	return b.String()
}

// oddID returns the ID in a line if no ID may have its type, else "".
func oddID(line []byte) string {
	var members map[string]json.RawMessage
	if json.Unmarshal(line, &members) != nil || !bytes.ContainsAny(members["id"][:min(1, len(members["id"]))], "{[tf") {
		return ""
	}
	return string(members["id"])
}
