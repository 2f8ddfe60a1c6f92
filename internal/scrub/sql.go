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
	<table> (?:[[':@#%-]<name>[\]']?|<name>)
	<list> \([^()]*\)
	<alias> (?P<not>(?:set|where))(?:as )?<name>
	<objects> (?:TABLE|VIEW|INDEX|DATABASE|SCHEMA|USER|ROLE|TRIGGER|FUNCTION|PROCEDURE|SEQUENCE)
	<type> (?:int|bigint|smallint|tinyint|integer|serial|bigserial|varchar|char|nvarchar|text|uuid|timestamp|date|bool|boolean|numeric|decimal|json|jsonb)
	<condition> (?:not )?<token> (?:not )?(?:in \(|is null|is not null|[=<>!]|like|ilike|between)
	<column> <name>(?: <list>)?(?: as <token>)?
	<several> (?:<column>(?: , <column>){1,31}|(?:\*|<word>\.<ident>*|<name> <list>)(?: <list>)?(?: as <token>)?)
	<end> (?:\z|[^\w\s\v]|where|join|inner|left|right|full|cross|order|group|having|limit|offset|union|for)
	<columns> (?:<several> from <table> (?:(?P<is><end>)|(?:as )?<token> (?P<is><end>))|<column> from <table> (?:<alias> )?where <condition>)
	SELECT (?:\*|\d|<name>\(|\S\()
	INSERT (?:IGNORE )?INTO
	REPLACE INTO
	MERGE INTO
	DELETE FROM
	UPDATE (?:ONLY )?<table> (?:<alias> )?SET
	(?:CREATE|ALTER|DROP|TRUNCATE) (?:(?P<not><objects>)<token> ){0,3}<objects>
	WITH (?:RECURSIVE )?<name> (?:<list> )?AS \(
	select (?:distinct )?<columns>
	insert (?:ignore )?into <table> (?:<list> )?(?:select|values \()
	(?:replace|merge) into <table> (?:<list> )?values \(
	delete from <table> (?:<alias> )?where <condition>
	update <table> (?:<alias> )?set <name> =
	create table (?:if )?(?:not )?(?:exists )?<table> \( <name> <type>
	alter table <table> (?:add|drop|modify|rename|alter) (?:column|constraint|index|to|primary|foreign)
	drop table if exists`

// sqlPattern returns the shapes as one pattern.
func sqlPattern() string {
	const ident = "[\\w.$\"`*]"
	named := map[string]string{
		"<ident>": ident, "<name>": ident + "+", "<token>": "(?:" + ident + "+|[^\\w.$\"`*\\s\\v])", "<word>": "[\\w$\"`*]+",
	}
	var all []string
	for line := range strings.Lines(strings.TrimSpace(sqlShapes)) {
		name, shape, _ := strings.Cut(strings.TrimSpace(line), " ")
		if name[0] != '<' {
			name, shape = "", strings.TrimSpace(line)
		}
		shape = regexp.MustCompile(`<[a-z]+>|[A-Za-z]{2,}| `).ReplaceAllStringFunc(shape, func(part string) string {
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
		if named[name] = shape; name == "" {
			all = append(all, shape)
		}
	}
	return `\b(?:` + strings.Join(all, "|") + ")"
}

// selectFrom is a SELECT in capitals to which a FROM belongs.
const selectFrom = `\bSELECT[\s\v](?P<once>(?:[^;F]+|F(?P<not>ROM[\s\v]))*)FROM`

// insertedRows hides the values of columns that have the name of a secret.
func insertedRows(t *text, i int) {
	const most = 2 << 10
	end := t.back(space, i) - 1
	from := t.back(inColumns, end)
	if t.at(end) != ')' || t.at(from-1) != '(' || end-from > most {
		return
	}
	var secret []bool
	for name := range strings.SplitSeq(t.s[from:end], ",") {
		secret = append(secret, SecretName(strings.Trim(name, " \t\r\n\"'`[]")))
	}
	t.work += end - from
	for i = t.skip(space, i+len("values")); t.at(i) == '('; i = t.skip(nextRow, i+1) {
		for _, hide := range secret {
			t.marks = t.marks[:0]
			i = inRow(t, i+1)
			if m := t.marks[0]; hide && m.from < m.to && !harmless(t.s[m.from:min(m.to, m.from+64)], true) && (m.how == "value" || digits(t.s[m.from:m.to])) {
				t.hide(m.from, m.to)
			}
			if t.at(i) != ',' {
				break
			}
		}
	}
}

var (
	inColumns = chars("^()")
	inRow     = compile(`[\s\v]*(?:'(?P<value>(?:[^'\\]+|''|\\[^\x00])*)'?|"(?P<value>[^"]*)"?|(?P<value>\w+\([^()]*(?:\([^()]*\)[^()]*)*\))|(?P<hide>[^(),'"\s\v]*))[\s\v]*`)
	nextRow   = chars(", \t\r\n")
)

func statement(t *text, i int) { t.hide(i, t.statementEnd(i)) }

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
