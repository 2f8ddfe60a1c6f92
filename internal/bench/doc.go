// Package bench compares package batch with others that do a part of the same. It is a
// module of its own, so that nobody who uses mcpchain downloads them.
//
//	go test -C internal/bench -v -run Ratios
//	go test -C internal/bench -bench .
package bench
