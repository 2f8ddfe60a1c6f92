package redis_test

import (
	"context"
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"
	goredis "github.com/redis/go-redis/v9"

	mcpredis "github.com/mcpchain/mcpchain/contrib/redis"
	"github.com/mcpchain/mcpchain/store"
)

// Two servers take tokens from one bucket.
func ExampleStore_Take() {
	mini, err := miniredis.Run() // or the address of a Redis
	if err != nil {
		panic(err)
	}
	defer mini.Close()
	for _, server := range []string{"server 1", "server 2", "server 1"} {
		client := goredis.NewClient(&goredis.Options{Addr: mini.Addr(), ContextTimeoutEnabled: true})
		wait, _, err := mcpredis.New(client, nil).Take(context.Background(), store.Tokens{Key: "search/alice", N: 1, Burst: 2, Interval: time.Hour})
		fmt.Println(server, "waits", wait.Round(time.Hour), err)
		_ = client.Close()
	}
	// Output:
	// server 1 waits 0s <nil>
	// server 2 waits 0s <nil>
	// server 1 waits 1h0m0s <nil>
}
