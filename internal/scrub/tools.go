package scrub

import "strings"

// tools are programs and their flags for a password that a name does not tell. A flag that ends in * is followed by its
// value without a blank.
var tools = []struct{ name, flags string }{
	{"mysql", "-p*"},
	{"mysqldump", "-p*"},
	{"mysqladmin", "-p*"},
	{"mariadb", "-p*"},
	{"7z", "-p*"},
	{"sshpass", "-p"},
	{"login", "-p"}, // docker, podman, az, helm registry
	{"mongo", "-p"},
	{"mongosh", "-p"},
	{"mongodump", "-p"},
	{"mongorestore", "-p"},
	{"twine", "-p"},
	{"pg_dump", "-W"},
	{"redis-cli", "-a"},
	{"sqlcmd", "-P"},
	{"isql", "-P"},
	{"bcp", "-P"},
	{"tsql", "-P"},
	{"unzip", "-P"},
	{"zip", "-P"},
	{"ldapsearch", "-w"},
	{"ldapadd", "-w"},
	{"ldapmodify", "-w"},
	{"ldapwhoami", "-w"},
	{"openssl", "-k -K -pass -passin -passout"},
	{"snmpget", "-A -X"},
	{"snmpwalk", "-A -X"},
	{"smbclient", "-U*%"},
	{"ipmitool", "-P"},
	{"cqlsh", "-p"},
	{"influx", "-p"},
	{"clickhouse-client", "-p"},
}

func toolNames() (names []string) {
	for _, tool := range tools {
		names = append(names, tool.name+" ")
	}
	return names
}

// toolFlag hides what stands behind a flag of a program.
func toolFlag(t *text, i int) {
	const most = 256
	if !t.starts(i) || t.at(i-1) == '-' || t.at(i-1) == '.' {
		return
	}
	end := min(t.skip(inLine, i), i+most)
	at := t.skip(solid, i)
	for at < end && strings.IndexByte("|;&", t.at(at-1)) < 0 { // behind which another program stands
		at = t.skip(space, at)
		to := t.skip(solid, at)
		for flag := range strings.FieldsSeq(tools[t.row].flags) {
			if t.has(at, strings.TrimRight(flag, "*%")) && at < end {
				t.flagged(flag, at, to)
			}
		}
		at = max(to, at+1)
	}
	t.decided(at)
}

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
	if q := t.s[from]; quotes.has[q] {
		from++
		to = t.quoted(from, q, true)
	}
	if to = t.trim(from, to, ";"); to > from && !placeholder(t.s[from:to]) {
		t.hide(from, to)
	}
}
