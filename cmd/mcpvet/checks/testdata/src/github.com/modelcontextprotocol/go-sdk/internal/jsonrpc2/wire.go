// Package jsonrpc2 has the declarations of the SDK that the checks look for.
package jsonrpc2

type WireError struct {
	Code    int64
	Message string
	Data    []byte
}

func (e *WireError) Error() string { return e.Message }
