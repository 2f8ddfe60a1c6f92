package scrub

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMisspelt(t *testing.T) {
	for name := range strings.FieldsSeq("pasword pasword_hash userPasswrd passwrod passwordd pass_wrod db.pasword api_kye apiKye apikee accesskye secert clientSecrt credentail autorization authorisation privat_key paswords") {
		require.True(t, Misspelt(name), name)
	}
	for name := range strings.FieldsSeq("password passport passed secretary api_key key name path query sacred regret author authority word passage pasword_count is_pasword city x _ classword apiary") {
		require.False(t, Misspelt(name), name)
	}
	require.False(t, Misspelt(strings.Repeat("a", 1<<20)))
	require.False(t, Misspelt(""))
}
