package apart

// deepen makes the stack of the goroutine 8 KB large, if it is smaller.
//
// A goroutine begins with 2 KB. A handler of slog, the most frequent function that is run apart, needs more than
// 4 KB: Go would copy its frames twice, the second time at the deepest of them. Here there are none yet.
//
//go:noinline
func deepen(fill bool) {
	if fill { // never: only the size of the frame counts, and nothing has to be cleared
		var room [6 << 10]byte
		write(&room)
	}
}

//go:noinline
func write(room *[6 << 10]byte) { room[0] = 1 }
