package rpc

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Unmarshal reads a value of a message that was read. Names are read in their own spelling only.
func Unmarshal(raw []byte, into any) error {
	return json.Unmarshal(raw, into, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
}
