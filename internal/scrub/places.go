package scrub

import (
	"slices"
	"strings"
)

const (
	noSegment  = "\\s\v\"'`<>|,;:(){}\\[\\]\\\\*?=&/"
	segment    = "[^" + noSegment + "]"
	winSegment = `[^\s\v\\/:*?"<>|]`
	peer       = `(?:[^\s\v:>-]+|:(?P<not>[\s\v])|-(?P<not>>)|>)+` // of a connection, up to the last colon or an arrow
	winTail    = `[\\/]*(?:` + winSegment + `*(?: ` + winSegment + `+){0,3}[\\/]+)*` + segment + `*`

	// The segments of a path go on over blanks before a capital, as in "Application Support", if a slash follows.
	blanks   = `(?:(?: (?P<is>[A-Z])|\\ (?P<is>[\w.-]))[\w.-]*){1,8}`
	segments = `(?:` + segment + `+(?:(?P<is>` + blanks + `/)` + blanks + `)?(?P<is>/)/*)*` + segment + `*`

	// A route stands in a URL's place: /v1/items, /api/users, /users/42, /orders/{id}, /orders/:id, and the JSON pointers of
	// a schema's violations, /items/0/name. A number is one as an index or an ID has it: no year, and no leading zero as in
	// the names of files.
	index     = `(?:(?:0|[1-9]\d{0,2})(?P<not>[.!]*[^.!` + noSegment + `])|\{|:[a-z])`
	routeRoot = `(?:api|rest|graphql|oauth2?|rpc|mcp|properties|definitions|\$defs|items|paths|components)(?P<not>` + segment + `)`
	apiRoot   = routeRoot + `|v\d{1,3}(?P<not>` + segment + `)`
	route     = `/(?:` + apiRoot + `|` + segment + `+(?:/(?P<not>` + index + `)` + segment + `*)*/` + index + `)`
)

var (
	pathEnd    = compile(segments)
	routes     = compile(route)
	apiRoots   = compile(`/(?:` + apiRoot + `)`)
	onDrive    = compile(`[A-Za-z]:(?P<not>//)` + winTail)
	inSource   = compile(`:\d|\(\d|", line \d`)
	inSegment  = chars("^" + noSegment)
	beforePath = chars("\\s\v\"'`(\\[{=:,;|")
	notRoot    = chars("A-Za-z0-9_./~%:-")
	rootNames  = set(`etc var usr tmp proc opt mnt srv sys dev home root run bin sbin lib lib64 boot media nix snap app Users Library
	Applications System Volumes private workspace workspaces work build builds code repo backup backups secrets export efs lost+found cdrom`)
	aloneRoots  = set("etc var usr tmp proc opt mnt srv")
	slashes     = chars("/")
	backslashes = chars(`\\`)
	small       = chars("a-z")
	methods     = set("GET HEAD POST PUT PATCH DELETE OPTIONS")
	// fileWords stand before the name of a file, also where that has one segment: open /secrets.txt: permission denied.
	fileWords = set("open stat lstat fstatat openat mkdir rmdir unlink unlinkat readlink readdirent chdir chmod chown symlink scandir copyfile file directory folder")
	// routeWords stand before a route as well: path "/users" not found, create /orders failed. They need more, see [text.ofFile].
	routeWords = set("read write remove rename link exec truncate create access path")
	fileErrors = []string{"denied, ", "directory, ", "exists, ", "permitted, ", "error, ", "busy, "}
	fileEnd    = compile("[\"'`]?:[ \t](?i:permission denied|no such file|not a directory|is a directory|file exists|input/output error|read-only file|no space left|operation not permitted|directory not empty|too many open files|broken pipe)")
)

// trim returns to, or where the characters begin that end s[from:to].
func (t *text) trim(from, to int, cut string) int {
	for to > from && strings.IndexByte(cut, t.s[to-1]) >= 0 {
		to--
		t.work++
	}
	return to
}

// unixPath hides a path under a well-known root wherever it starts, the most telling ones even alone; any other has two
// segments, and is neither a URL's nor a route's.
func unixPath(t *text, i int) {
	first := t.skip(inSegment, i+1)
	before := t.back(slashes, i)
	free := before == 0 || !notRoot.has[t.s[before-1]] || before == i && t.s[i-1] == ':'
	free = free && !(i < t.url && t.at(before-1) == ']') // of http://[address]/opt/x
	start := i == 0 || beforePath.has[t.s[i-1]]
	name := strings.TrimRight(t.s[i+1:min(first, i+16)], ".!")
	switch {
	case first == i+1 || !free && !start:
	case free && (t.at(first) == '/' && rootNames[name] || first-i < 8 && aloneRoots[name]):
		t.hidePath(i, t.trim(i, pathEnd(t, i+1), ".!"))
	case !start || i < t.url:
	case t.in(space, i-1) && methods[t.s[t.back(capitals, t.back(space, i)):t.back(space, i)]]:
		t.url = t.skip(solid, i)
	case t.at(first) == '/':
		if end := t.trim(i, pathEnd(t, i+1), ".!"); routes(t, i) < 0 || apiRoots(t, i) < 0 && extended(t.s[i:end]) {
			t.hidePath(i, end)
		} else {
			t.decided(end)
		}
	case t.ofFile(i, first):
		t.hidePath(i, t.trim(i, first, ".!"))
	}
}

// ofFile reports whether the words before s[i:to] say that a file stands there. Some need what a system says of a
// file, or its extension, too.
func (t *text) ofFile(i, to int) bool {
	to = t.trim(i, to, ".!")
	fails := extended(t.s[i:to]) || fileEnd(t, to) >= 0
	if t.in(quotes, i-1) {
		i--
	}
	if t.at(i-1) != ' ' {
		return false
	}
	end := i - 1
	if t.at(end-1) == ':' { // No such file or directory: '/secrets.txt'
		end--
	}
	begin := max(t.back(letters, end), end-16)
	word, before := strings.ToLower(t.s[begin:end]), t.s[max(0, begin-16):begin]
	failed := func(end string) bool { return strings.HasSuffix(before, end) } // EACCES: permission denied, access '/x'
	return fileWords[word] || routeWords[word] && (fails || slices.ContainsFunc(fileErrors, failed))
}

// hidePath hides a path. Who may read errors reads in a place of a source file its name: the directories are the server's.
func (t *text) hidePath(from, to int) {
	if t.of == trusted && inSource(t, to) >= 0 && extended(t.s[from:to]) {
		if name := from + strings.LastIndexAny(t.s[from:to], `/\`); name > from {
			t.hide(from, t.back(backslashes, name))
			t.decided(to)
			return
		}
	}
	t.hide(from, to)
}

// drivePath hides a path of Windows.
func drivePath(t *text, i int) {
	from := t.back(word, i)
	if t.tried[t.rule] == from+1 {
		return
	}
	t.tried[t.rule] = from + 1
	if end := onDrive(t, from); end >= 0 {
		t.hidePath(from, t.trim(from, end, cuts["path"]))
	}
}

// extended reports whether a path ends with the extension of a file.
func extended(path string) bool {
	base := path[strings.LastIndexAny(path, `/\`)+1:]
	dot := strings.LastIndexByte(base, '.')
	const longest = 8
	return dot > 0 && dot+1 < len(base) && len(base)-dot <= longest && isLetter(base[dot+1])
}

// An address of the inner network or of the machine, with its port. In a URL the path behind it stays: it says what
// failed. A loopback without a port says nothing.
const (
	innerIPv4 = `(?:10\.\d+|192\.168|169\.254|172\.(?:1[6-9]|2\d|3[01])|100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7]))\.\d+\.\d+(?P<not>\w|\.\d)`
	innerIPv6 = `(?:::1(?P<not>\w)|(?i:fe80|f[cd][0-9a-f]{2}):(?P<is>[0-9a-fA-F]*:)[0-9a-fA-F:]*(?:%\w+)?)`
	machine   = `(?:localhost|127\.\d+\.\d+\.\d+|0\.0\.0\.0):\d+`
	port      = `(?::\d+)?`

	innerAddress = `(?:(?P<hide>\[` + innerIPv6 + `\]` + port + `)|` +
		`\[*(?:\A|(?P<after>[^\w.]))(?P<url>` + innerIPv6 + `|` + innerIPv4 + port + `|` + machine + `))`
)

// innerName is a host with an end that no public one has, with its port.
const (
	innerEnd  = `\.(?:internal|local|svc|corp|lan|intranet|home\.arpa)(?P<not>\w|[.-]+\w)`
	innerName = `(?://)?(?P<url>[A-Za-z0-9](?:[\w-]+|(?P<not>` + innerEnd + `)\.)*` + innerEnd + port + `)`
)

var (
	inRoute = chars("A-Za-z0-9_./-")
	opening = chars(`\[`)
)
