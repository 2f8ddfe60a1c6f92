package audit

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/fault"
)

// awkward are texts in which encoding/json escapes or replaces something.
var awkward = []string{
	"", "a", "pay", `a"b`, `a\b`, "<b>", "a&b", "ö", "\u2028", "\u2029x", "\x00", "\n", "\x7f", "\xff", "a\xc3", "😀", "\ufffd", "~", " ", strings.Repeat("x", 300),
}

// TestRecordsAreWrittenAsByEncodingJSON: what stands in logs is the same as with encoding/json.
func TestRecordsAreWrittenAsByEncodingJSON(t *testing.T) {
	g := rand.New(rand.NewPCG(1, 2))
	text := func() string { return awkward[g.IntN(len(awkward))] + awkward[g.IntN(len(awkward))] }
	for range 20_000 {
		r := Record{
			Time: time.Unix(g.Int64N(1<<33), g.Int64N(3)*g.Int64N(1e9)).UTC(), Event: text(), Method: text(), Target: text(), Owner: text(),
			ArgumentsHash: text(), ArgumentsBytes: g.IntN(3) * g.IntN(1<<40), Outcome: text(), Kind: text(), Effect: fault.Effect(text()), Reference: text(),
			Begin: g.Uint64N(2) * g.Uint64(), DurationMS: millis(time.Duration(g.Int64N(1 << g.IntN(63)))), Lost: g.Uint64N(3), DroppedBytes: g.Int64N(3),
		}
		if g.IntN(2) > 0 {
			args, err := appendValue(nil, randomValue(g, 3))
			require.NoError(t, err)
			r.Arguments = args
		}
		want, err := json.Marshal(&r)
		require.NoError(t, err)
		got, err := appendRecord(nil, &r)
		require.NoError(t, err)
		require.Equal(t, string(want), string(got))
	}
	for _, r := range []Record{{Arguments: json.RawMessage("{")}, {Time: time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)}} {
		_, err := json.Marshal(&r)
		require.Error(t, err)
		_, err = appendRecord(nil, &r)
		require.Error(t, err)
	}
}

func randomValue(g *rand.Rand, depth int) any {
	switch n := g.IntN(9); {
	case n == 0:
		return nil
	case n == 1:
		return g.IntN(2) > 0
	case n == 2:
		return json.Number([]string{"0", "-1.50", "1e400", "12345678901234567890123", "1E-7"}[g.IntN(5)])
	case n < 6 || depth == 0:
		return awkward[g.IntN(len(awkward))]
	case n == 6:
		list := make([]any, g.IntN(4))
		for i := range list {
			list[i] = randomValue(g, depth-1)
		}
		return list
	default:
		object := map[string]any{}
		for range g.IntN(4) {
			object[awkward[g.IntN(len(awkward))]] = randomValue(g, depth-1)
		}
		return object
	}
}
