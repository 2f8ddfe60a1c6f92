package spawn

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestIsBatch(t *testing.T) {
	for path, want := range map[string]bool{
		`C:\Program Files\nodejs\npx.cmd`: true, `C:\x\RUN.BAT`: true, `C:\x.cmd\server.exe`: false, "npx": false,
	} {
		require.Equal(t, want, isBatch(path), path)
	}
}

func TestBatchLine(t *testing.T) {
	const npx = `C:\Program Files\nodejs\npx.cmd`
	for _, tt := range []struct{ arg, want string }{
		{"-y", `-y`},
		{"@scope/server@1.0", `@scope/server@1.0`},
		{`C:\srv\data\`, `C:\srv\data\`},
		{`C:\my data\`, `"C:\my data\\"`},
		{"", `""`},
		{"https://x/?a=1&b=2", `"https://x/?a=1&b=2"`},
		{`{"a":"b c"}`, `"{\"a\":\"b c\"}"`},
		{`{"a":"b&c"}`, `"{""a"":""b&c""}"`},
		{`a\"`, `"a\\"""`},
		{`"\"`, `"\"\\\""`},
		{"%20%", "%20%"},
		{"a^b|c", `"a^b|c"`},
	} {
		line, err := batchLine(npx, []string{tt.arg, "z"})
		require.NoError(t, err)
		require.Equal(t, `cmd.exe /e:ON /v:OFF /d /c ""`+npx+`" `+tt.want+` z"`, line)
	}
	for _, arg := range []string{"a\nb", "a\rb", "a\x00"} {
		_, err := batchLine(npx, []string{arg})
		require.ErrorIs(t, err, errBatch)
	}
}
