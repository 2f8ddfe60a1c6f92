package scrub

import "strings"

// tools are programs behind their flags for a password that a name does not tell. A flag that ends in * is followed by
// its value without a blank. login is that of docker, podman, az and helm.
const tools = `
	-p* mysql mysqldump mysqladmin mariadb 7z
	-p login mongo mongosh mongodump mongorestore twine cqlsh influx clickhouse-client psexec
	-p|-p* sshpass
	-P sqlcmd isql bcp tsql unzip zip ipmitool
	-w ldapsearch ldapadd ldapmodify ldapwhoami
	-A|-X|-c snmpget snmpwalk snmpset snmpbulkwalk
	-W pg_dump
	-a redis-cli
	-U*% smbclient
	-k|-K|-pass|-passin|-passout openssl`

// toolRows have the flags of the program whose name is the trigger in the same row.
var toolRows [][]string

func toolNames() (names []string) {
	for line := range strings.Lines(strings.TrimSpace(tools)) {
		fields := strings.Fields(line)
		for _, name := range fields[1:] {
			names = append(names, name)
			toolRows = append(toolRows, strings.Split(fields[0], "|"))
		}
	}
	return names
}

// toolFlag hides what stands behind a flag of a program.
func toolFlag(t *text, i int) {
	const most = 256
	at := i + len(rules[t.rule].on[t.row])
	if !t.in(besideArgument, at) || !t.starts(i) || t.at(i-1) == '-' || t.at(i-1) == '.' {
		return
	}
	end := min(t.skip(inLine, i), i+most)
	for at < end && strings.IndexByte("|;&", t.at(at-1)) < 0 { // behind which another program stands
		at = t.skip(besideArgument, at)
		to := t.skip(inArgument, at)
		for _, flag := range toolRows[t.row] {
			if t.has(at, strings.TrimRight(flag, "*%")) && at < end {
				t.flagged(flag, at, to)
			}
		}
		at = max(to, at+1)
	}
	t.decided(at)
}

// Arguments stand behind blanks, or in a list.
var (
	besideArgument = chars(" \\t\"'`,")
	inArgument     = chars("^ \\t\\n\"'`,")
)

// flagged hides the value of a flag that is s[at:to], or begins it.
func (t *text) flagged(flag string, at, to int) {
	name, how, attached := strings.Cut(flag, "*")
	from := at + len(name)
	switch {
	case how == "%": // -U user%password
		from = t.skip(blank, from)
		sign := strings.IndexByte(t.some(from, t.skip(solid, from)-from), '%')
		if sign < 0 {
			return
		}
		from += sign + 1
	case attached == (from == to): // -p alone asks for it
		return
	case !attached:
		if from = t.skip(blank, from); t.has(from, "pass:") {
			from += len("pass:")
		} else if t.at(from) == '-' || t.has(from, "file:") || t.has(from, "env:") {
			return
		}
	}
	if from >= len(t.s) {
		return
	}
	to = t.skip(solid, from)
	if t.in(quotes, at-1) { // in a list
		from = t.skip(besideArgument, from)
		to = t.skip(inList, from)
	} else if q := t.s[from]; quotes.has[q] {
		from++
		to = t.quoted(from, q, true)
	}
	if to = t.trim(from, to, ";"); to > from && !placeholder(t.s[from:to]) {
		t.hide(from, to)
	}
}
