package child

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"strings"

	"github.com/stretchr/testify/require"
)

// A LogFile is the path of a server's log, which is written as JSON lines.
type LogFile string

// Size returns how many bytes the log has now.
func (f LogFile) Size(t require.TestingT) int64 {
	info, err := os.Stat(string(f))
	require.NoError(t, err)
	return info.Size()
}

// A Record is one line of the log.
type Record map[string]any

// Text returns the value of a key, "" where it is no text.
func (r Record) Text(key string) string {
	s, _ := r[key].(string)
	return s
}

// All returns all texts of the record, the nested ones too.
func (r Record) All() string {
	var b strings.Builder
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			b.WriteString(v)
			b.WriteByte('\n')
		case map[string]any:
			for _, v := range v {
				walk(v)
			}
		case []any:
			for _, v := range v {
				walk(v)
			}
		}
	}
	walk(map[string]any(r))
	return b.String()
}

// Since returns the records after a size. A line that is no JSON object fails the test.
func (f LogFile) Since(t require.TestingT, size int64) []Record {
	all, _ := f.Next(t, size)
	return all
}

// advice stands in the record that mask writes once over stdio, for the first error that it hides.
const advice = "mask.Options.Reader"

// Next returns the records after a size, and the size at which they end. A record that is
// still being written is left out, and so is the advice of mask, which belongs to no call.
func (f LogFile) Next(t require.TestingT, size int64) (all []Record, end int64) {
	file, err := os.Open(string(f))
	require.NoError(t, err)
	defer file.Close()
	data, err := io.ReadAll(io.NewSectionReader(file, size, 1<<62))
	require.NoError(t, err)
	data = data[:bytes.LastIndexByte(data, '\n')+1]
	for line := range bytes.Lines(data) {
		var r Record
		require.NoError(t, json.Unmarshal(line, &r), "%s", line)
		if !strings.Contains(r.Text("msg"), advice) {
			all = append(all, r)
		}
	}
	return all, size + int64(len(data))
}
