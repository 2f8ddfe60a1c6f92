package scrub

import (
	"regexp"
	"strings"
)

// sqlShapes are the shapes of a statement. Upper-case keywords are hardly ever prose; in other cases it takes more: a
// list of columns, an operator, a type. "Select a file from the list" and "drop table reservations" have neither. Each
// line is a [pattern], in which a word in small letters is read in any case, a blank is any white space or none, and
// <x> stands for what a line above says.
const sqlShapes = `
	<table> (?:[[':@-]<name>[\]']?|<name>)
	<list> \([^()]*\)
	<alias> (?P<not>(?:set|where))(?:as )?<name>
	<objects> (?:TABLE|VIEW|INDEX|DATABASE|SCHEMA|USER|ROLE|TRIGGER|FUNCTION|PROCEDURE|SEQUENCE)
	<object> (?:(?P<not><objects>)<token> ){0,3}<objects>
	<type> (?:int|bigint|smallint|tinyint|integer|serial|bigserial|varchar|char|nvarchar|text|uuid|timestamp|date|bool|boolean|numeric|decimal|json|jsonb)
	<condition> (?:not )?<token> (?:not )?(?:in \(|is null|is not null|[=<>!]|like|ilike|between)
	<column> <name>(?: <list>)?(?: as <token>)?
	<several> (?:<column>(?: , <column>){1,31}|(?:\*|<word>\.<ident>*|<name> <list>)(?: <list>)?(?: as <token>)?)
	<end> (?:\z|[^\w\s\v]|where|join|inner|left|right|full|cross|order|group|having|limit|offset|union|for)
	<columns> (?:<several> from <table> (?:(?P<is><end>)|(?:as )?<token> (?P<is><end>))|<column> from <table> (?:<alias> )?where <condition>)
	SELECT (?:\*|\d|<name>\(|\S\(|(?P<selects>))
	INSERT (?:IGNORE )?INTO
	REPLACE INTO
	MERGE INTO
	DELETE FROM
	UPDATE (?:ONLY )?<table> (?:<alias> )?SET
	CREATE <object>
	ALTER <object>
	DROP <object>
	TRUNCATE <object>
	WITH (?:RECURSIVE )?<name> (?:<list> )?AS \(
	select (?:distinct )?<columns>
	insert (?:ignore )?into <table> (?:<list> )?(?:select|values \()
	replace into <table> (?:<list> )?values \(
	merge into <table> (?:<list> )?values \(
	delete from <table> (?:<alias> )?where <condition>
	update <table> (?:<alias> )?set <name> =
	create table (?:if )?(?:not )?(?:exists )?<table> \( <name> <type>
	alter table <table> (?:add|drop|modify|rename|alter) (?:column|constraint|index|to|primary|foreign)
	drop table if exists`

// statements are the patterns of the statements, by the letters that they begin with.
var statements = func() (all [256][]*pattern) {
	const ident = "[\\w.$\"`*]"
	named := map[string]string{
		"<ident>": ident, "<name>": ident + "+", "<token>": "(?:" + ident + "+|[^\\w.$\"`*\\s\\v])", "<word>": "[\\w$\"`*]+",
	}
	expand := func(s string) string {
		return regexp.MustCompile(`<[a-z]+>|[A-Za-z]{2,}| `).ReplaceAllStringFunc(s, func(part string) string {
			switch {
			case part == " ":
				return `[\s\v]*`
			case part[0] == '<' && named[part] == "": // of a group
				return part
			case part[0] == '<':
				return named[part]
			case isLower(part[0]):
				part = "(?i:" + part + ")"
			}
			return part + "(?P<not>" + ident + ")"
		})
	}
	for line := range strings.Lines(strings.TrimSpace(sqlShapes)) {
		line = strings.TrimSpace(line)
		if name, shape, _ := strings.Cut(line, " "); name[0] == '<' {
			named[name] = expand(shape)
			continue
		}
		p := compile(expand(line))
		all[line[0]] = append(all[line[0]], p)
		if isLower(line[0]) {
			upper := line[0] - 'a' + 'A'
			all[upper] = append(all[upper], p)
		}
	}
	return all
}()

func statement(t *text, i int) {
	if !t.starts(i) {
		return
	}
	for _, p := range statements[t.s[i]] {
		if t.match(p, i) >= 0 {
			t.hide(i, t.statementEnd(i))
			return
		}
	}
}

// selects reports whether the FROM in capitals that belongs to a SELECT stands behind i.
func (t *text) selects(i int) bool {
	if t.from.from > i || i >= t.from.to {
		n := t.skip(noF, i)
		for n < len(t.s) && !(t.has(n, "FROM") && t.in(space, n-1) && t.in(space, n+4)) {
			n = t.skip(noF, n+1)
		}
		t.work += (n - i) / 4
		t.from = span{i, n}
	}
	return t.from.to < len(t.s) && t.from.to < t.skip(noSemi, i)
}

var (
	noSemi = chars("^;")
	noF    = chars("^F")
)

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
