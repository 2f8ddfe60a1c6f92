package explain

import (
	"net/netip"
	"net/url"
	"strings"
	"time"
)

const (
	digits  = "0123456789"
	letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
)

// hasFormat reports whether a text certainly has a format. The validator looks at none: so nothing is wrong for its
// format, but what may be is not suggested.
func hasFormat(format, text string) bool {
	switch format {
	case "date":
		return isTime(time.DateOnly, text)
	case "time":
		return isTime("15:04:05Z07:00", text)
	case "date-time":
		return isTime(time.RFC3339, text)
	case "duration":
		return isDuration(text)
	case "email":
		local, domain, _ := strings.Cut(text, "@")
		return only(local, letters+digits+".!#$%&'*+-/=?^_`{|}~") && !strings.Contains("."+local+".", "..") && isHostname(domain)
	case "hostname":
		return isHostname(text)
	case "ipv4":
		address, err := netip.ParseAddr(text)
		return err == nil && address.Is4()
	case "ipv6":
		address, err := netip.ParseAddr(text)
		return err == nil && address.Is6() && address.Zone() == ""
	case "uuid":
		groups := strings.Split(text, "-")
		return len(text) == 36 && len(groups) == 5 && len(groups[0]) == 8 && len(groups[1]) == 4 && len(groups[2]) == 4 && len(groups[3]) == 4 &&
			only(strings.Join(groups, ""), digits+"abcdefABCDEF")
	case "uri", "iri":
		u, err := url.Parse(text)
		return err == nil && u.IsAbs()
	default:
		return true
	}
}

func isTime(layout, text string) bool {
	_, err := time.Parse(layout, text)
	return err == nil
}

// only reports whether a text is not empty, and has no other bytes.
func only(text, bytes string) bool { return text != "" && strings.Trim(text, bytes) == "" }

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
