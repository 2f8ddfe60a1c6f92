// Package speak lets a client of a test choose its version of the protocol with any version of go-sdk
// that the library can be built with. go-sdk v1.8 has a field for it, which v1.7 does not export.
package speak

import (
	"reflect"
	"strings"
	"unsafe"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

var field, _ = reflect.TypeFor[mcp.ClientSessionOptions]().FieldByNameFunc(func(name string) bool {
	return strings.EqualFold(name, "ProtocolVersion")
})

// Oldest reports whether this is go-sdk v1.7, which says some things in other words.
var Oldest = !field.IsExported()

// Version returns the options of a session in a version of the protocol, "" for the client's own choice.
func Version(version string) *mcp.ClientSessionOptions {
	opts := new(mcp.ClientSessionOptions)
	*(*string)(unsafe.Add(unsafe.Pointer(opts), field.Offset)) = version //nolint:gosec // a string, whether exported or not
	return opts
}
