package rpc

import (
	"bytes"
	"encoding/json"
)

// Edited returns a message with another value at a path of members, which are objects but for the last. The
// rest keeps its bytes. Without such a member it returns the line itself.
func Edited(line, value []byte, path ...string) []byte {
	dec := json.NewDecoder(bytes.NewReader(line))
	for depth := 0; ; depth++ {
		if t, err := dec.Token(); err != nil || t != json.Delim('{') {
			return line
		}
		for found := false; !found; {
			name, err := dec.Token()
			if err != nil || name == json.Delim('}') {
				return line
			}
			if found = name == path[depth]; found && depth < len(path)-1 {
				continue // into it
			}
			var was json.RawMessage
			if dec.Decode(&was) != nil {
				return line
			}
			if found {
				end := int(dec.InputOffset())
				edited := make([]byte, 0, len(line)+len(value))
				edited = append(edited, line[:end-len(was)]...)
				edited = append(edited, value...)
				return append(edited, line[end:]...)
			}
		}
	}
}
