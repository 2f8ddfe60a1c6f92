package scrub

import "strings"

// The two shapes of a statement, in which a blank stands for any white space. Upper-case keywords are hardly ever prose;
// in other cases it takes more: a list of columns, an operator, a type. "Select a file from the list" and
// "drop table reservations" have neither.
const (
	upperSQL = `\b(?:SELECT (?:\*|\d|[\w.]+\()|SELECT [^;]*? FROM ` +
		`|(?:INSERT(?: IGNORE)?|REPLACE|MERGE) INTO ` +
		`|UPDATE (?:ONLY )?` + table + `(?:(?:AS )?\w+ )?SET ` +
		`|DELETE FROM ` +
		`|(?:CREATE|ALTER|DROP|TRUNCATE) (?:[A-Z]+ )*(?:TABLE|VIEW|INDEX|DATABASE|SCHEMA|USER|ROLE|TRIGGER|FUNCTION|PROCEDURE|SEQUENCE) ` +
		`|WITH (?:RECURSIVE )?\w+ (?:\([^)]*\) )?AS \()`

	anySQL = `(?im)\b(?:select (?:distinct )?(?:\*|` + column + `(?:\s*,\s*` + column + `)+|\w+\([^()]*\)|\w+\.[\w*]+) from ` + ident +
		`(?:\s*$|\s*[;,)"'\x60]|:\x20|(?: (?:as )?\w+)? (?:where|join|inner|left|right|full|cross|order|group|having|limit|offset|union|for)\b)` +
		`|(?:select ` + column + ` from|delete from) ` + table + `(?:(?:as )?\w+ )?where ` + condition +
		`|(?:insert|replace|merge) into ` + ident + `\s*(?:\([^()]*\)\s*)?(?:values\s*\(|select\s)` +
		`|update ` + table + `(?:(?:as )?\w+ )?set [\w."]+\s*=` +
		`|create table (?:if not exists )?` + ident + `\s*\(\s*` + table + `(?:\w*int|integer|\w*serial|\w*char|text|uuid|timestamp|date|bool|numeric|decimal|json)` +
		`|alter table ` + table + `(?:add|drop|modify|rename|alter) (?:column|constraint|index|to|primary|foreign)\b` +
		`|drop (?:table|view|index|database|schema) if exists ` + ident + `)`

	ident     = `[\w.$"\x60\[\]]+`
	table     = ident + ` `
	column    = `[\w.*"\x60]+(?:\([^()]*\))?(?: as \w+)?`
	condition = `(?:not )?[\w."]+\s*(?:[=<>!]| (?:not )?(?:in\s*\(|(?:like|ilike|between)\s|is (?:not )?null\b))`
)

// ws is white space, also as it is written in a text inside of JSON.
const ws = `(?:\s|\\[nrt])+`

func spaced(expr string) string { return strings.ReplaceAll(expr, " ", ws) }

// statement moves the end of a match to the end of the statement: to a semicolon, a blank line, an unbalanced
// parenthesis, the quote that was open before it, or the colon of the error that is wrapped around it. What stands in
// quotes inside of the statement is part of it.
func statement(s string, from, to int) (int, int) {
	outer := openQuote(s[max(0, from-256):from])
	depth := 0
	for i := from; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\':
			i++
		case c == outer, c == ';', strings.HasPrefix(s[i:], "\n\n"), strings.HasPrefix(s[i:], ": "):
			return from, i
		case c == '\'' || c == '"' || c == '`':
			i = quoted(s, i+1, c, false)
		case c == '(':
			depth++
		case c == ')':
			if depth--; depth < 0 {
				return from, i
			}
		}
	}
	return from, len(s)
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
