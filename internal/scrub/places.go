package scrub

import (
	"net/netip"
	"slices"
	"strings"
)

var (
	inSegment  = chars("^ \t\n\r\f\v\"'`<>|,;:(){}[]\\*?=&/")
	winSegment = chars("^ \t\n\r\f\v\\/:*?\"<>|")
	beforePath = chars(" \t\n\r\f\v\"'`([{=:,;|")
	beforeHome = chars(" \t\n\r\f\v\"'`([{=:,;|>")
	notRoot    = chars("A-Za-z0-9_./~%:-")
	shareName  = chars("A-Za-z0-9_$.-")
	rootNames  = set(`etc var usr tmp proc opt mnt srv sys dev home root run bin sbin lib lib64 boot media nix snap app Users Library
	Applications System Volumes private workspace workspaces build builds`)
	aloneRoots  = set("etc var usr tmp proc opt mnt srv")
	slashes     = chars("/")
	backslashes = chars("\\")
	bothSlashes = chars("/\\")
	beforeWord  = chars(" \\")
	methods     = set("GET HEAD POST PUT PATCH DELETE OPTIONS")
	fileSchemes = set("file unix sqlite sqlite3 smb nfs")
)

// routeRoots begin a route or a JSON pointer, and no path.
var routeRoots = set("api rest graphql oauth oauth2 rpc mcp properties definitions $defs items paths components")

// segments returns where a path ends of which a segment starts at i. A directory may have blanks before a capital, as in
// "Application Support". The end of a sentence is not part of it.
func (t *text) segments(i int) int {
	for {
		j := t.skip(inSegment, i)
		k := j
		for n := 0; n < 8 && (t.at(k) == ' ' && isUpper(t.at(k+1)) || t.has(k, `\ `) && t.in(dotted, k+2)); n++ {
			k = t.skip(dotted, t.skip(beforeWord, k))
		}
		if j == i || t.at(k) != '/' {
			return t.trim(i, j, ".!")
		}
		i = t.skip(slashes, k)
	}
}

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
	start := i == 0 || beforePath.has[t.s[i-1]]
	name := strings.TrimRight(t.s[i+1:min(first, i+16)], ".!")
	switch {
	case first == i+1 || !free && !start:
	case free && (t.at(first) == '/' && rootNames[name] || first-i < 8 && aloneRoots[name]):
		t.hide(i, t.segments(i+1))
	case !start || i < t.url:
	case t.in(space, i-1) && methods[t.s[t.back(capitals, t.back(space, i)):t.back(space, i)]]:
		t.url = t.skip(solid, i)
	case t.at(first) == '/':
		if end := t.segments(i + 1); route(t.s[i+1:end], t.some(end, 2)) {
			t.decided(end)
		} else {
			t.hide(i, end)
		}
	}
}

// route reports what stands in a URL's place: /v1/items, /api/users, /users/42, and the JSON pointers of a schema's
// violations, /items/0/name.
func route(p, rest string) bool {
	if len(rest) > 1 && (rest[0] == '{' || rest[0] == ':' && isLower(rest[1])) { // /orders/{id}, /orders/:id
		return true
	}
	for n, seg := range strings.Split(p[:min(len(p), 256)], "/") {
		if n == 0 && (routeRoots[seg] || len(seg) > 1 && seg[0] == 'v' && number(seg[1:])) || n > 0 && number(seg) {
			return true
		}
	}
	return false
}

// number reports a number as an index or an ID has it: no year, and no leading zero as in the names of files.
func number(s string) bool {
	return s == "0" || len(s) > 0 && len(s) <= 3 && s[0] != '0' && strings.Trim(s, "0123456789") == ""
}

func homePath(t *text, i int) {
	if i > 0 && !beforeHome.has[t.s[i-1]] {
		return
	}
	if j := t.skip(dashed, i+1); t.at(j) == '/' && !isUpper(t.at(i+1)) && !isDigit(t.at(i+1)) {
		t.hide(i, t.segments(j+1))
	}
}

// windowsPath hides the URLs of files and shares too. A drive is plain enough to allow for blanks in the middle. A slash
// twice is a scheme's.
func windowsPath(t *text, i int) {
	if scheme, from := t.scheme(i); t.row == 1 && fileSchemes[scheme] && t.starts(from) {
		t.hide(from, t.urlEnd(i))
		return
	}
	if !isLetter(t.at(i-1)) || !t.starts(i-1) || t.has(i+1, "//") {
		return
	}
	for j := t.skip(bothSlashes, i+1); ; {
		k := t.skip(winSegment, j)
		for n := 0; n < 3 && t.at(k) == ' ' && t.in(winSegment, k+1); n++ {
			k = t.skip(winSegment, k+1)
		}
		if !t.in(bothSlashes, k) {
			t.hide(i-1, t.trim(j, t.skip(inSegment, j), ".!"))
			return
		}
		j = t.skip(bothSlashes, k)
	}
}

func uncPath(t *text, i int) {
	j := t.skip(backslashes, i)
	host := t.skip(dotted, j)
	if t.at(j) == '?' {
		host = j + 2
	}
	share := t.skip(backslashes, host)
	end := t.skip(shareName, share)
	if t.at(i-1) == '\\' || host-j < 2 || share == host || end-share < 2 {
		return
	}
	for t.at(end) == '\\' {
		next := t.skip(backslashes, end)
		if !t.in(winSegment, next) {
			break
		}
		end = t.skip(winSegment, next)
	}
	t.hide(i, end)
}

// private reports addresses of RFC 1918 and of sites, links (the cloud's metadata) and carrier-grade NAT, and of the machine.
func private(a netip.Addr) bool {
	return a.IsPrivate() || a.IsLinkLocalUnicast() || a.IsLoopback() || a.IsUnspecified() || carrier.Contains(a)
}

var (
	carrier = netip.MustParsePrefix("100.64.0.0/10")
	inIPv4  = chars("0-9.")
	inIPv6  = chars("0-9a-fA-F:")
)

// inner returns where an address of the inner network ends that starts at i, with its port; 0 for none. A loopback
// without a port says nothing.
func (t *text) inner(i int) int {
	local := t.fold(i, "localhost")
	end := i + len("localhost")
	if !local {
		if end = t.skip(inIPv4, i); end == i || t.in(inIPv6, end) && t.at(end) != ':' || t.skip(anyHex, i) == i+4 {
			end = t.skip(inIPv6, i)
		}
		end = t.trim(i, end, ".:")
		if end-i > 45 || t.in(word, end) {
			return 0
		}
		a, err := netip.ParseAddr(t.s[i:end])
		if err != nil || !private(a) {
			return 0
		}
		if a.Is6() {
			if t.at(end) == '%' {
				end = t.skip(word, end+1)
			}
			return end
		}
		local = a.IsLoopback() || a.IsUnspecified()
	}
	if port := t.port(end); port > end || !local {
		return port
	}
	return 0
}

func (t *text) port(i int) int {
	if end := t.skip(digits, i+1); t.at(i) == ':' && end > i+1 {
		return end
	}
	return i
}

func innerAddress(t *text, i int) {
	if t.in(word, i-1) || t.at(i-1) == '.' || t.at(i-1) == ':' && t.at(i) == ':' {
		return
	}
	end := t.inner(i)
	if end == 0 {
		return
	}
	if t.at(i-1) == '[' && t.at(end) == ']' {
		i--
		end = t.port(end + 1)
	}
	t.hide(i, end)
}

// innerNames are the ends of names that no public host has.
var innerNames = on(".internal", ".local", ".svc", ".corp", ".lan", ".intranet", ".home.arpa")

func innerHost(t *text, i int) {
	end := i + len(innerNames[t.row])
	switch host := t.skip(dotted, i); {
	case !t.has(i, innerNames[t.row]):
		return
	case t.has(end, ".cluster.local"):
		end += len(".cluster.local")
	case host > end && !(host == end+1 && !t.in(word, end)): // the end of a sentence
		return
	}
	from := t.back(dotted, i)
	if c := t.at(from - 1); c == '/' && t.at(from-2) != '/' {
		return
	}
	for from < i && !alnum.has[t.s[from]] {
		from++
	}
	if from < i && !t.in(dotted, from-1) {
		t.hide(from, t.port(end))
	}
}

// innerURL hides a host of the inner network with its path, and keeps the scheme.
func innerURL(t *text, i int) {
	if scheme, _ := t.scheme(i); !webSchemes[scheme] {
		return
	}
	from := i + len("://")
	end := t.inner(from)
	if t.at(from) == '[' {
		if end = t.inner(from + 1); end > 0 {
			end = t.port(end + 1)
		}
	}
	if host := t.skip(dotted, from); end == 0 && slices.ContainsFunc(innerNames, func(n string) bool { return strings.HasSuffix(t.s[from:host], n) }) {
		end = t.port(host)
	}
	if end > 0 && (t.at(end) == '/' || t.at(end) == '?') {
		end = max(end+1, t.urlEnd(max(end, from)))
	}
	if end > 0 {
		t.hide(from, end)
	}
}

var webSchemes = set("http https ws wss grpc grpcs tcp udp ftp sftp ssh git")

// dialled hides what a program talked to.
func dialled(t *text, i int) {
	switch {
	case t.fold(i, " tcp"), t.fold(i, " udp"):
		if verb := t.s[max(0, i-6):i]; !dialVerbs[verb[strings.LastIndexAny(verb, " \n\t\":(")+1:]] {
			return
		}
		j := i + len(" tcp")
		if t.at(j) == '4' || t.at(j) == '6' {
			j++
		}
		if t.at(j) != ' ' {
			return
		}
		end := t.skip(solid, j+1)
		if t.at(end-1) != ':' || t.at(end) != ' ' || end-1 == j+1 {
			return
		}
		from, to, ok := strings.Cut(t.s[j+1:end-1], "->")
		t.hide(j+1, j+1+len(from))
		if ok {
			t.hide(end-1-len(to), end-1)
		}
	case t.has(i, "lookup "): // db.example.net on 172.16.0.2:53: no such host
		j := i + len("lookup ")
		host := t.skip(solid, j)
		to := host
		if t.has(host, " on ") {
			to = t.skip(solid, host+len(" on "))
		}
		if t.at(to-1) != ':' || host == j || !slices.ContainsFunc(lookupErrors, func(e string) bool { return t.has(to, e) }) {
			return
		}
		t.hide(j, min(host, to-1))
		if to > host {
			t.hide(host+len(" on "), to-1)
		}
	default: // ENOTFOUND host:443
		j := i + strings.IndexByte(t.s[i:], ' ') + 1
		host := t.trim(j, t.skip(dotted, j), ".")
		if n := strings.IndexByte(t.s[j:host], '.'); n > 0 {
			t.hide(j, t.port(host))
		}
	}
}

var lookupErrors = on(" no such host", " server misbehaving", " i/o timeout", " Temporary failure")

var dialVerbs = set("dial listen read write")

func pointer(t *text, i int) {
	if end := t.skip(hexDigit, i+2); t.has(i, "0x") && t.starts(i) && end-i-2 >= 9 && end-i-2 <= 16 && !t.in(word, end) {
		t.hide(i, end)
	}
}
