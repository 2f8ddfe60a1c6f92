package scrub

// Parts of the expressions that are used twice or read better with a name. \x60 is the backquote.
const (
	// pem takes a key with its end, and one that is cut off as far as its lines are a key's: what follows may be another
	// secret, of which it must not take a part. The end alone may be left of a key as well. Lines may end in \n as two characters.
	pem = `(` + pemBegin + `(?:-?[\w+/=\s\\:,.()])*` + pemEnd + `)|(` + pemBegin + pemLines + ws + `[A-Za-z0-9+/]+={0,2})(?:\s*$|["'\n\\])|(` + pemBegin + pemLines + `)` +
		`|((?:[A-Za-z0-9+/=]{16,}` + ws + `)+` + pemEnd + `)`
	pemBegin = `-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----`
	pemEnd   = `-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----`
	pemLines = `(?:` + ws + `(?:[A-Za-z0-9+/]{20,}={0,2}|(?:Proc-Type|DEK-Info|Version|Comment): [^\n\\"]*))*`

	dsnPair = `(?:host|hostaddr|port|user|password|dbname|database|sslmode|sslrootcert|sslcert|sslkey|connect_timeout|application_name|search_path|timezone|options)=` +
		`(?:'(?:[^'\\]|\\.)*'|[^\s'"\x60]*[^\s'"\x60,;]|)`

	urlEnd = `(?:[^\s"<>\x60]*[^\s"<>\x60.,;:!?)\]}'])` // up to white space, without the sentence's punctuation

	segmentChars = `[^\s"'\x60<>|,;:(){}\[\]\\*?=&/]`
	segment      = `(?:` + segmentChars + `*[^\s"'\x60<>|,;:(){}\[\]\\*?=&/.!])?`
	segments     = `(?:` + segmentChars + `+(?:(?:\\ [\w.-]| [A-Z])[\w.-]*)*/+)*` + segment // with blanks as in "Application Support"
	rootNames    = `etc|var|usr|tmp|proc|opt|mnt|srv|sys|dev|home|root|run|bin|sbin|lib|lib64|boot|media|nix|snap|app|Users|Library|Applications|System|Volumes|private|workspaces?|builds?`

	nl      = `(?:\r?\n|\\n)`
	goFrame = `(?:created by )?[\w./~@%-]*[\w)\]]\.[^\n\\]*` + nl + `(?:[ \t]+|\\t)[^\n\\]*?\.(?:go|s):\d+(?: \+0x[0-9a-f]+)?`
	goStack = `goroutine \d+[^\n\[]*\[[^\]\n]*\]:(?:` + nl + goFrame + `)*|` + goFrame + `(?:` + nl + goFrame + `)*` +
		`|\[signal [^\]\n]*\]|[^\s"'(]+\.(?:go|s):\d+ \+0x[0-9a-f]+`
	pythonFrame = `File \\?"[^"\n]*", line \d+(?:, in [^\n\\]*)?(?:` + nl + ` {4,}[^\n\\]+)*`
	pythonStack = `Traceback \(most recent call last\):(?:` + nl + `[ \t]*` + pythonFrame + `)*|` + pythonFrame + `(?:` + nl + `[ \t]*` + pythonFrame + `)*`

	innerV4   = `10(?:\.\d{1,3}){3}|192\.168(?:\.\d{1,3}){2}|172\.(?:1[6-9]|2\d|3[01])(?:\.\d{1,3}){2}|169\.254(?:\.\d{1,3}){2}|100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7])(?:\.\d{1,3}){2}`
	innerV6   = `\[?(?:fe80|f[cd][0-9a-f]{2})(?::[0-9a-f]{0,4}){2,7}(?:%\w+)?(?:\](?::\d+)?)?|\[::1\](?::\d+)?|::1\b`
	innerName = `(?:[A-Za-z0-9][\w-]*\.)+(?:internal|local|svc(?:\.cluster\.local)?|corp|lan|intranet|home\.arpa)`
	innerHost = `(?:localhost|127(?:\.\d{1,3}){3}|` + innerV4 + `|` + innerName + `|` + innerV6 + `)`
)
