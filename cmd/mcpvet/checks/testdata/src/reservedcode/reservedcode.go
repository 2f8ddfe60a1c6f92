package reservedcode

import "github.com/modelcontextprotocol/go-sdk/jsonrpc"

const codeQuota = -32099

func codes(kind int) error {
	switch kind {
	case 0:
		return &jsonrpc.Error{Code: -32001, Message: "not allowed"} // want `code -32001 is reserved by JSON-RPC`
	case 1:
		return &jsonrpc.Error{Code: codeQuota, Message: "quota"} // want `code -32099 is reserved by JSON-RPC`
	case 2:
		return &jsonrpc.Error{-32000, "old", nil} // want `code -32000 is reserved by JSON-RPC`
	case 3:
		e := &jsonrpc.Error{Message: "late"}
		e.Code = -32768 // want `code -32768 is reserved by JSON-RPC`
		return e
	case 4:
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "defined"}
	case 5:
		return &jsonrpc.Error{Code: -32002, Message: "a resource is not found, before 2026-07-28"}
	case 6:
		return &jsonrpc.Error{Code: -31999, Message: "an application's own"}
	case 7:
		return &jsonrpc.Error{Code: int64(kind), Message: "not known"}
	}
	return &jsonrpc.Error{Code: 429, Message: "an application's own"}
}
