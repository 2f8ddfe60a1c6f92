package call

// deepen makes the stack of the goroutine 32 KB large, if it is smaller.
//
// The SDK runs each call in a goroutine of its own. Its stack begins with a few KB, and Go doubles it each
// time it is full, for which it copies all frames. The SDK's check of the arguments of a typed tool needs
// more than 16 KB. Without deepen the last copy is made there, of fifty frames, and takes 20 to 30 µs. Here
// there are ten small frames, and Go grows the stack at once as far as the frame of deepen requires. The
// stack is freed when the call has ended, and shrinks if the call waits for long.
//
//go:noinline
func deepen(fill bool) {
	if fill { // never: only the size of the frame counts, and nothing has to be cleared
		var room [16 << 10]byte
		write(&room)
	}
}

//go:noinline
func write(room *[16 << 10]byte) { room[0] = 1 }
