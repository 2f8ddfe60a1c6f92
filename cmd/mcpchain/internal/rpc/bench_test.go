package rpc

import (
	"strings"
	"testing"
)

// BenchmarkRead is what one message costs to be read: that of a client strictly, that of a server tolerantly.
func BenchmarkRead(b *testing.B) {
	call := func(arguments string) string {
		return `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"t","arguments":` + arguments + `,"_meta":{"progressToken":7}}}`
	}
	answer := func(size int) string {
		return `{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"` + strings.Repeat("x", size) + `"}]}}`
	}
	for name, one := range map[string]struct {
		line string
		read func([]byte) (*Message, *Refused)
	}{
		"call":           {call(`{"a":"text","b":5}`), Parse},
		"1 MB, text":     {call(`{"a":"` + strings.Repeat("x", 1<<20) + `"}`), Parse},
		"1 MB, numbers":  {call(`[` + strings.Repeat("12345,", 170_000) + `1]`), Parse},
		"answer":         {answer(100), ParseServer},
		"answer, 100 KB": {answer(100 << 10), ParseServer},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(one.line)))
			for b.Loop() {
				_, _ = one.read([]byte(one.line))
			}
		})
	}
}
