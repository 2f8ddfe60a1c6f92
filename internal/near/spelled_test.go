package near

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSpelled(t *testing.T) {
	for _, c := range []struct {
		want string
		pool []string
		only string
	}{
		{"ASCENDING", []string{"ascending", "descending"}, "ascending"},
		{" Open ", []string{"open", "opened"}, "open"},
		{"in-progress", []string{"in_progress", "in_progress_2"}, "in_progress"},
		{"inProgress", []string{"done", "in_progress"}, "in_progress"},
		{"in_progress", []string{"inProgress"}, "inProgress"},
		{"IN PROGRESS", []string{"in-progress"}, "in-progress"},
		{"Asc", []string{"ASC", "asc"}, ""},
		{"ASC", []string{"ASC", "asc"}, ""},
		{"by day", []string{"by-day", "by_day"}, ""},
		{"By-Day", []string{"by-day", "by_day"}, "by-day"}, // but for the case it is that one
		{"asc", []string{"ASC", "ASC"}, "ASC"},
		{"re-sort", []string{"resort"}, ""},
		{"1.0", []string{"10", "1_0"}, ""},
		{"-1", []string{"1"}, ""},
		{"open", nil, ""},
		{"", []string{"", "a"}, ""},
		{strings.Repeat("a", 1000), []string{strings.Repeat("A", 1000)}, ""},
		{strings.Repeat("a-", 200), []string{strings.Repeat("a_", 100)}, ""},
		{"\xff", []string{"\xfe"}, ""},
	} {
		require.Equal(t, c.only, Spelled(c.want, c.pool), "%q %q", c.want, c.pool)
	}
}

func TestNearest(t *testing.T) {
	require.Equal(t, []string{"abd", "axx", "long"}, Nearest("abc", []string{"long", "axx", "abd"}, 5))
	require.Equal(t, []string{"b", "c"}, Nearest("a", []string{"b", "c", "d"}, 2), "in their order")
	require.Equal(t, []string{"x", "y"}, Nearest("", []string{"x", "y", "z"}, 2))
	long := strings.Repeat("z", 100)
	require.Equal(t, []string{"zzz", long}, Nearest("q", []string{long, "zzz"}, 2))
	require.Empty(t, Nearest("q", nil, 2))
	var pool []string
	for i := range 2 * maxPool {
		pool = append(pool, strconv.Itoa(i))
	}
	require.Equal(t, []string{"400", "1000", "40"}, Nearest("40000", pool, 3))
}
