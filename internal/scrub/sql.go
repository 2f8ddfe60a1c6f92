package scrub

import "strings"

// statement recognises the two shapes of a statement. Upper-case keywords are hardly ever prose; in other cases it takes
// more: a list of columns, an operator, a type. "Select a file from the list" and "drop table reservations" have neither.
func statement(t *text, i int) {
	if !t.starts(i) {
		return
	}
	if p := (parser{t, i}); p.upper() || (&parser{t, i}).any() {
		t.hide(i, t.statementEnd(i))
	}
}

// statementEnd returns the end of the statement at from: a semicolon, a blank line, an unbalanced parenthesis, the
// quote that was open before it, or the colon of the error that is wrapped around it. What stands in quotes inside of
// the statement is part of it.
func (t *text) statementEnd(from int) int {
	s := t.s
	t.work += 16
	outer := openQuote(s[max(0, from-256):from])
	depth, i := 0, from
	defer func() { t.work += i - from }()
	for ; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\':
			i++
		case c == outer, c == ';', strings.HasPrefix(s[i:], "\n\n"), strings.HasPrefix(s[i:], ": "):
			return i
		case c == '\'' || c == '"' || c == '`':
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

// openQuote returns the quotation mark that is open at the end of what stands before a statement on its line, or 0.
func openQuote(before string) byte {
	before = before[strings.LastIndexByte(before, '\n')+1:]
	for _, q := range []string{`"`, "`"} {
		if (strings.Count(before, q)-strings.Count(before, `\`+q))%2 == 1 {
			return q[0]
		}
	}
	if strings.HasSuffix(before, "'") {
		return '\''
	}
	return 0
}

// parser reads words one after the other.
type parser struct {
	t *text
	i int
}

// blanks skips white space, at least one character of it.
func (p *parser) blanks() bool {
	j := p.t.skip(space, p.i)
	ok := j > p.i
	p.i = j
	return ok
}

// words reads words that stand as they are given, with white space behind each; one in lower case is read in any.
func (p *parser) words(all string) bool {
	start := p.i
	for w := range strings.FieldsSeq(all) {
		if lower[w[0]] == w[0] && !p.t.fold(p.i, w) || lower[w[0]] != w[0] && !p.t.has(p.i, w) {
			p.i = start
			return false
		}
		p.i += len(w)
		if !p.blanks() {
			p.i = start
			return false
		}
	}
	return true
}

// one reads one of several words.
func (p *parser) one(of ...string) bool {
	for _, w := range of {
		if p.words(w) {
			return true
		}
	}
	return false
}

// run reads characters of a set, at least one.
func (p *parser) run(set *charset) bool {
	j := p.t.skip(set, p.i)
	ok := j > p.i
	p.i = j
	return ok
}

func (p *parser) next(c byte) bool {
	p.i = p.t.skip(space, p.i)
	return p.take(c)
}

func (p *parser) take(c byte) bool {
	if p.t.at(p.i) != c {
		return false
	}
	p.i++
	return true
}

var (
	ident      = chars("A-Za-z0-9_.$\"`[]")
	columnName = chars("A-Za-z0-9_.*\"`")
	objects    = set("TABLE VIEW INDEX DATABASE SCHEMA USER ROLE TRIGGER FUNCTION PROCEDURE SEQUENCE")
	noBracket  = chars("^()")
	noSemi     = chars("^;")
)

// table reads a name, and perhaps another one for it.
func (p *parser) table(then func() bool) bool {
	if !p.run(ident) || !p.blanks() {
		return false
	}
	start := p.i
	if then() {
		return true
	}
	p.i = start
	p.words("as")
	if p.run(word) && p.blanks() && then() {
		return true
	}
	return false
}

func (p *parser) upper() bool {
	switch {
	case p.words("SELECT"):
		if c := p.t.at(p.i); c == '*' || isDigit(c) {
			return true
		}
		start := p.i
		if p.run(dotted) && p.take('(') {
			return true
		}
		from := p.t.nextFrom(start)
		return from > 0 && from < p.t.ahead(statementMost, noSemi, start)
	case p.words("INSERT INTO"), p.words("INSERT IGNORE INTO"), p.words("REPLACE INTO"), p.words("MERGE INTO"), p.words("DELETE FROM"):
		return true
	case p.words("UPDATE"):
		p.words("ONLY")
		return p.table(func() bool { return p.words("SET") })
	case p.one("CREATE", "ALTER", "DROP", "TRUNCATE"):
		for range 4 {
			from := p.i
			if !p.run(capitals) {
				return false
			}
			w := p.t.s[from:p.i]
			if !p.blanks() {
				return false
			}
			if objects[w] {
				return true
			}
		}
	case p.words("WITH"):
		p.words("RECURSIVE")
		if !p.run(word) || !p.blanks() {
			return false
		}
		if p.take('(') {
			p.run(noBracket)
			if !p.take(')') || !p.blanks() {
				return false
			}
		}
		return p.words("AS") && p.take('(')
	}
	return false
}

// nextFrom returns where the next FROM in capitals stands, or 0.
func (t *text) nextFrom(i int) int {
	m := &t.memo[fromWord]
	if m.from == 0 || i > m.to || i < m.from {
		n := i
		for {
			k := strings.Index(t.s[n:], "FROM")
			if k < 0 {
				n = len(t.s)
				break
			}
			if n += k; t.in(space, n-1) && t.in(space, n+4) {
				break
			}
			n += 4
		}
		t.work += (n - i) / 4
		m.from, m.to = max(i, 1), n
	}
	if m.to >= len(t.s) {
		return 0
	}
	return m.to
}

// any reads a statement in letters of any case.
func (p *parser) any() bool {
	switch {
	case p.words("select"):
		p.words("distinct")
		return p.columns()
	case p.words("delete from"):
		return p.table(func() bool { return p.words("where") && p.condition() })
	case p.words("insert into"), p.words("replace into"), p.words("merge into"):
		if !p.run(ident) {
			return false
		}
		if p.next('(') {
			p.run(noBracket)
			if !p.take(')') {
				return false
			}
			p.blanks()
		}
		return p.words("select") || p.t.fold(p.i, "values") && func() bool { p.i += len("values"); return p.next('(') }()
	case p.words("update"):
		return p.table(func() bool { return p.words("set") && p.run(columnName) && p.next('=') })
	case p.words("create table"):
		p.words("if not exists")
		if !p.run(ident) || !p.next('(') {
			return false
		}
		p.blanks()
		if !p.run(ident) || !p.blanks() {
			return false
		}
		for _, kind := range strings.Fields("int bigint smallint tinyint integer serial bigserial varchar char nvarchar text uuid timestamp date bool numeric decimal json") {
			if p.t.fold(p.i, kind) {
				return true
			}
		}
	case p.words("alter table"):
		return p.run(ident) && p.blanks() && p.one("add", "drop", "modify", "rename", "alter") && p.one("column", "constraint", "index", "to", "primary", "foreign")
	case p.words("drop table if exists"), p.words("drop view if exists"), p.words("drop index if exists"), p.words("drop database if exists"), p.words("drop schema if exists"):
		return p.run(ident)
	}
	return false
}

// columns reads what follows a select.
func (p *parser) columns() bool {
	list, plain := 0, true
	for list < 64 {
		from := p.i
		if !p.run(columnName) {
			return false
		}
		if name := p.t.s[from:p.i]; name == "*" || len(name) < 80 && strings.IndexByte(name, '.') > 0 {
			plain = false
		}
		if p.take('(') {
			plain = false
			p.run(noBracket)
			if !p.take(')') {
				return false
			}
		}
		list++
		at := p.i
		if p.blanks() && p.words("as") && p.run(word) {
			at = p.i
		}
		p.i = at
		if !p.next(',') {
			break
		}
		p.i = p.t.skip(space, p.i)
	}
	if !p.words("from") {
		return false
	}
	if list == 1 && plain {
		return p.table(func() bool { return p.words("where") && p.condition() })
	}
	if !p.run(ident) {
		return false
	}
	if c := p.t.at(p.i); c == 0 || strings.IndexByte("\n;,)\"'`", c) >= 0 || p.t.has(p.i, ": ") {
		return true
	}
	if !p.blanks() {
		return false
	}
	start := p.i
	if p.clause() {
		return true
	}
	p.i = start
	p.words("as")
	return p.run(word) && (p.t.at(p.i) == 0 && p.i >= len(p.t.s) && false || p.blanks() && p.clause())
}

func (p *parser) clause() bool {
	if p.t.at(p.i) == 0 {
		return true
	}
	return p.one("where", "join", "inner", "left", "right", "full", "cross", "order", "group", "having", "limit", "offset", "union", "for")
}

// condition reads the beginning of what follows a where.
func (p *parser) condition() bool {
	p.words("not")
	if !p.run(columnName) {
		return false
	}
	spaced := p.blanks()
	if strings.IndexByte("=<>!", p.t.at(p.i)) >= 0 && p.t.at(p.i) != 0 {
		return true
	}
	if !spaced {
		return false
	}
	p.words("not")
	if p.one("like", "ilike", "between") || p.words("is null") || p.words("is not null") || p.t.fold(p.i, "is null") || p.t.fold(p.i, "is not null") {
		return true
	}
	return p.t.fold(p.i, "in") && func() bool { p.i += 2; return p.next('(') }()
}
