package child

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLeakFindsEveryForm(t *testing.T) {
	c := Canary("forms")
	require.Empty(t, Leak([]byte("zqkanari and nothing more")))
	escaped := ""
	for _, r := range c {
		escaped += fmt.Sprintf(`\u%04x`, r)
	}
	for _, form := range []string{c, "x" + strings.ToUpper(c), escaped, hex.EncodeToString([]byte("ab" + c))} {
		require.NotEmpty(t, Leak([]byte("before "+form+" after")), form)
	}
	for before := range 4 {
		for _, enc := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding, base64.RawStdEncoding} {
			require.NotEmpty(t, Leak([]byte(enc.EncodeToString([]byte(strings.Repeat("~", before)+c+"~~")))), before)
		}
	}
}
