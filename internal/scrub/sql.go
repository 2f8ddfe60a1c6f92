package scrub

import "strings"

// The two shapes of a statement. Upper-case keywords are hardly ever prose; in other cases it takes more: a list of
// columns, an operator, a type. "Select a file from the list" and "drop table reservations" have neither.
const (
	ws    = `(?:\s|\\[nrt])+` // also the escapes of a text inside JSON
	ident = "[\\w.$\"`\\[\\]]+"
	item  = "[\\w.*\"`]+(?:\\([^()]*\\))?(?:" + ws + "as" + ws + "\\w+)?"

	upperSQL = `\b(?:SELECT` + ws + `(?:\*|\d|[\w.]+\()|SELECT` + ws + `[^;]*?` + ws + `FROM` + ws +
		`|(?:INSERT(?:` + ws + `IGNORE)?|REPLACE|MERGE)` + ws + `INTO` + ws +
		`|UPDATE` + ws + `(?:ONLY` + ws + `)?` + ident + ws + `(?:(?:AS` + ws + `)?\w+` + ws + `)?SET` + ws +
		`|DELETE` + ws + `FROM` + ws +
		`|(?:CREATE|ALTER|DROP|TRUNCATE)` + ws + `(?:[A-Z]+` + ws + `)*(?:TABLE|VIEW|INDEX|DATABASE|SCHEMA|USER|ROLE|TRIGGER|FUNCTION|PROCEDURE|SEQUENCE)` + ws +
		`|WITH` + ws + `(?:RECURSIVE` + ws + `)?\w+` + ws + `(?:\([^)]*\)` + ws + `)?AS` + ws + `\()`

	anySQL = `(?im)\b(?:select` + ws + `(?:distinct` + ws + `)?(?:\*|` + item + `(?:\s*,\s*` + item + `)+|\w+\([^()]*\)|\w+\.[\w*]+)` + ws + `from` + ws + ident +
		`(?:\s*$|\s*[;,)"'` + "`" + `]|: |(?:` + ws + `(?:as` + ws + `)?\w+)?` + ws + `(?:where|join|inner|left|right|full|cross|order|group|having|limit|offset|union|for)\b)` +
		`|select` + ws + item + ws + `from` + ws + ident + ws + `(?:(?:as` + ws + `)?\w+` + ws + `)?where` + ws + condition +
		`|(?:insert|replace|merge)` + ws + `into` + ws + ident + `\s*(?:\([^()]*\)\s*)?(?:values\s*\(|select\s)` +
		`|update` + ws + ident + ws + `(?:(?:as` + ws + `)?\w+` + ws + `)?set` + ws + `[\w."]+\s*=` +
		`|delete` + ws + `from` + ws + ident + ws + `(?:(?:as` + ws + `)?\w+` + ws + `)?where` + ws + condition +
		`|create` + ws + `table` + ws + `(?:if` + ws + `not` + ws + `exists` + ws + `)?` + ident + `\s*\(\s*` + ident + ws + `(?:\w*int|integer|\w*serial|\w*char|text|uuid|timestamp|date|bool|numeric|decimal|json)` +
		`|alter` + ws + `table` + ws + ident + ws + `(?:add|drop|modify|rename|alter)` + ws + `(?:column|constraint|index|to|primary|foreign)\b` +
		`|drop` + ws + `(?:table|view|index|database|schema)` + ws + `if` + ws + `exists` + ws + ident + `)`
	condition = `(?:not` + ws + `)?[\w."]+\s*(?:[=<>!]|` + ws + `(?:not` + ws + `)?(?:in\s*\(|(?:like|ilike|between)\s|is` + ws + `(?:not` + ws + `)?null\b))`
)

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
