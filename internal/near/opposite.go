package near

import (
	"slices"
	"strings"
	"unicode"
)

// opposites are words that turn the meaning of a name: in each line those on different sides of a '|'.
// A name with one of them more than another name means something else, too: max_price is not price.
const opposites = `
min minimum minimal least lowest | max maximum maximal most highest
low lower | high higher upper
less fewer | more greater
lt lte le below under | gt gte ge above over
lt gt | lte le gte ge
small smaller smallest | big bigger biggest large larger largest
start begin first from since after | end stop finish last to until till before
head | tail
old older oldest early earlier earliest prev previous past | new newer newest late later latest next future
source src origin | target destination dest dst
allow permit grant accept approve | deny disallow forbid block revoke reject decline except
include | exclude except omit
add append insert create | remove delete drop destroy subtract
keep retain preserve | remove delete drop discard strip
up | down
in | out
left | right
top | bottom
inner | outer
input | output
import | export
upload | download
read | write
load | unload save store
lock | unlock
pin | unpin
mute | unmute
ban | unban
archive | unarchive
publish | unpublish
mount | unmount umount
install | uninstall
subscribe | unsubscribe
push | pull
open | close shut
public | private
internal | external
local | remote global
asc ascend | desc descend
inc increment increase grow | dec decrement decrease shrink
forward | backward reverse
parent | child
ancestor | descendant
send sender sent | receive receiver recipient received
buy | sell
hire | fire
subject | object
referrer referer | referee
follower followers follows | following
associate | dissociate
north | south
east | west
signup | signin
ack | nack
debit | credit
win | lose loss
pass success | fail failure
join attach connect link | leave detach disconnect unlink
sync | async
symmetric | asymmetric
typical | atypical
encode encrypt | decode decrypt
ingress | egress
enter entry | exit
login | logout
play resume | pause suspend
merge | split
commit | rollback
positive plus | negative minus
full null | empty
major | minor
single | multiple
hard strict | soft lax lenient
lazy | eager
dark black | light white
male | female
client | server
primary | secondary
absolute | relative
horizontal | vertical
prefix | suffix
true | false
yes | no
all any one some either | none neither no
always ever | never
`

// parts are beginnings of words, and words that exclude each other. Without one of these a name may mean
// the same: cache may be enable_cache.
const parts = `
on | off
eq is like equal | ne neq isnt nlike unequal
can | cannot cant
with | without
show visible | hide hidden
get fetch | set put
enable activate | disable deactivate
in | ex out de nin
im | ex
en | de dis
at | de
pre | post
over | under
intra | inter | extra
micro | macro
hyper | hypo
imm | em
mono uni | multi poly
sub | super
id | ip
rx | tx
fg | bg
http | https
ws | wss
ftp | sftp | ftps
lat latitude | lon lng longitude
first | second | third
monday mon | tuesday tue | wednesday wed | thursday thu | friday fri | saturday sat | sunday sun
january jan | february feb | march mar | april apr | may | june jun | july jul | august aug | september sep | october oct | november nov | december dec
`

// units measure in different ways what has the same name.
const units = `
s sec secs seconds | ms msec msecs millis milliseconds | us usec micros microseconds | ns nanos nanoseconds | mins minutes | hour hours | day days | week weeks | month months | year years
b bytes | kb | mb | gb | tb | kib ki | mib mi | gib gi | tib ti | bits
bps | kbps | mbps | gbps
hz | khz | mhz | ghz
w | kw | mw | gw
wh | kwh | mwh | gwh
v | mv | kv
a | ma
l | ml | cl | dl
pa | hpa | kpa | mpa
kph kmh | mph
m meters | mm | cm | km | mi miles
mg | g grams | kg | lb lbs pounds | oz ounces
id | ip
cents | dollars euros
celsius | fahrenheit | kelvin
`

// endings are those of words for the two sides of one relation.
const endings = `
er or | ee
ers ors | ees
`

// negations turn the meaning of a name that has them as a word, prefixes and suffixes that of one that has
// them as a part of a word. The prefixes in begins also stand in the middle of many words, where they say nothing.
const (
	negations = "no non not never without dont doesnt isnt cannot cant skip ignore suppress avoid bypass prevent off anti only dry disable deactivate hide hidden ne neq"
	prefixes  = "no non not never without dont anti un dis mis in"
	begins    = "im il ir de ex counter re pre co mal sub super"
	suffixes  = "less free not nt"
)

// infixes have a word on either side, which they tell apart: c_to_f is not f_to_c.
var infixes = []string{"to", "from", "into", "before", "after", "over", "than", "per", "by", "minus", "vs"}

// A turn is a word that has the opposite meaning of another one.
type turn struct {
	of, is string
	part   bool // of a word that begins so
	ending bool // of a word that ends so
}

// An extra is a word, or a part of one, with which a name means the opposite, or something else.
type extra struct {
	word     string
	negation bool // whatever else is in a name
	prefix   bool // of a word
	inside   bool // a prefix that is looked for inside of words
	suffix   bool
}

// tables are all words by their first letters.
type tables struct {
	turns  [26][]turn
	extras [26][]extra
	units  []string
}

var opposed = newTables()

func newTables() *tables {
	t := &tables{}
	t.pair(opposites, turn{})
	t.pair(parts, turn{part: true})
	t.pair(units, turn{part: true})
	t.pair(endings, turn{ending: true})
	t.units = slices.DeleteFunc(strings.Fields(units), func(word string) bool { return len(word) < 2 })
	t.add(negations, extra{negation: true})
	t.add(prefixes, extra{prefix: true, inside: true})
	t.add(begins, extra{prefix: true})
	t.add(suffixes, extra{suffix: true})
	return t
}

// pair adds the words of a table, each with those on the other sides of its line.
func (t *tables) pair(table string, kind turn) {
	for line := range strings.Lines(table) {
		sides := strings.Split(line, "|")
		for i, side := range sides {
			others := strings.Fields(strings.Join(slices.Delete(slices.Clone(sides), i, i+1), " "))
			for of := range strings.FieldsSeq(side) {
				for _, is := range others {
					t.turns[of[0]-'a'] = append(t.turns[of[0]-'a'], turn{of, is, kind.part, kind.ending})
				}
			}
			if kind == (turn{}) {
				t.add(side, extra{})
			}
		}
	}
}

func (t *tables) add(list string, e extra) {
	for e.word = range strings.FieldsSeq(list) {
		t.extras[e.word[0]-'a'] = append(t.extras[e.word[0]-'a'], e)
	}
}

// Opposite reports whether two names differ by a negation, an antonym or a direction: no_force and
// force, maxPrice and min-price, start_date and date, -name and name. A misspelled opposite is one, too,
// and so is a name that is as near to the opposite. How words are separated makes no difference.
func Opposite(a, b string) bool {
	var x, y wanted
	if !x.letters(a) || !y.letters(b) || sign(a) != sign(b) {
		return a != b
	}
	d := x.distance(&y.name, maxRunes)
	if d == 0 {
		return !strings.ContainsFunc(a, unicode.IsLetter) && !sameFolded(a, b) || monthly(a) != monthly(b) // 10.0 is not 100
	}
	return x.has(&y, d) || y.has(&x, d) || x.turned(&y, d) || y.turned(&x, d) || x.reordered(&y)
}

// monthly reports whether a name is a number of months, such as 3M. 3m are minutes.
func monthly(name string) bool {
	number, ok := strings.CutSuffix(strings.TrimSpace(name), "M")
	return ok && number != "" && strings.Trim(number, "0123456789") == ""
}

// sign returns what in front of a name says that it is meant the other way round.
func sign(name string) byte {
	if name = strings.TrimSpace(name); name == "" || strings.HasPrefix(name, "--") || strings.IndexByte("-!~^<>", name[0]) < 0 {
		return 0
	}
	return name[0]
}

// sameFolded reports whether two names are the same in the form in which names are compared.
func sameFolded(a, b string) bool {
	var x, y name
	return x.read(a) && y.read(b) && x.runes == y.runes
}

// letters reads the letters and digits of a name, and reports false if there are none.
func (a *wanted) letters(s string) bool {
	var whole name
	if !whole.read(s) {
		return false
	}
	for i, r := range whole.runes[:whole.n] {
		if !isWord(r) {
			continue
		}
		if whole.between(i) || i > 0 && unicode.IsDigit(r) != unicode.IsDigit(whole.runes[i-1]) {
			a.words |= 1 << a.n
		}
		a.runes[a.n] = r
		a.n++
	}
	a.index()
	return a.n > 0
}

// edge reports whether a word begins or ends in front of the ith letter.
func (a *name) edge(i int) bool { return i == a.n || a.words&(1<<i) != 0 }

// stands reports whether a word stands at a place.
func (a *name) stands(word string, at int) bool {
	if len(word) > a.n-at {
		return false
	}
	for i := range len(word) {
		if a.runes[at+i] != rune(word[i]) {
			return false
		}
	}
	return true
}

// contains reports whether a name has a word.
func (a *name) contains(word string) bool {
	for i := range a.n {
		if a.edge(i) && a.stands(word, i) && a.edge(i+len(word)) {
			return true
		}
	}
	return false
}

// with returns the name with a word in the place of its letters from i to end. It reports false if it
// would be too long, or empty.
func (a *name) with(i, end int, word string) (b name, ok bool) {
	if b.n = a.n - (end - i) + len(word); b.n > maxRunes || b.n == 0 {
		return b, false
	}
	copy(b.runes[:], a.runes[:i])
	for j := range len(word) {
		b.runes[i+j] = rune(word[j])
	}
	copy(b.runes[i+len(word):], a.runes[end:a.n])
	return b, true
}

// turned reports whether a is b, d edits away, with the opposite of one of its words, or nearer to that.
// Where they differ in this whole word only, and it is not very short, it is enough to be as near.
func (a *wanted) turned(b *wanted, d int) bool {
	const short = 3
	for i, r := range b.runes[:b.n] {
		if r < 'a' || r > 'z' {
			continue
		}
		for _, t := range opposed.turns[r-'a'] {
			if !b.stands(t.of, i) {
				continue
			}
			end := i + len(t.of)
			begins, ends := b.edge(i), b.edge(end)
			whole := begins && ends
			least := min(len(t.of), len(t.is))
			switch {
			case whole:
			case t.part && !begins, t.ending && !ends, least == 1, least <= short && !begins && !ends: // few letters stand in many words
				continue
			}
			limit := d - 1
			if whole && least >= short && a.differsAt(&b.name, i, end) {
				limit = d
			}
			if apart := a.n - (b.n + len(t.is) - len(t.of)); max(apart, -apart) > limit {
				continue
			}
			w, ok := b.with(i, end, t.is)
			if !ok || a.distance(&w, limit) > limit {
				continue
			}
			// Without the word b may be nearer still: a has no such word at all.
			none, ok := b.with(i, end, "")
			if limit = a.distance(&w, limit); !ok || a.distance(&none, limit) > limit {
				return true
			}
		}
	}
	return false
}

// differsAt reports whether two names are the same before and behind the word of b from i to end, and a has a
// word there, too.
func (a *name) differsAt(b *name, i, end int) bool {
	from := a.n - (b.n - end)
	return from > i && a.edge(i) && a.edge(from) && slices.Equal(a.runes[:i], b.runes[:i]) && slices.Equal(a.runes[from:a.n], b.runes[end:b.n])
}

// has reports whether a has a word, or a part of one, that b, d edits away, has not, and that turns its meaning.
func (a *wanted) has(b *wanted, d int) bool {
	for i, r := range a.runes[:a.n] {
		if r < 'a' || r > 'z' {
			continue
		}
		for _, e := range opposed.extras[r-'a'] {
			if !a.stands(e.word, i) {
				continue
			}
			end := i + len(e.word)
			begins, ends, found := a.edge(i), a.edge(end), false
			switch {
			case begins && ends && !e.prefix && !e.suffix:
				found = e.negation && d > len(e.word) && !b.contains(e.word) || a.without(i, end, b, d-1)
			case e.suffix && ends && i > 0, e.prefix && (begins || e.inside) && end < a.n:
				found = a.without(i, end, b, d-1)
			case len(e.word) > 2 && (begins || ends) && !e.prefix && !e.suffix:
				found = a.more(i, end, b, d)
			}
			if found {
				return true
			}
		}
	}
	return false
}

// more reports whether what stands from i to end is what a has more than b, which is d edits away: without
// it there are as many edits less.
func (a *wanted) more(i, end int, b *wanted, d int) bool { return a.without(i, end, b, d-(end-i)) }

// without reports whether a without what stands from i to end is at most limit edits away from b, and as
// few that b may be meant.
func (a *wanted) without(i, end int, b *wanted, limit int) bool {
	limit = min(limit, b.n/3)
	w, ok := a.with(i, end, "")
	return limit >= 0 && ok && b.distance(&w, limit) <= limit
}

// reordered reports whether two names have the same words in another order, with one of infixes.
func (a *wanted) reordered(b *wanted) bool {
	if a.n != b.n || a.set != b.set || !a.infixed() {
		return false
	}
	x, y := a.split(), b.split()
	slices.Sort(x)
	slices.Sort(y)
	return slices.Equal(x, y)
}

// infixed reports whether one of infixes is a word of a name.
func (a *name) infixed() bool { return slices.ContainsFunc(infixes, a.contains) }

// split returns the words of a name.
func (a *name) split() (words []string) {
	for i, from := 1, 0; i <= a.n; i++ {
		if a.edge(i) {
			words, from = append(words, string(a.runes[from:i])), i
		}
	}
	return words
}

// Misspelled reports whether a name is near to another one, and can be nothing but a misspelling of it. It is
// not if one has a word or a unit more, begins or ends with the other, or may have lost a part of a prefix,
// or if they differ in a letter of a word of three: cpu may be another word than gpu.
func Misspelled(want, meant string) bool {
	var near, x, y wanted
	if !near.want(want) || !x.letters(want) || !y.letters(meant) {
		return false
	}
	m, ok := near.compare(meant, nil)
	if !ok || m.distance > maxRunes {
		return false
	}
	d := x.distance(&y.name, maxRunes)
	return d == 0 || !x.longer(&y, d) && !y.longer(&x, d) && !x.another(&y.name) && !x.begun(&y.name)
}

// longer reports whether a has a word or a unit that b, d edits away, has not, or begins or ends with all of b.
func (a *wanted) longer(b *wanted, d int) bool {
	if d > 1 && a.n-b.n == d && !a.stands("es", b.n) && (a.more(b.n, a.n, b, d) || a.more(0, d, b, d)) {
		return true
	}
	for i, from := 1, 0; i <= a.n; i++ {
		if !a.edge(i) {
			continue
		}
		if a.more(from, i, b, d) {
			return true
		}
		for _, unit := range opposed.units {
			if at := i - len(unit); at > from && a.stands(unit, at) && a.more(at, i, b, d) {
				return true
			}
		}
		from = i
	}
	return false
}

// begun reports whether a is b behind a letter that may be what is left of a prefix: ulimited.
func (a *name) begun(b *name) bool {
	return a.n == b.n+1 && strings.ContainsRune("undoimea", a.runes[0]) && a.runes[0] != b.runes[0] && slices.Equal(a.runes[1:a.n], b.runes[:b.n])
}

// another reports whether two names differ in the letters of a short word, not in their order or number.
func (a *name) another(b *name) bool {
	const short = 3
	if a.n != b.n || a.differ(b, commonPrefix(a.runes[:a.n], b.runes[:b.n])) > short {
		return false
	}
	x, y := a.runes, b.runes
	slices.Sort(x[:a.n])
	slices.Sort(y[:b.n])
	return x != y
}
