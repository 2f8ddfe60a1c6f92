package probe

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCanonicalID(t *testing.T) {
	same := func(ids ...string) (text string) {
		text = canonicalID(json.RawMessage(ids[0]))
		for _, id := range ids {
			require.Equal(t, text, canonicalID(json.RawMessage(id)), id)
		}
		return text
	}
	all := map[string]bool{}
	for _, text := range []string{
		same("1", "1.0", "1e0", "10E-1"), same(`"1"`), same("9007199254740993"), same("9007199254740992", "9007199254740992.0"),
		same(`"é/"`, `"\u00e9\/"`, `"\u00E9/"`), same("-7"), same("0", "-0", "0.0"), same("true"), same(`{"a":1,"b":[]}`, `{ "a":1, "b":[] }`),
		same("1.5"), same("1e999999999"), same(strings.Repeat("9", 200)), same("null", "", " null ", "no JSON"),
	} {
		require.False(t, all[text], "%s is that of another ID", text)
		all[text] = true
	}
}
