package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/fault"
)

var testKey = []byte("0123456789abcdef")

// recordOf returns a record like those of calls, another one for each n.
func recordOf(n int) Record {
	return Record{
		Time: time.Unix(int64(n), 0).UTC(), Event: eventCall, Method: "tools/call", Target: "pay", Owner: "user:ada",
		Arguments: json.RawMessage(fmt.Sprintf(`{"n":%d}`, n)), Outcome: "ok", Effect: fault.EffectNone,
	}
}

// linesOf returns the lines of a log of n records.
func linesOf(t testing.TB, key []byte, n int) (lines [][]byte, heads []Head) {
	t.Helper()
	c, head := newChain(key), Head{}
	for i := range n {
		r := recordOf(i)
		body, err := json.Marshal(&r)
		require.NoError(t, err)
		var line []byte
		line, head = c.seal(head, body)
		lines, heads = append(lines, line), append(heads, head)
	}
	return lines, heads
}

func joined(lines [][]byte) *bytes.Reader {
	return bytes.NewReader(append(bytes.Join(lines, []byte("\n")), '\n'))
}

// mustBreak fails unless the log is found to be broken at a record.
func mustBreak(t testing.TB, v Verifier, log io.Reader, after int, about string) {
	t.Helper()
	head, err := v.Verify(log)
	var broken *BreakError
	require.ErrorAs(t, err, &broken, about)
	require.EqualValues(t, after, head.Seq, "%s: %v", about, err)
	require.Equal(t, head, broken.After, about)
}

// TestEveryChangeIsFound makes every single change of every kind in a small log: every byte
// is flipped in each of its bits, every record removed, doubled, replaced, and swapped with
// every other one. Without MCPCHAIN_SOAK one bit of each byte is flipped.
func TestEveryChangeIsFound(t *testing.T) {
	for name, key := range map[string][]byte{"plain": nil, "keyed": testKey} {
		t.Run(name, func(t *testing.T) {
			const n = 4
			lines, heads := linesOf(t, key, n)
			v := Verifier{Key: key}
			head, err := v.Verify(joined(lines))
			require.NoError(t, err)
			require.Equal(t, heads[n-1], head)

			whole, err := io.ReadAll(joined(lines))
			require.NoError(t, err)
			at := 0
			for i, b := range whole {
				for bit := range 8 {
					if bit != i%8 && os.Getenv("MCPCHAIN_SOAK") == "" {
						continue
					}
					log := slices.Clone(whole)
					log[i] = b ^ 1<<bit
					head, err := v.Verify(bytes.NewReader(log))
					require.Errorf(t, err, "bit %d of byte %d", bit, i)
					require.EqualValues(t, at, head.Seq, "what is before it is proven")
				}
				log := slices.Delete(slices.Clone(whole), i, i+1)
				mustBreak(t, v, bytes.NewReader(log), at, "a byte is missing")
				log = slices.Insert(slices.Clone(whole), i, 'x')
				mustBreak(t, v, bytes.NewReader(log), at, "a byte was inserted")
				if b == '\n' {
					at++
				}
			}
			other, _ := linesOf(t, key, n+1)
			other = other[1:] // records of another log
			for i := range n {
				last := i == n-1
				if !last { // that the last is missing, heads tell
					mustBreak(t, v, joined(slices.Delete(slices.Clone(lines), i, i+1)), i, "a record is missing")
				}
				mustBreak(t, v, joined(slices.Insert(slices.Clone(lines), i, lines[i])), i+1, "a record is doubled")
				mustBreak(t, v, joined(slices.Insert(slices.Clone(lines), i, []byte{})), i, "an empty line")
				mustBreak(t, v, joined(slices.Insert(slices.Clone(lines), i, other[(i+2)%n])), i, "a record of another place")
				for j := range i {
					log := slices.Clone(lines)
					log[i], log[j] = log[j], log[i]
					mustBreak(t, v, joined(log), j, "two records are swapped")
					moved := slices.Insert(slices.Delete(slices.Clone(lines), i, i+1), j, lines[i])
					mustBreak(t, v, joined(moved), j, "a record was moved")
				}
				for cut := range len(lines[i]) {
					log, err := io.ReadAll(joined(lines[:i+1]))
					require.NoError(t, err)
					head, err := v.Verify(bytes.NewReader(log[:len(log)-1-cut]))
					require.ErrorIs(t, err, ErrBroken)
					require.EqualValues(t, i, head.Seq)
				}
			}
		})
	}
}

// TestMillionRecords makes a flip, a cut, a swap and a doubling at every record of a long
// log. What Verify says of a line depends on the line and the head before it alone, and
// the head is that of records which are not changed: so the line where a change begins is
// asked for each, and whole logs are read for some.
func TestMillionRecords(t *testing.T) {
	n := 20_000
	if os.Getenv("MCPCHAIN_SOAK") != "" {
		n = 1_000_000
	}
	random := rand.New(rand.NewPCG(1, 2))
	c, check := newChain(nil), newChain(nil)
	body := func(i int) []byte {
		return fmt.Appendf(nil, `{"time":"2026-07-28T12:00:00Z","event":"call","target":"t%d"}`, i)
	}
	var prev Head
	var changed []byte
	line, head := c.seal(Head{}, body(0))
	for i := range n {
		next, after := c.seal(head, body(i+1))
		_, _, reason := check.open(prev, line)
		if reason != "" {
			t.Fatalf("record %d is right, and %s", i, reason)
		}
		changed = append(changed[:0], line...)
		changed[random.IntN(len(changed))] ^= 1 << random.IntN(8)
		for _, c := range [...]struct {
			what  string
			after Head
			line  []byte
		}{{"flip", prev, changed}, {"cut or swap", prev, next}, {"doubling", head, line}} {
			if _, _, reason := check.open(c.after, c.line); reason == "" {
				t.Fatalf("%s at record %d was not found", c.what, i)
			}
		}
		prev, head, line = head, after, next
	}
	for _, change := range []struct {
		name string
		make func(i int, line []byte) []byte
		kept int // how many records are right before it
	}{
		{"flip", func(i int, line []byte) []byte {
			if i == n-2 {
				line[40] ^= 1
			}
			return line
		}, n - 2},
		{"cut", func(i int, line []byte) []byte {
			if i == n/2 {
				return nil
			}
			return line
		}, n / 2},
	} {
		got, err := Verify(&generated{c: newChain(nil), body: body, n: n, change: change.make})
		require.EqualValues(t, change.kept, got.Seq, change.name)
		require.ErrorIs(t, err, ErrBroken, change.name)
	}
}

// generated is a log that is made while it is read.
type generated struct {
	c      chain
	head   Head
	body   func(i int) []byte
	i, n   int
	change func(i int, line []byte) []byte
	rest   []byte
}

func (g *generated) Read(p []byte) (int, error) {
	for len(g.rest) == 0 {
		if g.i == g.n {
			return 0, io.EOF
		}
		var line []byte
		line, g.head = g.c.seal(g.head, g.body(g.i))
		if line = g.change(g.i, line); line != nil {
			g.rest = append(g.rest, append(line, '\n')...)
		}
		g.i++
	}
	n := copy(p, g.rest)
	g.rest = g.rest[n:]
	return n, nil
}

func TestHeads(t *testing.T) {
	lines, heads := linesOf(t, nil, 9)
	for kept := range lines {
		for end := 1; end <= len(lines); end++ {
			_, err := Verifier{Heads: []Head{heads[0], heads[kept]}}.Verify(joined(lines[:end]))
			if kept >= end {
				require.ErrorIs(t, err, ErrBroken)
			} else {
				require.NoError(t, err)
			}
		}
	}
	_, err := Verifier{Heads: []Head{heads[3]}}.Verify()
	require.ErrorIs(t, err, ErrBroken, "everything is missing")

	// Who computes the rest of the chain anew is found by a head, and by nothing else.
	forged := slices.Clone(lines[:4])
	c, head := newChain(nil), heads[3]
	for range 5 {
		body, err := json.Marshal(recordOf(99))
		require.NoError(t, err)
		var line []byte
		line, head = c.seal(head, body)
		forged = append(forged, line)
	}
	_, err = Verify(joined(forged))
	require.NoError(t, err)
	_, err = Verifier{Heads: []Head{heads[6]}}.Verify(joined(forged))
	require.ErrorIs(t, err, ErrBroken)
	require.ErrorContains(t, err, "log 1, line 7, after record 6: it is not the record whose head was kept")
	_, err = Verifier{Heads: []Head{heads[6], {Seq: 7, Hash: strings.Repeat("0", 64)}}}.Verify(joined(lines))
	require.ErrorContains(t, err, "contradict")
}

// TestHeadsAgainstFrom: where a verification begins is one of the things that were kept, so a
// head of that place has to be the same.
func TestHeadsAgainstFrom(t *testing.T) {
	lines, heads := linesOf(t, nil, 6)
	other := Head{Seq: 3, Hash: strings.Repeat("0", hashLen)}
	for about, c := range map[string]struct {
		from Head
		kept []Head
		want string
	}{
		"the same":                        {heads[2], []Head{heads[2]}, ""},
		"older ones are not looked at":    {heads[2], []Head{{Seq: 2, Hash: other.Hash}}, ""},
		"another hash":                    {heads[2], []Head{other}, "contradict"},
		"another hash among others":       {heads[2], []Head{heads[1], heads[4], other}, "contradict"},
		"no hash":                         {heads[2], []Head{{Seq: 3}}, "contradict"},
		"From itself has no hash":         {Head{Seq: 3}, []Head{heads[2]}, "contradict"},
		"the beginning in two spellings":  {Head{}, []Head{{}, {Hash: genesis}, {}}, ""},
		"From is wrong, and so is a head": {other, []Head{other}, "records before it are missing"},
	} {
		rest := lines[c.from.Seq:]
		head, err := Verifier{From: c.from, Heads: c.kept}.Verify(joined(rest))
		if c.want == "" {
			require.NoError(t, err, about)
			require.Equal(t, heads[5], head, about)
			continue
		}
		require.ErrorIs(t, err, ErrBroken, about)
		require.ErrorContains(t, err, c.want, about)
		require.Equal(t, c.from, head, "%s: nothing after From is proven", about)
	}
	// Nothing is written after From yet.
	_, err := Verifier{From: heads[2], Heads: []Head{heads[2]}}.Verify(strings.NewReader(""))
	require.NoError(t, err)
	_, err = Verifier{From: heads[2], Heads: []Head{heads[3]}}.Verify(strings.NewReader(""))
	require.ErrorIs(t, err, ErrBroken)
}

// TestKey: without the key nobody can make a log that it accepts.
func TestKey(t *testing.T) {
	keyed, _ := linesOf(t, testKey, 3)
	plain, _ := linesOf(t, nil, 3)
	for about, c := range map[string]struct {
		key   []byte
		lines [][]byte
	}{
		"a plain log": {testKey, plain}, "no key": {nil, keyed}, "another key": {[]byte("another key 1234"), keyed},
	} {
		mustBreak(t, Verifier{Key: c.key}, joined(c.lines), 0, about)
	}
}

func TestParts(t *testing.T) {
	lines, heads := linesOf(t, nil, 10)
	head, err := Verify(joined(lines[:4]), joined(lines[4:5]), strings.NewReader(""), joined(lines[5:]))
	require.NoError(t, err)
	require.Equal(t, heads[9], head)

	head, err = Verifier{From: heads[3], Heads: []Head{heads[1], heads[3], heads[7]}}.Verify(joined(lines[4:]))
	require.NoError(t, err)
	require.Equal(t, heads[9], head)

	_, err = Verify(joined(lines[4:]))
	require.ErrorContains(t, err, "log 1, line 1, after record 0: the log does not begin here: give Verifier.From")
	_, err = Verifier{From: heads[2]}.Verify(joined(lines[4:]))
	require.ErrorIs(t, err, ErrBroken)
	_, err = Verify(joined(lines[4:]), joined(lines[:4]))
	require.ErrorIs(t, err, ErrBroken)
	_, err = Verify(bytes.NewReader(bytes.Join(lines[:3], []byte("\n"))), joined(lines[3:]))
	require.ErrorIs(t, err, ErrBroken, "only the last part may be torn")
	_, err = Verify(io.MultiReader(joined(lines), &failing{}))
	require.ErrorIs(t, err, errDisk)
	_, err = Verify(strings.NewReader(strings.Repeat("x", 3<<20)))
	require.ErrorIs(t, err, ErrBroken)
}

var errDisk = errors.New("the disk is broken")

type failing struct{}

func (*failing) Read([]byte) (int, error) { return 0, errDisk }

// FuzzVerify: what Verify accepts is a log that was sealed, to the byte.
func FuzzVerify(f *testing.F) {
	lines, _ := linesOf(f, nil, 3)
	whole, err := io.ReadAll(joined(lines))
	require.NoError(f, err)
	f.Add(whole)
	f.Add(whole[:len(whole)-1])
	f.Add([]byte("{}\n"))
	f.Add([]byte(`{"seq":1,` + strings.Repeat(`","prev":"`, 30) + "\"}\n"))
	f.Add([]byte(`{"seq":18446744073709551616,"prev":"` + genesis + `","hash":"` + genesis + "\"}\n"))
	f.Fuzz(func(t *testing.T, log []byte) {
		head, err := Verify(bytes.NewReader(log))
		if err != nil {
			require.ErrorIs(t, err, ErrBroken)
			return
		}
		c, again := newChain(nil), Head{}
		var out []byte
		for line := range bytes.Lines(log) {
			body := line[bytes.IndexByte(line, ',')+1 : bytes.LastIndex(line, []byte(prevMember))]
			sealed, next := c.seal(again, append(append([]byte("{"), body...), '}'))
			out, again = append(append(out, sealed...), '\n'), next
		}
		require.Equal(t, string(log), string(out))
		require.Equal(t, head, again)
	})
}
