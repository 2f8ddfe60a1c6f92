package scrub

import "strings"

// statement recognises the two shapes of a statement. Upper-case keywords are hardly ever prose; in other cases it takes
// more: a list of columns, an operator, a type. "Select a file from the list" and "drop table reservations" have neither.
func statement(t *text, i int) {
	if !t.starts(i) {
		return
	}
	p := parser{t: t, i: i}
	verb := p.next()
	if p.upper = strings.IndexAny(verb, lowers) < 0; p.statement(strings.ToLower(verb)) {
		t.hide(i, t.statementEnd(i))
	}
}

// parser reads tokens one after the other.
type parser struct {
	t     *text
	i     int
	upper bool // keywords are in capitals, which is proof enough
}

var (
	ident   = chars("A-Za-z0-9_.$\"`*")
	objects = set("TABLE VIEW INDEX DATABASE SCHEMA USER ROLE TRIGGER FUNCTION PROCEDURE SEQUENCE")
	inList  = chars("^()")
	noSemi  = chars("^;")
	noF     = chars("^F")
	types   = set("int bigint smallint tinyint integer serial bigserial varchar char nvarchar text uuid timestamp date bool boolean numeric decimal json jsonb")
	clauses = set("where join inner left right full cross order group having limit offset union for")
	compare = set("= < > ! like ilike between in")
	alters  = set("add drop modify rename alter")
	altered = set("column constraint index to primary foreign")
)

// next reads a name, or one other character.
func (p *parser) next() string {
	from := p.t.skip(space, p.i)
	if p.i = p.t.skip(ident, from); p.i == from && from < len(p.t.s) {
		p.i++
	}
	return p.t.s[from:min(p.i, from+80)]
}

// lower is next in lower case.
func (p *parser) lower() string { return strings.ToLower(p.next()) }

// is reads words, or nothing if others stand there.
func (p *parser) is(words ...string) bool {
	at := p.i
	for _, w := range words {
		if got := p.next(); !strings.EqualFold(got, w) || p.upper && isLower(got[0]) {
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

// name reads the name of a table, and perhaps another one for it, before a keyword.
func (p *parser) name(then string) bool {
	if p.next(); p.is(then) {
		return true
	}
	p.is("as")
	p.next()
	return p.is(then)
}

func (p *parser) statement(verb string) bool {
	switch verb {
	case "select":
		if p.upper {
			return p.upperSelect()
		}
		return p.columns()
	case "insert", "replace", "merge":
		p.is("ignore")
		if !p.is("into") || p.upper {
			return p.upper && p.t.in(space, p.i)
		}
		p.next()
		p.list()
		return p.is("select") || p.is("values", "(")
	case "delete":
		if !p.is("from") || p.upper {
			return p.upper && p.t.fold(p.i-4, "from")
		}
		return p.name("where") && p.condition()
	case "update":
		p.is("only")
		return p.name("set") && (p.upper || p.next() != "" && p.is("="))
	case "create", "alter", "drop", "truncate":
		return p.definition(verb)
	case "with":
		p.is("recursive")
		p.next()
		p.list()
		return p.upper && p.is("AS", "(")
	}
	return false
}

func (p *parser) definition(verb string) bool {
	if p.upper {
		for range 4 {
			if w := p.next(); w == "" || !capitals.has[w[0]] {
				return false
			} else if objects[w] {
				return true
			}
		}
		return false
	}
	if !p.is("table") {
		return false
	}
	switch verb {
	case "create":
		p.is("if", "not", "exists")
		p.next()
		return p.is("(") && p.next() != "" && types[p.lower()]
	case "alter":
		p.next()
		return alters[p.lower()] && altered[p.lower()]
	case "drop":
		return p.is("if", "exists")
	}
	return false
}

// upperSelect looks for a star, a number, a call, or the FROM in capitals that belongs to a SELECT.
func (p *parser) upperSelect() bool {
	t := p.t
	start := t.skip(space, p.i)
	if w := p.next(); w == "" || w == "*" || isDigit(w[0]) || t.at(p.i) == '(' {
		return w != ""
	}
	if t.from.from > start || start >= t.from.to {
		n := start
		for n = t.skip(noF, n); n < len(t.s) && !(t.has(n, "FROM") && t.in(space, n-1) && t.in(space, n+4)); n = t.skip(noF, n) {
			n++
		}
		t.from = span{start, n}
		t.work += (n - start) / 4
	}
	return t.from.to < len(t.s) && t.from.to < t.skip(noSemi, start)
}

// columns reads what follows a select.
func (p *parser) columns() bool {
	p.is("distinct")
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
	if !p.is("from") {
		return false
	}
	if plain {
		return p.name("where") && p.condition()
	}
	p.next()
	for range 2 { // another name for the table
		if w := p.lower(); w == "" || clauses[w] || !word.has[w[0]] {
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
	w := p.lower()
	return w == "in" && p.is("(") || w != "in" && compare[w] || w == "is" && (p.is("null") || p.is("not", "null"))
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
