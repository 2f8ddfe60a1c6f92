package state_test

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/state"
	"github.com/mcpchain/mcpchain/store"
)

// sealed stands for a codec that encrypts.
type sealed struct{ broken bool }

func (s sealed) Marshal(v any) ([]byte, error) {
	raw, err := json.Marshal(v)
	return turned(raw), err
}

func (s sealed) Unmarshal(data []byte, v any) error {
	if s.broken {
		return errors.New("the key is gone")
	}
	return json.Unmarshal(turned(data), v)
}

func turned(data []byte) []byte {
	out := slices.Clone(data)
	for i := range out {
		out[i] ^= 0xa5
	}
	return out
}

// TestCodec writes values by a codec of the program's: the store sees nothing of them.
func TestCodec(t *testing.T) {
	spy := &spy{Store: store.NewMemory(nil)}
	mw := state.New(&state.Options{Store: spy, Codec: sealed{}})
	h := begin(t, mw, "alice", cart{Items: []string{harness.Canary}})
	require.NotContains(t, spy.all.String(), harness.Canary)
	require.Equal(t, []string{harness.Canary}, mustLook(t, mw, "alice", h).Items)

	_, err := look(t, state.New(&state.Options{Store: spy, Codec: sealed{broken: true}}), "alice", h)
	require.Error(t, err, "without the codec nothing is read")
}
