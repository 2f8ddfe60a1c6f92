package scrub

import (
	"cmp"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// allTriggers returns each trigger of each rule once.
func allTriggers() []string {
	seen := make(map[string]bool)
	for _, r := range rules {
		for _, on := range r.on {
			seen[on] = true
		}
	}
	var all []string
	for on := range seen {
		all = append(all, on)
	}
	slices.Sort(all)
	return all
}

// work is how many bytes the rules look at.
func work(look *text, unit string, size int) (int, bool) {
	look.all = look.all[:0]
	ok := look.look(view{s: strings.Repeat(unit, size/len(unit)+1)[:size]}, everything, size)
	return look.work, ok
}

// TestWorkIsLinear repeats every pair of triggers, bare and with words between them, and compares the work for 3n bytes
// with that for n: it must be about three times as much, and far from the bound, since what reaches that is hidden whole.
func TestWorkIsLinear(t *testing.T) {
	triggers := allTriggers()
	require.Greater(t, len(triggers), 300)
	between := []string{"", " x ", "a=b;", "'\n"}
	stride, worstOnes := 8, 8
	switch {
	case racing || testing.Short():
		stride = 16
	case os.Getenv("MCPCHAIN_SOAK") != "":
		stride, worstOnes = 1, 60
	}
	keys := make(map[string]bool)
	for _, s := range shapes {
		keys[s.prefix] = true
	}
	for _, s := range slices.Concat(foreignTriggers[1:], toolNames()[1:]) {
		keys[s] = true
	}
	type worst struct {
		unit    string
		perByte float64
	}
	var all []worst
	var look text
	const n = 200
	refused, pairs := 0, 0
	var failed []string
	for i, a := range triggers {
		for j, b := range triggers {
			if (i+j)%stride != 0 || keys[a] && keys[b] && (31*i+j)%32 != 0 || keys[a] != keys[b] && (31*i+j)%4 != 0 {
				continue // they are rows of one table
			}
			sep := between[(i+j)%len(between)]
			unit := a + sep + b + sep
			pairs++
			small, _ := work(&look, unit, n)
			large, ok := work(&look, unit, 3*n)
			if !ok {
				refused++
				t.Log(unit)
			}
			if large > 4*small+atLeast {
				failed = append(failed, unit)
			}
			all = append(all, worst{unit, float64(large) / (3 * n)})
		}
	}
	slices.SortFunc(all, func(a, b worst) int { return cmp.Compare(b.perByte, a.perByte) })
	require.Empty(t, failed[:min(len(failed), 20)], "%d of %d", len(failed), pairs)
	t.Logf("%d pairs; the most work is %.1f looks at a byte, for %q", pairs, all[0].perByte, all[0].unit)
	require.Zero(t, refused, "pairs that reach the bound")
	for _, w := range all[:worstOnes] { // the worst of them at full size
		for _, size := range []int{20_000, 60_000} {
			if _, ok := work(&look, w.unit, size); !ok {
				t.Errorf("%q reaches the bound at %d bytes", w.unit, size)
			}
		}
	}
}

// TestLongValuesAreLinear: the values of many names that all go on to the end of a text are not searched one by one.
func TestLongValuesAreLinear(t *testing.T) {
	for _, unit := range []string{":pw", "{token1:server=", "token:(", "token=*", "secret:x", "/token:a"} {
		const times = 64 // it was 400 times as long
		small, large := strings.Repeat(unit, maxLen/times/len(unit)), strings.Repeat(unit, maxLen/len(unit))
		Credentials(small) // which builds what is built once
		parts, whole := time.Hour, 3*time.Hour
		for range 20 { // whatever else the machine does, while either of them runs
			start := time.Now()
			for range times {
				Credentials(small)
			}
			parts = min(parts, time.Since(start))
			start = time.Now()
			Credentials(large)
			if whole = min(whole, time.Since(start)); whole < 2*parts {
				break
			}
		}
		require.Less(t, whole, 3*parts, unit)
	}
}
