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
