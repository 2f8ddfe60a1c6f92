package otel

import (
	"net/http"
	"reflect"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Requests that were made by hand may lack any of their parts.

func isNil(v any) bool {
	if v == nil {
		return true
	}
	r := reflect.ValueOf(v)
	return r.Kind() == reflect.Pointer && r.IsNil()
}

// paramsOf returns the parameters of a request, nil for none.
func paramsOf(req mcp.Request) mcp.Params {
	if isNil(req) {
		return nil
	}
	if p := req.GetParams(); !isNil(p) {
		return p
	}
	return nil
}

// sessionOf returns the session of a request, nil for none.
func sessionOf(req mcp.Request) mcp.Session {
	if isNil(req) {
		return nil
	}
	if s := req.GetSession(); !isNil(s) {
		return s
	}
	return nil
}

// sessionID returns the ID of a session, "" for none.
func sessionID(session mcp.Session) (id string) {
	if session == nil {
		return ""
	}
	defer func() {
		if recover() != nil { // a session that was never connected
			id = ""
		}
	}()
	return session.ID()
}

// headerOf returns the header of the HTTP request that a request came with, nil for none.
func headerOf(req mcp.Request) http.Header {
	if isNil(req) {
		return nil
	}
	if extra := req.GetExtra(); extra != nil {
		return extra.Header
	}
	return nil
}

// metaOf returns the _meta of a request, nil for none.
func metaOf(req mcp.Request) (meta map[string]any) {
	params := paramsOf(req)
	if params == nil {
		return nil
	}
	defer func() {
		if recover() != nil { // parameters of a custom method without a _meta
			meta = nil
		}
	}()
	return params.GetMeta()
}

// protocolVersion returns the protocol version of a request, "" where it is not known.
func protocolVersion(req mcp.Request) string {
	switch s := sessionOf(req).(type) {
	case *mcp.ServerSession:
		if r, ok := req.(interface{ ProtocolVersion() string }); ok {
			return r.ProtocolVersion()
		}
		if p := s.InitializeParams(); p != nil {
			return p.ProtocolVersion
		}
	case *mcp.ClientSession:
		if r := s.InitializeResult(); r != nil {
			return r.ProtocolVersion
		}
	}
	return ""
}

// copyOf returns a copy of the parameters of a request, new ones for a request without,
// or nil for those that cannot be copied.
func copyOf(params mcp.Params, method string) mcp.Params {
	if params == nil {
		switch method {
		case "tools/list":
			return &mcp.ListToolsParams{}
		case "prompts/list":
			return &mcp.ListPromptsParams{}
		case "resources/list":
			return &mcp.ListResourcesParams{}
		case "resources/templates/list":
			return &mcp.ListResourceTemplatesParams{}
		case "ping":
			return &mcp.PingParams{}
		default:
			return nil
		}
	}
	v := reflect.ValueOf(params)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return nil
	}
	c := reflect.New(v.Elem().Type())
	c.Elem().Set(v.Elem())
	out, _ := reflect.TypeAssert[mcp.Params](c)
	return out
}
