package transport

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/internal/exchange"
)

// newPosted returns a body as [HTTP] makes it, with what the client says of its length.
func newPosted(t testing.TB, l *limits, body io.Reader, announced int64) *posted {
	x := exchange.New()
	t.Cleanup(x.End)
	req := httptest.NewRequest(http.MethodPost, "/", nil)
	req.ContentLength = announced
	return &posted{ReadCloser: io.NopCloser(body), limits: l, request: req, exchange: x}
}

func filler(n int) []byte { return bytes.Repeat([]byte("0123456789abcde\n"), n/16+1)[:n] }

// TestBodiesAreKeptOnce: whatever a client announces and however it sends, the bytes are those that came, and what
// is held for them has a bound.
func TestBodiesAreKeptOnce(t *testing.T) {
	for _, size := range []int{0, 1, 4095, 4096, 4097, 70_000, 3 << 20, 9 << 20} {
		for _, announced := range []int64{int64(size), -1, int64(size / 2)} { // the last as behind a handler that decodes
			for name, way := range map[string]func(io.Reader) io.Reader{
				"whole": func(r io.Reader) io.Reader { return r }, "with its end": iotest.DataErrReader, "in halves": iotest.HalfReader,
			} {
				want, l := filler(size), newLimits(Bounds{AllBytes: -1})
				b := newPosted(t, l, way(bytes.NewReader(want)), announced)
				got, err := b.Bytes()
				require.NoError(t, err, name)
				require.True(t, bytes.Equal(want, got), name)
				_, all := l.bodies.Held("")
				require.Equal(t, int64(cap(b.kept)), all, "what is counted is what is held")
				if announced == int64(size) {
					require.EqualValues(t, size, all, name)
				} else {
					require.LessOrEqual(t, all, int64(size+size/growth+leastArray), name)
				}
				again, err := b.Bytes()
				require.NoError(t, err)
				require.True(t, len(want) == 0 || &got[0] == &again[0], "it is not copied")
				_, err = b.Read(make([]byte, 1))
				require.Equal(t, io.EOF, err)

				b = newPosted(t, l, way(bytes.NewReader(want)), announced)
				got, err = io.ReadAll(b)
				require.NoError(t, err)
				require.True(t, bytes.Equal(want, got), name)
				require.True(t, bytes.Equal(want, b.kept), name)
			}
		}
	}
}

// TestAnnouncedBodiesCostWhatCame: who announces 9 MiB and sends a little takes a little.
func TestAnnouncedBodiesCostWhatCame(t *testing.T) {
	l := newLimits(Bounds{})
	for _, sent := range []int{0, 1, 4096, 5000, 100_000, 1 << 20} {
		b := newPosted(t, l, io.MultiReader(bytes.NewReader(filler(sent)), iotest.ErrReader(io.ErrUnexpectedEOF)), 9<<20)
		_, err := b.Bytes()
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		_, all := l.bodies.Held("")
		require.LessOrEqual(t, all, int64(leastArray+growth*sent), sent)
		b.giveBack(b.held)
		_, all = l.bodies.Held("")
		require.Zero(t, all)
	}
}
