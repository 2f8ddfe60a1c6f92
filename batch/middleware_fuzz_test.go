package batch_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/batch"
	"github.com/mcpchain/mcpchain/fault"
)

// FuzzArguments wants of any arguments either a fault of the caller's or, for each item,
// the same arguments with the item in the place of the list.
func FuzzArguments(f *testing.F) {
	for _, seed := range []string{
		``, `null`, `{}`, `[]`, `{"ids":[1,"a",null,{"b":[]}]}`, `{"ids":[ 1 ],"x":{"y": 2}}`, `{"ids":"a"}`, `{"id":1,"ids":[1]}`,
		`{"ids":[1],"ids":[2]}`, `{"ids":[]}`, `{"IDS":[1]}`, `{"\u0069ds":[1]}`, `{"ids":[1e999,"\ud800"],"":0}`, `{"ids":[1]} x`,
	} {
		f.Add([]byte(seed))
	}
	list := batch.List{Tool: "it", Item: "id", As: "them", Items: "ids", MaxItems: 10}
	f.Fuzz(func(t *testing.T, raw []byte) {
		all, err := batch.ReadArguments(list, raw)
		if err != nil {
			require.ErrorIs(t, err, fault.KindValidation)
			return
		}
		var given map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(raw, &given))
		var items []json.RawMessage
		require.NoError(t, json.Unmarshal(given["ids"], &items))
		require.Len(t, all, len(items))
		delete(given, "ids")
		for i, args := range all {
			given["id"] = items[i]
			want, err := json.Marshal(given)
			require.NoError(t, err)
			require.Equal(t, canonical(t, want), canonical(t, args))
		}
	})
}

func canonical(t *testing.T, raw []byte) string {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	require.NoError(t, dec.Decode(&v), string(raw))
	out, err := json.Marshal(v)
	require.NoError(t, err)
	return string(out)
}
