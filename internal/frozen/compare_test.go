package frozen_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A difference is a case that is not what it was: its first line that differs, before and
// after. A line that is not there is "".
type difference struct{ name, before, after string }

// compare returns the cases that differ between two files, sorted by their names.
func compare(before, after string) []difference {
	was, is := paragraphs(before), paragraphs(after)
	var found []difference
	for name, text := range was {
		now, there := is[name]
		switch {
		case !there:
			found = append(found, difference{name, "(the case)", "(no such case)"})
		case now != text:
			a, b := firstDifference(text, now)
			found = append(found, difference{name, a, b})
		}
	}
	for name := range is {
		if _, there := was[name]; !there {
			found = append(found, difference{name, "(no such case)", "(the case)"})
		}
	}
	slices.SortFunc(found, func(a, b difference) int { return strings.Compare(a.name, b.name) })
	return found
}

func paragraphs(file string) map[string]string {
	all := map[string]string{}
	for _, text := range strings.Split("\n"+file, "\n== ")[1:] {
		name, body, _ := strings.Cut(text, "\n")
		all[name] = strings.TrimRight(body, "\n")
	}
	return all
}

func firstDifference(before, after string) (was, is string) {
	a, b := strings.Split(before, "\n"), strings.Split(after, "\n")
	for i := range max(len(a), len(b)) {
		was, is = "", ""
		if i < len(a) {
			was = a[i]
		}
		if i < len(b) {
			is = b[i]
		}
		if was != is {
			break
		}
	}
	return was, is
}

// varying is what tells the differences of one class apart.
var varying = regexp.MustCompile(`\d+|'[^']*'`)

// report shows differences by class, the largest first: how many there are, the two lines of
// the first of them, and the names.
func report(differences []difference) string {
	classes := map[string][]difference{}
	for _, d := range differences {
		class := varying.ReplaceAllString(d.before+"\n"+d.after, "#")
		classes[class] = append(classes[class], d)
	}
	keys := slices.SortedFunc(maps.Keys(classes), func(a, b string) int {
		if n := len(classes[b]) - len(classes[a]); n != 0 {
			return n
		}
		return strings.Compare(a, b)
	})
	const shown = 20
	var out strings.Builder
	fmt.Fprintf(&out, "%d cases differ, in %d classes\n", len(differences), len(keys))
	for _, key := range keys {
		class := classes[key]
		fmt.Fprintf(&out, "\n%d x\n- %s\n+ %s\n", len(class), class[0].before, class[0].after)
		for _, d := range class[:min(len(class), shown)] {
			fmt.Fprintf(&out, "    %s\n", d.name)
		}
		if more := len(class) - shown; more > 0 {
			fmt.Fprintf(&out, "    ... and %d more\n", more)
		}
	}
	return out.String()
}

// disapproved returns the differences that no pattern allows, and the patterns that allow none.
func disapproved(differences []difference, approvals string) (rest []difference, unused []string) {
	type approval struct {
		text    string
		pattern *regexp.Regexp
		used    bool
	}
	var all []*approval
	for line := range strings.Lines(approvals) {
		text, _, _ := strings.Cut(line, "#")
		if text = strings.TrimSpace(text); text != "" {
			pattern := strings.ReplaceAll(regexp.QuoteMeta(text), `\*`, ".*")
			all = append(all, &approval{text: text, pattern: regexp.MustCompile("^" + pattern + "$")})
		}
	}
	for _, d := range differences {
		allowed := false
		for _, a := range all {
			if a.pattern.MatchString(d.name) {
				a.used, allowed = true, true
			}
		}
		if !allowed {
			rest = append(rest, d)
		}
	}
	for _, a := range all {
		if !a.used {
			unused = append(unused, a.text)
		}
	}
	return rest, unused
}

func TestComparison(t *testing.T) {
	before := "== a\none\ntwo\n\n== b\none 1\n\n== c\none 2\n\n== gone\nx\n\n== same\ny\n"
	after := "== a\none\nthree\n\n== b\ntwo 1\n\n== c\ntwo 2\n\n== fresh\nx\n\n== same\ny\n"
	found := compare(before, after)
	require.Equal(t, []difference{
		{"a", "two", "three"}, {"b", "one 1", "two 1"}, {"c", "one 2", "two 2"},
		{"fresh", "(no such case)", "(the case)"}, {"gone", "(the case)", "(no such case)"},
	}, found)
	require.Empty(t, compare(before, before))
	text := report(found)
	require.True(t, strings.HasPrefix(text, "5 cases differ, in 4 classes\n\n2 x\n- one 1\n+ two 1\n    b\n    c\n"), text)

	rest, unused := disapproved(found, "# why\na # it was two\nfr* # new\nnone*\n")
	require.Equal(t, []string{"none*"}, unused)
	require.Len(t, rest, 3)
	rest, unused = disapproved(found, "*")
	require.Empty(t, rest)
	require.Empty(t, unused)
}
