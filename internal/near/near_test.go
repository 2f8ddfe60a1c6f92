package near

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestMatches(t *testing.T) {
	for _, tc := range []struct {
		name string
		want string
		pool []string
		got  []string
	}{
		{"replaced", "customer", []string{"costomer", "order"}, []string{"costomer"}},
		{"inserted", "custommer", []string{"customer"}, []string{"customer"}},
		{"deleted", "custmer", []string{"customer"}, []string{"customer"}},
		{"transposed is one edit", "alpah", []string{"alpha"}, []string{"alpha"}},
		{"transposed at the start", "lapha", []string{"alpha"}, []string{"alpha"}},
		{"transposed at the end", "alhpa", []string{"alpha"}, []string{"alpha"}},
		{"transposed in three", "cta", []string{"cat"}, []string{"cat"}},
		{"two edits of six", "serach", []string{"search", "march"}, []string{"search"}},
		{"three edits of six", "sxxxch", []string{"search"}, nil},

		{"case", "LIST_USERS", []string{"list_users"}, []string{"list_users"}},
		{"separators", "list users", []string{"list-users", "list_users", "list.users"}, []string{"list-users", "list_users", "list.users"}},
		{"separator left out", "listusers", []string{"list_users"}, []string{"list_users"}},

		{"beginning", "list", []string{"list_users"}, []string{"list_users"}},
		{"too much of it", "list_users_of_project", []string{"list_users"}, []string{"list_users"}},
		{"ending", "users", []string{"list_users"}, []string{"list_users"}},
		{"middle is neither", "users", []string{"list_users_of"}, nil},
		{"beginning of three is too short", "lis", []string{"list_users"}, nil},
		{"ending of three is too short", "ers", []string{"list_users"}, nil},
		{"edits stand before a beginning", "users", []string{"users_of_project", "user"}, []string{"user", "users_of_project"}},
		{"the nearer beginning first", "user", []string{"user_of_project", "user_list"}, []string{"user_list", "user_of_project"}},

		{"a directory and an extension in common", "/srv/data/zzzzzz.txt", []string{"/srv/data/notes.txt", "/srv/data/orders.txt", "/srv/data/q.txt"}, nil},
		{"a misspelled file", "/srv/data/noets.txt", []string{"/srv/data/votes.csv", "/srv/data/notes.txt"}, []string{"/srv/data/notes.txt"}},
		{"a misspelled directory", "/srv/daat/notes.txt", []string{"/srv/data/notes.txt", "/srv/logs/notes.txt"}, []string{"/srv/data/notes.txt"}},
		{"the address of a resource", "file:///home/ada/projects/zzzz", []string{"file:///home/ada/projects/wiki", "file:///home/ada/projects/zzz"}, []string{"file:///home/ada/projects/zzz"}},
		{"a query in common", "db://orders?limit=10&sort=asc", []string{"db://people?limit=10&sort=asc", "db://order?limit=10&sort=asc"}, []string{"db://order?limit=10&sort=asc"}},
		{"an ending in common", "sales-report-of-the-quarter", []string{"visit-report-of-the-quarter", "sale-report-of-the-quarter"}, []string{"sale-report-of-the-quarter"}},
		{"a beginning in common", "acme_internal_billing_zzzz", []string{"acme_internal_billing_list", "acme_internal_billing_zzz"}, []string{"acme_internal_billing_zzz"}},
		{"a beginning in common, in humps", "getCustomerZzzz", []string{"getCustomerName", "getCustomerZzz"}, []string{"getCustomerZzz"}},
		{"other humps are the same word", "getcustomername", []string{"getCustomerNmae", "getCustomerDate"}, []string{"getCustomerNmae"}},
		{"another verb is another tool", "delete_user_orders", []string{"select_user_orders", "update_user_orders", "delet_user_orders"}, []string{"delet_user_orders"}},
		{"a word of one letter", "item_z", []string{"item_a", "item_zz", "item"}, []string{"item_zz", "item"}},
		{"a word of two letters", "user_ix", []string{"user_id", "user_ab", "user_xi"}, []string{"user_id", "user_xi"}},
		{"a word too many", "list_my_customers", []string{"list_customers", "list_customer"}, []string{"list_customers"}},
		{"two words", "lsit_uesrs", []string{"list_users"}, []string{"list_users"}},

		{"one character", "a", []string{"b", "ab"}, nil},
		{"one character, other case", "a", []string{"A"}, []string{"A"}},
		{"two characters", "ab", []string{"ac", "abc", "ba"}, nil},
		{"three characters", "abc", []string{"xbc", "ab", "abcd"}, []string{"abcd", "xbc"}},
		{"the shorter one counts", "ab", []string{"abc"}, nil},

		{"letters of other scripts", "Москва", []string{"москав", "Минск"}, []string{"москав"}},
		{"one character of several bytes is one edit", "größe", []string{"grösse", "grosse", "größer"}, []string{"größer"}},
		{"chinese", "天气预报", []string{"天气预告", "新闻"}, []string{"天气预告"}},
		{"broken UTF-8", "al\xffpha", []string{"alpha"}, []string{"alpha"}},

		{"nothing close", "weather", []string{"invoice", "customer", "order"}, nil},
		{"no pool", "weather", nil, nil},
		{"empty pool", "weather", []string{}, nil},
		{"empty name", "", []string{"", "a", "weather"}, nil},
		{"empty names in the pool", "weather", []string{"", "wheather", ""}, []string{"wheather"}},
		{"never itself", "alpha", []string{"alpha"}, nil},
		{"never itself, but others", "alpha", []string{"alpha", "alphb"}, []string{"alphb"}},
		{"duplicates", "alpah", []string{"alpha", "alpha", "alpaz", "alpha", "alpaz"}, []string{"alpaz", "alpha"}},

		{"closest first", "search", []string{"serrchh", "seerch", "SEARCH"}, []string{"SEARCH", "seerch", "serrchh"}},
		{"equally close: the longer beginning first", "abcdef", []string{"xbcdef", "abcdex", "abxdef"}, []string{"abcdex", "abxdef", "xbcdef"}},
		{"else the order of the pool", "abcdef", []string{"abcdez", "abcdey", "abcdex"}, []string{"abcdez", "abcdey", "abcdex"}},
		{"five at most", "itemz", []string{"itema", "itemb", "itemc", "itemd", "iteme", "itemf", "itemg"}, []string{"itema", "itemb", "itemc", "itemd", "iteme"}},
		{"a better one pushes the last one out", "itemz", []string{"itema", "itemb", "itemc", "itemd", "iteme", "ItemZ"}, []string{"ItemZ", "itema", "itemb", "itemc", "itemd"}},
		{
			"64 characters are compared", strings.Repeat("ab", 32),
			[]string{strings.Repeat("ab", 31) + "ba"},
			[]string{strings.Repeat("ab", 31) + "ba"},
		},
		{"65 are not", strings.Repeat("ab", 32) + "c", []string{strings.Repeat("ab", 32)}, nil},
		{"65 in the pool are not", strings.Repeat("ab", 32), []string{strings.Repeat("ab", 32) + "c", strings.Repeat("AB", 32)}, []string{strings.Repeat("AB", 32)}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			pool := slices.Clone(tc.pool)
			require.Equal(t, tc.got, Matches(tc.want, pool))
			require.Equal(t, tc.pool, pool, "the pool was changed")
		})
	}
}

func TestDistanceIsOptimalStringAlignment(t *testing.T) {
	for _, tc := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"abc", "abc", 0}, {"ab", "ba", 1}, {"abcd", "acbd", 1},
		{"ca", "abc", 3},        // unrestricted Damerau-Levenshtein says 2
		{"abcdef", "badcfe", 3}, // three swaps
		{"kitten", "sitting", 3}, {"a", "b", 1}, {"abc", "cab", 2},
	} {
		require.Equal(t, tc.want, distanceOf(tc.a, tc.b), "%q %q", tc.a, tc.b)
		require.Equal(t, tc.want, reference([]rune(tc.a), []rune(tc.b)), "%q %q", tc.a, tc.b)
	}
}

// distanceOf is the distance of two names that have the form in which names are compared.
func distanceOf(x, y string) int {
	a, ok := read(x)
	b, too := read(y)
	if !ok || !too {
		return utf8.RuneCountInString(x + y)
	}
	return a.distance(b)
}

func TestDistanceAgreesWithReference(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 100_000 {
		letters, most := "abc", 9
		if r.IntN(10) == 0 { // as long as names can be, not in ASCII alone
			letters, most = "abcdé1٣", maxRunes
		}
		a, b := random(r, letters, most), random(r, letters, most)
		require.Equal(t, reference([]rune(a), []rune(b)), distanceOf(a, b), "%q %q", a, b)
	}
}

// TestPoolsAgreeWithReference has more names than can be told, so that most have to be better than others,
// short ones and long ones, in one case and another, of few letters and of many, and letters that have
// their small form in ASCII.
func TestPoolsAgreeWithReference(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	found := 0
	for n := range 1500 {
		letters := []string{"abcABC_-", "abcdefghijklmnopqrstuvwxyz_0123456789", "abKKiIİı_. 12"}[n%3]
		most := []int{6, 12, 24, 70}[n%4]
		pool := make([]string, 10+r.IntN(60))
		for i := range pool {
			pool[i] = random(r, letters, most)
			if i > 0 && r.IntN(2) == 0 { // alike
				pool[i] = pool[r.IntN(i)]
				if at := r.IntN(len(pool[i]) + 1); utf8.ValidString(pool[i][:at]) {
					pool[i] = pool[i][:at] + random(r, letters, 1+r.IntN(2)) + pool[i][at:]
				}
			}
		}
		want := pool[r.IntN(len(pool))]
		if r.IntN(2) == 0 {
			want += random(r, letters, 2)
		}
		half := r.IntN(len(pool))
		got := Matches(want, pool[:half], pool[half:])
		require.Equal(t, referenceMatches(want, pool), got, "%q in %q", want, pool)
		found += len(got)
	}
	require.Greater(t, found, 1000)
}

func FuzzMatches(f *testing.F) {
	f.Add("alpah", "alpha\nbeta\nalpha")
	f.Add("list users", "list_users\nList-Users\nusers\nlist")
	f.Add("a\xff\xfe", "a\xff\n\x00")
	f.Add("größe", "GRÖSSE\ngrösser")
	f.Add("list1", "list\nlist2\nlists1\nl1ist")
	f.Fuzz(func(t *testing.T, want, names string) {
		pool := strings.Split(names, "\n")
		if len(pool) > 100 {
			return // the reference is slow
		}
		require.Equal(t, referenceMatches(want, pool), Matches(want, pool))
	})
}

func TestWorkIsBounded(t *testing.T) {
	million := make([]string, 1_000_000)
	for i := range million {
		million[i] = fmt.Sprintf("customer_%06d", i)
	}
	huge := strings.Repeat("a", 1<<20)
	for _, tc := range []struct {
		name string
		want string
		pool []string
	}{
		{"a million names that are close", "customer_00000x", million},
		{"a million names that are not", "zzzzzzzzzzzzzzz", million},
		{"a huge name", huge, million},
		{"huge names", "aaaaaaaaaaaaaaaa", slices.Repeat([]string{huge, huge + "b"}, 500_000)},
		{"huge names of letters of several bytes", strings.Repeat("é", 64), slices.Repeat([]string{strings.Repeat("é", 1<<19)}, 1_000_000)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			// Without its bounds it would outlast the test.
			require.LessOrEqual(t, len(Matches(tc.want, tc.pool)), MaxMatches)
		})
	}
}

func TestNamesAfterTheFirstOfALargePoolAreNotLookedAt(t *testing.T) {
	pool := slices.Repeat([]string{"zzzzzzzz"}, maxPool)
	pool[maxPool-1] = "customer"
	require.Equal(t, []string{"customer"}, Matches("costomer", append(pool, "customar")))
}

// random returns up to n random letters.
func random(r *rand.Rand, letters string, n int) string {
	runes := []rune(letters)
	w := make([]rune, r.IntN(n+1))
	for i := range w {
		w[i] = runes[r.IntN(len(runes))]
	}
	return string(w)
}

// reference is optimal string alignment as it is defined, with the whole table.
func reference(a, b []rune) int {
	d := make([][]int, len(a)+1)
	for i := range d {
		d[i] = make([]int, len(b)+1)
		d[i][0] = i
	}
	for j := range d[0] {
		d[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			d[i][j] = min(d[i-1][j]+1, d[i][j-1]+1, d[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d[i][j] = min(d[i][j], d[i-2][j-2]+1)
			}
		}
	}
	return d[len(a)][len(b)]
}

// referenceMatches does what the documentation of Matches says, without a thought
// about speed.
func referenceMatches(want string, pool []string) []string {
	type candidate struct {
		name               string
		contained, d, same int
	}
	var found []candidate
	a := inFull(want)
	for _, name := range pool {
		b := inFull(name)
		if name == want || len(a) == 0 || len(b) == 0 || len(a) > 64 || len(b) > 64 ||
			slices.ContainsFunc(found, func(c candidate) bool { return c.name == name }) {
			continue
		}
		if !slices.Equal(a, b) && string(withoutDigits(a)) == string(withoutDigits(b)) || Opposite(want, name) {
			continue
		}
		same := 0
		for same < min(len(a), len(b)) && a[same] == b[same] {
			same++
		}
		shorter, longer := string(a), string(b)
		if len(a) > len(b) {
			shorter, longer = longer, shorter
		}
		n := min(len(a), len(b))
		d := reference(a, b)
		switch {
		case d <= referenceLimit(want, name):
			found = append(found, candidate{name, 0, d, same})
		case n >= 4 && (strings.HasPrefix(longer, shorter) || strings.HasSuffix(longer, shorter)):
			found = append(found, candidate{name, 1, max(len(a), len(b)) - n, same})
		}
	}
	slices.SortStableFunc(found, func(x, y candidate) int {
		return cmp.Or(cmp.Compare(x.contained, y.contained), cmp.Compare(x.d, y.d), cmp.Compare(y.same, x.same))
	})
	var names []string
	for _, c := range found[:min(len(found), 5)] {
		names = append(names, c.name)
	}
	return names
}

func inFull(s string) []rune {
	return []rune(strings.Map(func(r rune) rune {
		if strings.ContainsRune("-. ", r) {
			return '_'
		}
		return unicode.ToLower(r)
	}, string([]rune(s))))
}

// referenceLimit returns how many edits are allowed: a third of what is left of the shorter
// name without what both have at their ends and what is whole words in one of them.
func referenceLimit(x, y string) int {
	a, b := inFull(x), inFull(y)
	n := min(len(a), len(b))
	same := 0
	for same < n && a[same] == b[same] {
		same++
	}
	begins, ends := 0, 0
	for i := 1; i <= same; i++ {
		if edge(x, i) || edge(y, i) {
			begins = i
		}
	}
	for i := 1; i <= n-same && string(a[len(a)-i:]) == string(b[len(b)-i:]); i++ {
		if edge(x, len(a)-i) || edge(y, len(b)-i) {
			ends = i
		}
	}
	switch left := n - begins - ends; {
	case left == 0:
		return n / 3
	case left == 2 && n > 2:
		return 1
	default:
		return left / 3
	}
}

// edge reports whether a word of a name begins or ends at a place.
func edge(name string, at int) bool {
	runes := []rune(name)
	if at == 0 || at == len(runes) {
		return true
	}
	word := func(r rune) bool { return unicode.In(r, unicode.L, unicode.M, unicode.Nd) }
	large := func(r rune) bool { return unicode.ToLower(r) != r }
	before, after := runes[at-1], runes[at]
	return !word(before) || !word(after) || large(after) && !large(before) || unicode.IsDigit(before) != unicode.IsDigit(after)
}

// tools are names as a server of medium size has them.
var tools = func() []string {
	var names []string
	for _, verb := range []string{"list", "get", "create", "update", "delete"} {
		for _, noun := range []string{"users", "projects", "invoices", "orders", "reports", "files", "tickets", "comments", "customers", "products"} {
			names = append(names, verb+"_"+noun)
		}
	}
	return names
}()

// BenchmarkMatches4000 has as many names of 59 characters as a large gateway, which begin and
// end alike.
func BenchmarkMatches4000(b *testing.B) {
	const of = "gateway_company_%-16.16s_number_%04d_of_all_service"
	var pool []string
	for i := range 4000 {
		pool = append(pool, fmt.Sprintf(of, tools[i%len(tools)], i))
	}
	for _, bc := range []struct{ name, want string }{
		{"nothing", strings.Repeat("q", 59)},
		{"typo", fmt.Sprintf(of, "delete_invocies", 27)},
		{"typos all over", "gatewy_cmpany_delete_invoices___numbr_0027_of_al_service"},
	} {
		b.Run(bc.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Matches(bc.want, pool)
			}
		})
	}
}

func BenchmarkMatches50(b *testing.B) {
	for _, bc := range []struct{ name, want string }{
		{"nothing", "qqqqqqqqqqqq"},
		{"nothing, alike", "remove_account"},
		{"typo", "delete_invoice"},
	} {
		b.Run(bc.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Matches(bc.want, tools)
			}
		})
	}
}

func TestNamesThatDifferInDigitsOnly(t *testing.T) {
	for want, pool := range map[string][]string{
		"INV-2024-0017": {"INV-2024-0018", "INV-2025-0017", "inv_2024_17"},
		"v1":            {"v2", "v12", "v"},
		"item12":        {"item1", "item"},
		"17":            {"18", "117"},
		"room ٣":        {"room ٤"},
	} {
		require.Empty(t, Matches(want, pool), want)
	}
	require.Equal(t, []string{"INV-2024-0017"}, Matches("inv_2024_0017", []string{"INV-2024-0017"}))
	require.Equal(t, []string{"user_id2"}, Matches("usr_id2", []string{"user_id2"}))
	require.Equal(t, []string{"sha256"}, Matches("sah256", []string{"sha256", "sha512"}))
}
