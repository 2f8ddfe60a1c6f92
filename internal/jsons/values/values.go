// Package values reads parts of documents that package jsons has read, into values of Go. It is apart because it links more.
package values

import (
	gojson "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Unmarshal reads a value of a document that was read. Names are read in their own spelling only.
func Unmarshal(raw []byte, into any) error {
	return gojson.Unmarshal(raw, into, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
}
