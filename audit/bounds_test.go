package audit

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// sealed returns a line of any text, with the hash that is right for it: what somebody can make
// of a log without a key.
func sealed(text string) string {
	return text + hashMember + string(newChain(nil).sum([]byte(text))) + lineEnd
}

// TestForgedLines: a right hash is not enough. What Verify accepts is what a log writes, to the byte.
func TestForgedLines(t *testing.T) {
	lines, heads := linesOf(t, nil, 3)
	before, after, _ := strings.Cut(string(lines[2]), `"time"`)
	body, _, _ := strings.Cut(`"time"`+after, hashMember)
	require.Equal(t, string(lines[2]), sealed(before+body), "the case is built as a log builds it")
	for about, line := range map[string]string{
		"a number with a zero before it": sealed(`{"seq":03,` + body),
		"a number with a sign":           sealed(`{"seq":+3,` + body),
		"a number that is too large":     sealed(`{"seq":18446744073709551619,` + body), // 3, if the carry is lost
		"a very long number":             sealed(`{"seq":3` + strings.Repeat("0", 100_000) + `,` + body),
		"no number":                      sealed(`{"seq":,` + body),
		"no member behind the number":    sealed(`{"seq":3` + strings.ReplaceAll(body, ",", ";")),
		"another number":                 sealed(`{"seq":4,` + body),
		"the number of the one before":   sealed(`{"seq":2,` + body),
		"another name for prev":          sealed(`{"seq":3,` + strings.Replace(body, `"prev"`, `"perv"`, 1)),
		"a blank behind prev":            sealed(`{"seq":3,` + strings.Replace(body, `"prev":`, `"prev" :`, 1)),
		"another prev":                   sealed(`{"seq":3,` + strings.Replace(body, heads[1].Hash, heads[0].Hash, 1)),
		"nothing":                        "", "only a number": `{"seq":3}`, "a number and a comma": `{"seq":3,`,
		"one byte too short": (`{"seq":3,` + strings.Repeat("x", 1000))[:len(seqMember)+len(prevMember)+2*hashLen+len(hashMember)+len(lineEnd)-1],
		"an object":          "{}",
		"a longer line":      strings.Repeat("x", 2*maxLine),
	} {
		mustBreak(t, Verifier{}, joined(append(slices.Clone(lines[:2]), []byte(line))), 2, about)
	}
	long, _ := newChain(nil).seal(heads[1], []byte(`{"time":"2026-07-28T12:00:00Z","target":"`+strings.Repeat("x", 500_000)+`"}`))
	_, err := Verify(joined(append(slices.Clone(lines[:2]), long)))
	require.NoError(t, err, "a long line is one")
}

// TestWhereALogIsBroken: the line is that of the reader, and after the first error there is nothing.
func TestWhereALogIsBroken(t *testing.T) {
	lines, heads := linesOf(t, nil, 6)
	changed := slices.Clone(lines)
	changed[4] = bytes.Replace(changed[4], []byte("pay"), []byte("buy"), 1)
	_, err := Verify(joined(changed[:3]), joined(changed[3:]))
	var broken *BreakError
	require.ErrorAs(t, err, &broken)
	require.Equal(t, []int{1, 2}, []int{broken.Log, broken.Line})
	require.Equal(t, heads[3], broken.After)

	seen := 0
	for r, err := range (Verifier{}).Records(joined(changed)) {
		if seen++; err != nil {
			require.Zero(t, r)
		}
	}
	require.Equal(t, 5, seen)

	// A chain that is right may have a line that is no JSON: that is the first error, too.
	noJSON, head := newChain(nil).seal(heads[1], []byte(`{"time":}`))
	more, _ := newChain(nil).seal(head, []byte(`{"time":"2026-07-28T12:00:00Z"}`))
	seen = 0
	var last error
	for _, err := range (Verifier{}).Records(joined([][]byte{lines[0], lines[1], noJSON, more})) {
		seen, last = seen+1, err
	}
	require.Equal(t, 3, seen)
	require.Error(t, last)

	// The furthest of the heads counts, not the last.
	_, err = Verifier{Heads: []Head{heads[5], heads[1]}}.Verify(joined(lines[:3]))
	require.ErrorIs(t, err, ErrBroken)
	require.ErrorContains(t, err, "record 6 was kept as a head")
}

func TestWhichFilesAreOfALog(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{
		"00000000000000000000.jsonl", "0000000000000000001.jsonl", "000000000000000000001.jsonl", "0000000000000000000x.jsonl", "00000000000000000001.json",
		"99999999999999999999.jsonl", "-0000000000000000001.jsonl", "torn-123", "lock", fileName(7), fileName(1),
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	names, err := Files(dir)
	require.NoError(t, err)
	require.Equal(t, []string{filepath.Join(dir, fileName(1)), filepath.Join(dir, fileName(7))}, names)
}

// TestATornOlderFile: nothing is written behind a line without an end, so it was no crash.
func TestATornOlderFile(t *testing.T) {
	lines, _ := linesOf(t, nil, 4)
	for about, newest := range map[string]string{"empty": "", "torn, too": `{"seq":4,"ti`} {
		dir := t.TempDir()
		older := bytes.Join(lines[:3], []byte("\n"))
		require.NoError(t, os.WriteFile(filepath.Join(dir, fileName(1)), append(older, `{"seq":4`...), 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(dir, fileName(4)), []byte(newest), 0o600))
		before := contentOf(t, dir)
		_, err := Open(dir, nil)
		require.ErrorIs(t, err, ErrBroken, about)
		require.ErrorContains(t, err, fileName(1)+" cannot be continued", about)
		require.Equal(t, before, contentOf(t, dir), "nothing is set aside")
	}
}

// TestAnOpenThatFails leaves the directory to others.
func TestAnOpenThatFails(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, open(t, dir, nil).Close())
	name := filepath.Join(dir, fileName(1))
	right, err := os.ReadFile(name)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(name, append(slices.Clone(right), "garbage\n"...), 0o600))
	_, err = Open(dir, nil)
	require.ErrorIs(t, err, ErrBroken)
	require.NoError(t, os.WriteFile(name, right, 0o600))
	l := open(t, dir, nil)
	require.NoError(t, l.Close())
	require.NoError(t, open(t, dir, nil).Close(), "and so does a Close")
}

// TestCloseEndsTheSinkOnce, and never while it works.
func TestCloseEndsTheSinkOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := 0
		l := NewLog((&keeper{}).keep, nil)
		l.end = func() error { ended++; return nil }
		require.NoError(t, l.Close())
		require.ErrorIs(t, l.Close(), errClosed)
		require.Equal(t, 1, ended)

		for _, late := range []bool{false, true} {
			release := make(chan struct{})
			k := &keeper{do: func() error { <-release; return nil }}
			l := NewLog(k.keep, nil)
			l.end = func() error { ended++; return nil }
			if !late {
				require.ErrorIs(t, add(l), errTooLate)
				require.ErrorIs(t, l.Close(), errStuck)
			} else {
				require.ErrorIs(t, l.Close(), errTooLate)
			}
			require.Equal(t, 1, ended, "who is stuck may still write")
			require.ErrorIs(t, add(l), errClosed)
			close(release)
			synctest.Wait()
			require.ErrorIs(t, add(l), errClosed, "it stays closed")
		}

		// The same for a sink of somebody else's.
		release := make(chan struct{})
		k := &keeper{do: func() error { <-release; return nil }}
		l = NewLog(k.keep, nil)
		require.ErrorIs(t, add(l), errTooLate)
		require.ErrorIs(t, l.Close(), errStuck)
		close(release)
		synctest.Wait()
		require.ErrorIs(t, add(l), errClosed)

		// A sink that fails is closed all the same, and Close returns its error.
		k = &keeper{do: func() error { return errDisk }}
		l = NewLog(k.keep, nil)
		l.end = func() error { ended++; return errors.New("the end") }
		err := l.Close()
		require.ErrorIs(t, err, errDisk)
		require.ErrorContains(t, err, "the end")
		require.Equal(t, 2, ended)
	})
}
