package store_test

import (
	"context"
	"fmt"
	"time"

	"github.com/mcpchain/mcpchain/store"
)

// Two writers saw the same version. One of them gets the value of the other.
func Example() {
	ctx := context.Background()
	s := store.NewMemory(nil)
	seen, _, _ := s.Swap(ctx, "price", 0, []byte("10"), time.Hour)

	_, ok, _ := s.Swap(ctx, "price", seen.Version, []byte("11"), time.Hour)
	fmt.Println("first:", ok)
	now, ok, _ := s.Swap(ctx, "price", seen.Version, []byte("12"), time.Hour)
	fmt.Printf("second: %v, because it is %s\n", ok, now.Value)

	// Output:
	// first: true
	// second: false, because it is 11
}

// Of two servers, one does the work.
func ExampleAcquire() {
	ctx := context.Background()
	s := store.NewMemory(nil)
	for _, server := range []string{"server 1", "server 2"} {
		lease, there, err := store.Acquire(ctx, s, "nightly report", []byte(server), time.Minute)
		switch {
		case err != nil:
			fmt.Println(err)
		case lease == nil:
			fmt.Printf("%s: %s is at it\n", server, there.Value)
		default:
			fmt.Printf("%s: begins\n", server)
		}
	}
	// Output:
	// server 1: begins
	// server 2: server 1 is at it
}
