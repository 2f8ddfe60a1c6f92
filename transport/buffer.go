package transport

import "slices"

// A buffer keeps what was read of a body. It is one array if the length is known, which grows to exactly
// that as bytes arrive: who announces much and sends little takes little. Else it is a list of arrays, none of
// which is copied until the whole is asked for.
type buffer struct {
	announced int64    // the length of the body; negative if it is not known
	most      int64    // that it may have; not positive for no bound
	full      [][]byte // arrays before last, in their order
	last      []byte
	size      int // bytes in all of them
}

// The sizes of arrays.
const (
	leastArray = 4 << 10
	mostArray  = 1 << 20 // if the length is not known
	growth     = 4       // of the array, or of the list in quarters
)

// complete reports whether as many bytes have come as were announced, or may come. A handler outside that
// decodes bodies may leave the length as it was, so more can come.
func (b *buffer) complete() bool {
	return int64(b.size) == b.announced || b.most > 0 && int64(b.size) == b.most
}

// need returns how many bytes more the buffer holds after grow, zero if there is room.
func (b *buffer) need() int {
	switch {
	case len(b.last) < cap(b.last):
		return 0
	case b.exact():
		return b.next() - cap(b.last)
	default:
		return b.next()
	}
}

// exact reports whether the whole body is to be one array.
func (b *buffer) exact() bool { return int64(b.size) < b.announced && len(b.full) == 0 }

// next returns the size of the next array.
func (b *buffer) next() int {
	if b.exact() {
		return int(min(b.announced, int64(max(leastArray, growth*b.size))))
	}
	next := min(max(leastArray, b.size/growth), mostArray)
	if rest := b.most - int64(b.size); rest > 0 {
		next = int(min(int64(next), rest))
	}
	return next
}

// grow makes room for at least one byte.
func (b *buffer) grow() {
	next := make([]byte, 0, b.next())
	if b.exact() {
		b.last = append(next, b.last...)
		return
	}
	if len(b.last) > 0 {
		b.full = append(b.full, b.last)
	}
	b.last = next
}

// held returns how many bytes the arrays have room for.
func (b *buffer) held() (n int) {
	for _, one := range b.full {
		n += cap(one)
	}
	return n + cap(b.last)
}

// room is where the next bytes go; commit says how many came.
func (b *buffer) room() []byte { return b.last[len(b.last):cap(b.last)] }

func (b *buffer) commit(n int) []byte {
	b.size += n
	b.last = b.last[:len(b.last)+n]
	return b.last[len(b.last)-n:]
}

// whole returns all bytes, in one array. For the moment of the copy there is one array more, which nobody counts:
// there are as many such moments at once as processors.
func (b *buffer) whole() []byte {
	if len(b.full) > 0 {
		b.last = slices.Concat(append(b.full, b.last)...)
		b.full = nil
	}
	return b.last
}
