package scrub

import "strings"

// statements are patterns of the two shapes of a statement. Upper-case keywords are hardly ever prose; in other cases it
// takes more: a list of columns, an operator, a type. "Select a file from the list" and "drop table reservations" have
// neither. A word in small letters is read in any case, [x] is x or nothing, and N is a name, T the name of a table and
// perhaps another one for it, L perhaps something in brackets, C a condition, Y a type, O an object within four words, S
// columns and a table, and F what makes a statement of a SELECT.
var statements = func() (all [][]string) {
	for line := range strings.Lines(`SELECT F
		INSERT [IGNORE] INTO
		REPLACE INTO
		MERGE INTO
		DELETE FROM
		UPDATE [ONLY] T SET
		CREATE O
		ALTER O
		DROP O
		TRUNCATE O
		WITH [RECURSIVE] N L AS (
		select [distinct] S
		insert [ignore] into N L select
		insert [ignore] into N L values (
		replace into N L values (
		merge into N L values (
		delete from T where C
		update T set N =
		create table [if] [not] [exists] N ( N Y
		alter table N A B
		drop table if exists`) {
		all = append(all, strings.Fields(line))
	}
	return all
}()

var (
	ident   = chars("A-Za-z0-9_.$\"`*")
	inList  = chars("^()")
	noSemi  = chars("^;")
	noF     = chars("^F")
	clauses = set("where join inner left right full cross order group having limit offset union for")
	compare = set("= < > ! like ilike between")
	oneOf   = map[string]map[string]bool{
		"A": set("add drop modify rename alter"), "B": set("column constraint index to primary foreign"),
		"Y": set("int bigint smallint tinyint integer serial bigserial varchar char nvarchar text uuid timestamp date bool boolean numeric decimal json jsonb"),
	}
	objects = set("TABLE VIEW INDEX DATABASE SCHEMA USER ROLE TRIGGER FUNCTION PROCEDURE SEQUENCE")
)

func statement(t *text, i int) {
	if !t.starts(i) {
		return
	}
	for _, words := range statements {
		if p := (parser{t, i}); lower[words[0][0]] == lower[t.s[i]] && p.reads(words) {
			t.hide(i, t.statementEnd(i))
			return
		}
	}
}

// parser reads tokens one after the other.
type parser struct {
	t *text
	i int
}

// next reads a name, or one other character.
func (p *parser) next() string {
	from := p.t.skip(space, p.i)
	if p.i = p.t.skip(ident, from); p.i == from && from < len(p.t.s) {
		p.i++
	}
	return p.t.s[from:min(p.i, from+80)]
}

// name reads a name.
func (p *parser) name() bool {
	w := p.next()
	return w != "" && ident.has[w[0]]
}

// is reads words, or nothing if others stand there.
func (p *parser) is(words ...string) bool {
	at := p.i
	for _, w := range words {
		if got := p.next(); got != w && (isUpper(w[0]) || !strings.EqualFold(got, w)) {
			p.i = at
			return false
		}
	}
	return true
}

// list reads what stands in brackets.
func (p *parser) list() bool {
	if !p.is("(") {
		return false
	}
	p.i = p.t.skip(inList, p.i)
	return p.is(")")
}

// reads reports whether the words of a pattern stand there.
func (p *parser) reads(words []string) bool {
	for n, w := range words {
		ok := false
		switch w {
		case "N":
			ok = p.name()
		case "T":
			if ok = p.name(); !(&parser{p.t, p.i}).is(words[n+1]) {
				p.is("as")
				ok = p.name()
			}
		case "L":
			p.list()
			ok = true
		case "C":
			ok = p.condition()
		case "S":
			ok = p.columns()
		case "F":
			ok = p.selects()
		case "O":
			for n := 0; n < 4 && !ok; n++ {
				ok = objects[p.next()]
			}
		default:
			if set := oneOf[w]; set != nil {
				ok = set[strings.ToLower(p.next())]
			} else if ok = w[0] == '['; ok {
				p.is(w[1 : len(w)-1])
			} else {
				ok = p.is(w)
			}
		}
		if !ok {
			return false
		}
	}
	return true
}

// selects looks for a star, a number, a call, or the FROM in capitals that belongs to a SELECT.
func (p *parser) selects() bool {
	t := p.t
	start := t.skip(space, p.i)
	if w := p.next(); w == "" || w == "*" || isDigit(w[0]) || t.at(p.i) == '(' {
		return w != ""
	}
	if t.from.from > start || start >= t.from.to {
		n := t.skip(noF, start)
		for n < len(t.s) && !(t.has(n, "FROM") && t.in(space, n-1) && t.in(space, n+4)) {
			n = t.skip(noF, n+1)
		}
		t.from = span{start, n}
		t.work += (n - start) / 4
	}
	return t.from.to < len(t.s) && t.from.to < t.skip(noSemi, start)
}

// columns reads what follows a select.
func (p *parser) columns() bool {
	plain := true
	for n := 1; ; n++ {
		name := p.next()
		if name == "" || !ident.has[name[0]] || n > 32 {
			return false
		}
		if call := p.list(); call || n > 1 || name == "*" || strings.IndexByte(name, '.') > 0 {
			plain = false
		}
		if p.is("as") {
			p.next()
		}
		if !p.is(",") {
			break
		}
	}
	if plain {
		return p.reads([]string{"from", "T", "where", "C"})
	}
	if !p.is("from") || !p.name() {
		return false
	}
	for range 2 { // another name for the table
		if w := strings.ToLower(p.next()); w == "" || clauses[w] || !word.has[w[0]] {
			return true
		} else if w == "as" {
			p.next()
		}
	}
	return false
}

// condition reads the beginning of what follows a where.
func (p *parser) condition() bool {
	p.is("not")
	p.next()
	p.is("not")
	return p.is("in", "(") || p.is("is", "null") || p.is("is", "not", "null") || compare[strings.ToLower(p.next())]
}

// statementEnd returns the end of the statement at from: a semicolon, a blank line, an unbalanced parenthesis, the
// quote that was open before it, or the colon of the error that is wrapped around it. What stands in quotes inside of
// the statement is part of it.
func (t *text) statementEnd(from int) int {
	s := t.s
	before := t.some(from-256, min(from, 256))
	before = before[strings.LastIndexByte(before, '\n')+1:]
	outer := byte(0)
	for _, q := range []string{`"`, "`"} {
		if (strings.Count(before, q)-strings.Count(before, `\`+q))%2 == 1 {
			outer = q[0]
			break
		}
	}
	if outer == 0 && strings.HasSuffix(before, "'") {
		outer = '\''
	}
	depth, i := 0, from
	for ; i < len(s); i++ {
		t.work++
		switch c := s[i]; {
		case c == '\\':
			i++
		case c == outer, c == ';', c == '\n' && t.at(i+1) == '\n', c == ':' && t.at(i+1) == ' ':
			return i
		case quotes.has[c]:
			i = t.quoted(i+1, c, false)
		case c == '(':
			depth++
		case c == ')':
			if depth--; depth < 0 {
				return i
			}
		}
	}
	return len(s)
}
