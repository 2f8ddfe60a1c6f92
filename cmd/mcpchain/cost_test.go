//go:build unix

package main

import (
	"bufio"
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkCall calls a tool over stdio that does nothing, one that fails, and one with arguments, bare and behind the program. Those that are
// as text are mended. The client writes and reads
// lines only: one of an SDK takes longer than what is measured.
func BenchmarkCall(b *testing.B) {
	for _, tool := range []string{"nothing {}", "refuse {}", `divide {"a":6,"b":3}`, `divide {"a":"6","b":3}`} {
		name, arguments, _ := strings.Cut(tool, " ")
		mended := strings.Contains(arguments, `"6"`)
		for _, running := range []int{1, 64} {
			if !mended {
				b.Run(fmt.Sprintf("%s/%d/bare", name, running), func(b *testing.B) { benchmarkCall(b, name, arguments, running) })
				b.Run(fmt.Sprintf("%s/%d/behind", name, running), func(b *testing.B) { benchmarkCall(b, name, arguments, running, "run", "-log", "/dev/null") })
			}
			if name == "nothing" {
				b.Run(fmt.Sprintf("%s/%d/behind,after", name, running), func(b *testing.B) {
					benchmarkCall(b, name, arguments, running, "run", "-log", "/dev/null", "-after", "20s")
				})
			}
			if arguments != "{}" {
				b.Run(fmt.Sprintf("%s/%d/behind,mend=%v", name, running, mended), func(b *testing.B) { benchmarkCall(b, name, arguments, running, "run", "-log", "/dev/null", "-mend") })
			}
		}
	}
}

func benchmarkCall(b *testing.B, tool, arguments string, running int, args ...string) {
	b.Helper()
	cmd, _ := program(b, args...)
	in, err := cmd.StdinPipe()
	require.NoError(b, err)
	out, err := cmd.StdoutPipe()
	require.NoError(b, err)
	require.NoError(b, cmd.Start())
	defer func() { _ = cmd.Wait() }()
	defer func() { _ = in.Close() }()
	w, r := bufio.NewWriter(in), bufio.NewReaderSize(out, 1<<20)
	answer := func() {
		for {
			if r.Buffered() == 0 {
				require.NoError(b, w.Flush())
			}
			line, err := r.ReadSlice('\n')
			require.NoError(b, err)
			if bytes.Contains(line, []byte(`"result"`)) {
				return
			}
		}
	}
	_, _ = w.WriteString(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"lean","version":"1"}}}` + "\n")
	answer()
	_, _ = w.WriteString(`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n")
	sent := 0
	call := func() {
		sent++
		_, _ = w.WriteString(`{"jsonrpc":"2.0","id":` + strconv.Itoa(sent) + `,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + arguments + `}}` + "\n")
	}
	for range running {
		call()
	}
	for b.Loop() { // each answer is answered with another call
		answer()
		call()
	}
	for range running {
		answer()
	}
}
