package near

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// opposites are words that turn the meaning of a name: in each group those on different sides of a '|'.
// A name with one of them more than another name means something else, too: max_price is not price.
const opposites = `
min,minimum,minimal,least,lowest|max,maximum,maximal,most,highest low,lower|high,higher,upper less,fewer|more,greater
lt,lte,le,below,under|gt,gte,ge,above,over lt,gt|lte,le,gte,ge small,smaller,smallest|big,bigger,biggest,large,larger,largest
start,begin,first,from,since,after|end,stop,finish,last,to,until,till,before head|tail
old,older,oldest,early,earlier,earliest,prev,previous,past|new,newer,newest,late,later,latest,next,future
source,src,origin|target,destination,dest,dst include|exclude,except,omit
allow,permit,grant,accept,approve|deny,disallow,forbid,block,revoke,reject,decline,except
add,append,insert,create|remove,delete,drop,destroy,subtract keep,retain,preserve|remove,delete,drop,discard,strip
up|down in|out left|right top|bottom inner|outer input|output import|export upload|download read|write
load|unload,save,store lock|unlock pin|unpin mute|unmute ban|unban archive|unarchive publish|unpublish
mount|unmount,umount install|uninstall subscribe|unsubscribe push|pull open|close,shut public|private
internal|external local|remote,global asc,ascend|desc,descend inc,increment,increase,grow|dec,decrement,decrease,shrink
forward|backward,reverse parent|child ancestor|descendant send,sender,sent|receive,receiver,recipient,received
buy|sell hire|fire subject|object referrer,referer|referee follower,followers,follows|following associate|dissociate
north|south east|west signup|signin ack|nack debit|credit win|lose,loss pass,success|fail,failure
join,attach,connect,link|leave,detach,disconnect,unlink sync|async symmetric|asymmetric typical|atypical
encode,encrypt|decode,decrypt ingress|egress enter,entry|exit login|logout play,resume|pause,suspend merge|split
commit|rollback positive,plus|negative,minus full,null|empty major|minor single|multiple hard,strict|soft,lax,lenient
lazy|eager dark,black|light,white male|female client|server primary|secondary absolute|relative horizontal|vertical
prefix|suffix true|false yes|no all,any,one,some,either|none,neither,no always,ever|never
ship,shipped|skip,skipped emit|omit evoke|revoke present|prevent recover|remove reject|select reactivate|deactivate unpaid|repaid wont|want
cyclic|acyclic periodic|aperiodic moral|amoral charge|change close|clone resolve|remove stop|step exist|exit lend|send kill|fill delete|deplete deny|defy fast|last
`

// parts are words, and beginnings of words, that exclude each other. Without one of these a name may mean
// the same: cache may be enable_cache.
const parts = `
on|off eq,is,like,equal|ne,neq,isnt,nlike,unequal can|cannot,cant with|without show,visible|hide,hidden
get,fetch|set,put enable,activate|disable,deactivate in|ex,out,de,nin im|ex en|de,dis at|de pre|post over|under
intra|inter|extra micro|macro hyper|hypo imm|em mono,uni|multi,poly sub|super id|ip rx|tx fg|bg http|https ws|wss
ftp|sftp|ftps lat,latitude|lon,lng,longitude first|second|third
monday,mon|tuesday,tue|wednesday,wed|thursday,thu|friday,fri|saturday,sat|sunday,sun
january,jan|february,feb|march,mar|april,apr|may|june,jun|july,jul|august,aug|september,sep|october,oct|november,nov|december,dec
`

// units measure in different ways what has the same name.
const units = `
s,sec,secs,seconds|ms,msec,msecs,millis,milliseconds|us,usec,micros,microseconds|ns,nanos,nanoseconds|mins,minutes|hour,hours|day,days|week,weeks|month,months|year,years
b,bytes|kb|mb|gb|tb|kib,ki|mib,mi|gib,gi|tib,ti|bits bps|kbps|mbps|gbps hz|khz|mhz|ghz w|kw|mw|gw wh|kwh|mwh|gwh
v|mv|kv a|ma l|ml|cl|dl pa|hpa|kpa|mpa kph,kmh|mph m,meters|mm|cm|km|mi,miles mg|g,grams|kg|lb,lbs,pounds|oz,ounces
cents|dollars,euros celsius|fahrenheit|kelvin
`

// endings are those of words for the two sides of one relation.
const endings = "er,or|ee ers,ors|ees"

// negations turn the meaning of a name that has them as a word, prefixes and suffixes that of one that has
// them as a part of a word. The prefixes in begins also stand in the middle of many words, where they say nothing.
const (
	negations = "no,non,not,never,without,dont,doesnt,isnt,cannot,cant,skip,ignore,suppress,avoid,bypass,prevent,off,anti,only,dry,disable,deactivate,hide,hidden,ne,neq,wont,wouldnt,shouldnt,couldnt,mustnt,didnt,cancel,cancelled,abort,undo,revert,refuse,reject,deny,denied,forbid,exempt"
	prefixes  = "no,non,not,never,without,dont,anti,un,dis,mis,in"
	begins    = "im,il,ir,de,ex,counter,re,pre,co,mal,sub,super"
	suffixes  = "less,free,not,nt"
)

var negating = strings.Split(negations, ",")

// infixes have a word on either side, which they tell apart: c_to_f is not f_to_c.
var infixes = []string{"to", "from", "into", "before", "after", "over", "than", "per", "by", "minus", "vs"}

// A place says where in a name a rule looks for its word.
type place uint8

const (
	word   place = iota // a whole word; a long one also as a part of one
	begin               // where a word begins
	before              // in front of something
	behind              // where a word ends, behind something
)

// A rule replaces a word by one that means the opposite, or takes away one without which a name means something else.
type rule struct {
	of, is []rune
	place  place
}

// rules are all of them, by the first letters of their words.
var rules = func() map[rune][]rule {
	by := map[rune][]rule{}
	for _, r := range slices.Concat(
		turns(opposites, word), turns(parts, begin), turns(units, begin), turns(endings, behind), removals(opposites, word),
		removals(negations, word), removals(prefixes, before), removals(begins, begin), removals(suffixes, behind)) {
		by[r.of[0]] = append(by[r.of[0]], r)
	}
	return by
}()

// turns returns the rules for the words of a table, each with those on the other sides of its group.
func turns(table string, at place) (rules []rule) {
	for group := range strings.FieldsSeq(table) {
		sides := strings.Split(group, "|")
		for i, side := range sides {
			for j, other := range sides {
				for of := range strings.SplitSeq(side, ",") {
					for is := range strings.SplitSeq(other, ",") {
						if i != j {
							rules = append(rules, rule{[]rune(of), []rune(is), at})
						}
					}
				}
			}
		}
	}
	return rules
}

func removals(table string, at place) (rules []rule) {
	for of := range strings.FieldsFuncSeq(table, func(r rune) bool { return !unicode.IsLetter(r) }) {
		rules = append(rules, rule{[]rune(of), nil, at})
	}
	return rules
}

// fits reports whether the word of the rule, which stands at i, counts there.
func (r rule) fits(a name, i int) bool {
	end := i + len(r.of)
	begins, ends := a.edge(i), a.edge(end)
	switch r.place {
	case word:
		return begins && ends || len(r.of) > 2 && (begins || ends) || len(r.of) > 3 && len(r.is) > 3
	case begin:
		return begins && (ends || len(r.of) > 1 && len(r.is) != 1)
	case before:
		return end < len(a.runes)
	default:
		return ends && i > 0
	}
}

// Opposite reports whether two names differ by a negation, an antonym or a direction: no_force and
// force, maxPrice and min-price, start_date and date, -name and name. A misspelled opposite is one, too,
// and so is a name that is as near to the opposite. How words are separated makes no difference.
func Opposite(a, b string) bool {
	x, y := letters(a), letters(b)
	if len(x.runes) == 0 || len(y.runes) == 0 || sign(a) != sign(b) {
		return a != b
	}
	if slices.Equal(x.runes, y.runes) {
		return !strings.ContainsFunc(a, unicode.IsLetter) && !folds(a, b) || monthly(a) != monthly(b) // 10.0 is not 100
	}
	d := x.distance(y)
	return x.turned(y, d) || y.turned(x, d) || x.negates(y, d) || y.negates(x, d) || x.reordered(y)
}

// folds reports whether two names are the same in the form in which names are compared.
func folds(a, b string) bool {
	x, _ := read(a)
	y, _ := read(b)
	return slices.Equal(x.runes, y.runes)
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

// letters returns a name with its letters and digits only.
func letters(s string) (a name) {
	all, _ := read(s)
	for i, r := range all.runes {
		if isWord(r) {
			if all.edge(i) {
				a.words |= 1 << len(a.runes)
			}
			a.runes = append(a.runes, r)
		}
	}
	return a
}

// turned reports whether a is nearer to b, d edits away, if one of its words is turned into its opposite, or
// left out.
func (a name) turned(b name, d int) bool {
	for i, letter := range a.runes {
		for _, r := range rules[letter] {
			end := i + len(r.of)
			if end > len(a.runes) || !slices.Equal(a.runes[i:end], r.of) || !r.fits(a, i) {
				continue
			}
			without := b.distance(a.with(i, end, nil))
			if r.is == nil {
				if without < d && without <= len(b.runes)/3 {
					return true
				}
				continue
			}
			limit := d - 1
			if len(r.of) > 2 && len(r.is) > 2 && a.differs(b, i, end) {
				limit = d // it is enough to be as near
			}
			// If b is as near without the word, it has no such word at all.
			if turned := b.distance(a.with(i, end, r.is)); turned <= limit && turned < without {
				return true
			}
		}
	}
	return false
}

// with returns a name with other letters in the place of those from i to end.
func (a name) with(i, end int, other []rune) name {
	return name{runes: slices.Concat(a.runes[:i], other, a.runes[end:])}
}

// differs reports whether two names differ in one word, which a has from i to end.
func (a name) differs(b name, i, end int) bool {
	from := len(b.runes) - (len(a.runes) - end)
	return from > i && a.edge(i) && a.edge(end) && b.edge(from) && slices.Equal(a.runes[:i], b.runes[:i]) && slices.Equal(a.runes[end:], b.runes[from:])
}

// negates reports whether a has more words than b, d edits away, and among them a negation that b has not.
func (a name) negates(b name, d int) bool {
	x, y := a.split(), b.split()
	return len(x) > len(y) && slices.ContainsFunc(x, func(word string) bool {
		return len(word) < d && slices.Contains(negating, word) && !slices.Contains(y, word)
	})
}

// reordered reports whether two names have the same words in another order, with one of infixes.
func (a name) reordered(b name) bool {
	x, y := a.split(), b.split()
	slices.Sort(x)
	slices.Sort(y)
	return slices.Equal(x, y) && slices.ContainsFunc(infixes, func(word string) bool { return slices.Contains(x, word) })
}

// split returns the words of a name.
func (a name) split() (words []string) {
	for i, from := 1, 0; i <= len(a.runes); i++ {
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
	a, ok := read(want)
	if m, near := a.compare(meant); !ok || !near || m.distance > maxRunes || Opposite(want, meant) {
		return false
	}
	b, c := letters(want), letters(meant)
	x, y := b.split(), c.split()
	if len(x) != len(y) {
		if b.more(c) || c.more(b) {
			return false
		}
		x, y = []string{string(b.runes)}, []string{string(c.runes)}
	}
	if b.another(c) || begun(strings.Join(x, ""), strings.Join(y, "")) {
		return false
	}
	for i := range x {
		if longer(x[i], y[i]) || longer(y[i], x[i]) {
			return false
		}
	}
	return true
}

// more reports whether a has a word more than b.
func (a name) more(b name) bool {
	d, from := b.distance(a), 0
	for _, word := range a.split() {
		end := from + utf8.RuneCountInString(word)
		if b.distance(a.with(from, end, nil)) == d-(end-from) {
			return true
		}
		from = end
	}
	return false
}

// longer reports whether a word begins or ends with all of another one. A plural does not count.
func longer(word, than string) bool {
	return len(word) > len(than)+1 && word != than+"es" && (strings.HasPrefix(word, than) || strings.HasSuffix(word, than))
}

// begun reports whether a name is another one behind a letter that may be what is left of a prefix: ulimited.
func begun(name, than string) bool {
	return len(name) == len(than)+1 && name[1:] == than && strings.ContainsRune("undoimea", rune(name[0])) && name[0] != than[0]
}

// another reports whether two names differ in the letters of a short word, not in their order or number.
func (a name) another(b name) bool {
	const short = 3
	if len(a.runes) != len(b.runes) || a.differ(b, commonPrefix(a.runes, b.runes)) > short {
		return false
	}
	return !slices.Equal(slices.Sorted(slices.Values(a.runes)), slices.Sorted(slices.Values(b.runes)))
}
