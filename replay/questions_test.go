package replay_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/replay"
	"github.com/mcpchain/mcpchain/store"
)

// asked counts the questions to a store.
type asked struct {
	store.Store

	questions string
}

func (a *asked) Get(ctx context.Context, key string) (store.Item, error) {
	a.questions += "Get "
	return a.Store.Get(ctx, key)
}

func (a *asked) Swap(ctx context.Context, key string, old store.Version, value []byte, ttl time.Duration) (store.Item, bool, error) {
	a.questions += "Swap "
	return a.Store.Swap(ctx, key, old, value, ttl)
}

func (a *asked) Delete(ctx context.Context, key string, old store.Version) (bool, error) {
	a.questions += "Delete "
	return a.Store.Delete(ctx, key, old)
}

// askedTogether is one that takes several operations at once.
type askedTogether struct{ asked }

func (a *askedTogether) Do(ctx context.Context, ops ...store.Op) ([]store.Done, error) {
	a.questions += "Do "
	d, _ := a.Store.(store.Doer)
	return d.Do(ctx, ops...)
}

// TestQuestionsToTheStore of one call: fewer to a store that takes several operations at once, as those of this
// project do, and the same answers.
func TestQuestionsToTheStore(t *testing.T) {
	for name, c := range map[string]struct{ runs, hit, fails string }{
		"together":   {"Get Do Do ", "Get ", "Get Do Do "},
		"one by one": {"Get Swap Swap Swap Delete ", "Get ", "Get Swap Swap Delete Delete "},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var b bank
				one := &asked{Store: store.NewMemory(nil)}
				together := &askedTogether{asked: asked{Store: one.Store}}
				var s store.Store = one
				questions := &one.questions
				if name == "together" {
					s, questions = together, &together.questions
				}
				server := b.server(owned(replay.Options{Store: s}))
				require.Equal(t, "payment 1", says(t, server, "k", `{}`))
				require.Equal(t, c.runs, *questions)
				for range 2 {
					*questions = ""
					require.Equal(t, "payment 1", says(t, server, "k", `{}`))
					require.Equal(t, c.hit, *questions)
				}
				*questions = ""
				b.answer = func(context.Context) (*mcp.CallToolResult, error) { return nil, fault.Invalid("amount", 1, "2") }
				call(t, server, request("fails", `{}`))
				require.Equal(t, c.fails, *questions)
			})
		})
	}
}
