package explain

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// A format is what a string is to be.
type format struct {
	name  string
	valid func(text string) bool // nil for one that is not checked
}

// formatNamed returns a format, nil for one of which nothing is known.
func formatNamed(name string) *format {
	f := &format{name: name}
	switch name {
	case "date":
		f.valid = isDate
	case "time":
		f.valid = isTimeOfDay
	case "date-time":
		f.valid = isDateTime
	case "duration":
		f.valid = isDuration
	case "email":
		f.valid = isEmail
	case "hostname":
		f.valid = isHostname
	case "ipv4":
		f.valid = isIPv4
	case "ipv6":
		f.valid = isIPv6
	case "uuid":
		f.valid = isUUID
	case "uri", "iri":
		f.valid = isURI
	case "uri-reference", "iri-reference":
		f.valid = isURIReference
	case "uri-template":
		f.valid = isURITemplate
	case "json-pointer":
		f.valid = isPointer
	case "relative-json-pointer":
		f.valid = isRelativePointer
	case "password", "idn-email", "idn-hostname", "period", "semver", "regex": // other engines read what regexp cannot
	default:
		return nil
	}
	return f
}

// digits are the decimal digits.
const digits = "0123456789"

// only reports whether a text is not empty, and has no other bytes.
func only(text, bytes string) bool { return text != "" && strings.Trim(text, bytes) == "" }

func isDate(text string) bool {
	_, err := time.Parse(time.DateOnly, text)
	return err == nil
}

// clock reads hh:mm, as the minutes since midnight.
func clock(text string) (minutes int, ok bool) {
	if len(text) != len("hh:mm") || text[2] != ':' || !only(text[:2]+text[3:], digits) {
		return 0, false
	}
	hour, _ := strconv.Atoi(text[:2])
	minute, _ := strconv.Atoi(text[3:])
	return 60*hour + minute, hour < 24 && minute < 60
}

// isTimeOfDay is for full-time of RFC 3339, section 5.6. A leap second ends a day in UTC.
func isTimeOfDay(text string) bool {
	if len(text) < len("hh:mm:ssZ") || text[5] != ':' || !only(text[6:8], digits) {
		return false
	}
	minutes, ok := clock(text[:5])
	second, zone := text[6:8], text[8:]
	if fraction, has := strings.CutPrefix(zone, "."); has {
		zone = strings.TrimLeft(fraction, digits)
		ok = ok && len(zone) < len(fraction)
	}
	if zone != "Z" && zone != "z" {
		if zone == "" || zone[0] != '+' && zone[0] != '-' {
			return false
		}
		offset, right := clock(zone[1:])
		if ok = ok && right; zone[0] == '+' {
			offset = -offset
		}
		minutes = (minutes + offset + 24*60) % (24 * 60)
	}
	return ok && (second < "60" || second == "60" && minutes == 24*60-1)
}

func isDateTime(text string) bool {
	const date = len(time.DateOnly)
	return len(text) > date && (text[date] == 'T' || text[date] == 't') && isDate(text[:date]) && isTimeOfDay(text[date+1:])
}

// isDuration is for duration of RFC 3339, appendix A.
func isDuration(text string) bool {
	text, ok := strings.CutPrefix(text, "P")
	if weeks, ofWeeks := strings.CutSuffix(text, "W"); ok && ofWeeks {
		return only(weeks, digits)
	}
	date, clock, timed := strings.Cut(text, "T")
	return ok && (date != "" || timed) && inUnits(date, "YMD") && (!timed || clock != "" && inUnits(clock, "HMS"))
}

// inUnits reports whether a text is made of numbers, each with a unit, in the order of the units.
func inUnits(text, units string) bool {
	for text != "" {
		rest := strings.TrimLeft(text, digits)
		if rest == "" || len(rest) == len(text) {
			return false
		}
		i := strings.IndexByte(units, rest[0])
		if i < 0 {
			return false
		}
		text, units = rest[1:], units[i+1:]
	}
	return true
}

// isEmail is for Mailbox of RFC 5321.
func isEmail(text string) bool {
	at := strings.LastIndexByte(text, '@')
	if at < 0 || at > 64 || len(text) > 254 {
		return false
	}
	local, domain := text[:at], text[at+1:]
	if len(local) > 1 && local[0] == '"' && local[at-1] == '"' {
		if strings.ContainsAny(local[1:at-1], `"\`) {
			return false
		}
	} else if strings.Contains("."+local+".", "..") && local != "" || strings.Trim(local, letters+digits+".!#$%&'*+-/=?^_`{|}~") != "" {
		return false
	}
	if address, ok := strings.CutPrefix(domain, "["); ok && strings.HasSuffix(address, "]") {
		address = strings.TrimSuffix(address, "]")
		if six, ok := strings.CutPrefix(address, "IPv6:"); ok {
			return isIPv6(six)
		}
		return isIPv4(address)
	}
	return isHostname(domain)
}

// isHostname is for host names of RFC 1123.
func isHostname(text string) bool {
	text = strings.TrimSuffix(text, ".")
	for label := range strings.SplitSeq(text, ".") {
		if len(label) > 63 || !only(label, letters+digits+"-") || strings.Trim(label, "-") != label {
			return false
		}
	}
	return len(text) <= 253
}

func isIPv4(text string) bool {
	address, err := netip.ParseAddr(text)
	return err == nil && address.Is4()
}

func isIPv6(text string) bool {
	address, err := netip.ParseAddr(text)
	return err == nil && address.Is6() && address.Zone() == ""
}

// isUUID is for RFC 9562.
func isUUID(text string) bool {
	groups := strings.Split(text, "-")
	return len(text) == 36 && len(groups) == 5 && len(groups[0]) == 8 && len(groups[1]) == 4 && len(groups[2]) == 4 && len(groups[3]) == 4 &&
		only(strings.Join(groups, ""), digits+"abcdefABCDEF")
}

// address reads a URI or a reference to one.
func address(text string) (*url.URL, bool) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, false
	}
	host := u.Hostname()
	return u, !strings.Contains(host, ":") || strings.HasPrefix(u.Host, "[") && isIPv6(host)
}

func isURI(text string) bool {
	u, ok := address(text)
	return ok && u.IsAbs()
}

func isURIReference(text string) bool {
	_, ok := address(text)
	return ok && !strings.Contains(text, `\`)
}

// isURITemplate is for RFC 6570, of which it looks at the braces of the path.
func isURITemplate(text string) bool {
	u, ok := address(text)
	if !ok || u.RawPath == "" {
		return ok
	}
	for part := range strings.SplitSeq(u.Path, "/") {
		open := false
		for _, c := range part {
			if c == '{' || c == '}' {
				if open == (c == '{') {
					return false
				}
				open = !open
			}
		}
		if open {
			return false
		}
	}
	return true
}

// isPointer is for RFC 6901.
func isPointer(text string) bool {
	for i, c := range text {
		if c == '~' && (i+1 == len(text) || text[i+1] != '0' && text[i+1] != '1') {
			return false
		}
	}
	return text == "" || text[0] == '/'
}

func isRelativePointer(text string) bool {
	rest := strings.TrimLeft(text, digits)
	up := text[:len(text)-len(rest)]
	return up != "" && (up == "0" || up[0] != '0') && (rest == "#" || isPointer(rest))
}
