package canonical

import (
	"bytes"
	"slices"
)

// maxMembers bounds the members of an object that are put in order here.
const maxMembers = 32

// A member of an object, in its canonical form.
type member struct{ name, text []byte }

// appendPlain writes the canonical form of the value at the beginning of raw, and returns what
// stands behind it. It reads what most arguments are made of: strings without escapes,
// numbers, and objects that are not large and name nothing twice, in any case. For all else it reports false,
// and the value has to be decoded. That is several times dearer.
func appendPlain(to, raw []byte, depth int) (_, rest []byte, ok bool) {
	raw = space(raw)
	if len(raw) == 0 || depth > maxDepth {
		return nil, nil, false
	}
	switch raw[0] {
	case '"':
		end := stringEnd(raw)
		if end < 0 {
			return nil, nil, false
		}
		return append(to, raw[:end]...), raw[end:], true
	case '{':
		return appendPlainObject(to, raw[1:], depth)
	case '[':
		return appendPlainList(to, raw[1:], depth)
	case 't', 'f', 'n':
		for _, word := range [...]string{"true", "false", "null"} {
			if bytes.HasPrefix(raw, []byte(word)) {
				return append(to, word...), raw[len(word):], true
			}
		}
		return nil, nil, false
	default:
		end := numberEnd(raw)
		if end < 0 {
			return nil, nil, false
		}
		return appendNumber(to, string(raw[:end])), raw[end:], true
	}
}

func appendPlainList(to, raw []byte, depth int) (_, rest []byte, ok bool) {
	to = append(to, '[')
	if raw = space(raw); len(raw) > 0 && raw[0] == ']' {
		return append(to, ']'), raw[1:], true
	}
	for {
		if to, raw, ok = appendPlain(to, raw, depth+1); !ok {
			return nil, nil, false
		}
		raw = space(raw)
		switch {
		case len(raw) > 0 && raw[0] == ',':
			to, raw = append(to, ','), raw[1:]
		case len(raw) > 0 && raw[0] == ']':
			return append(to, ']'), raw[1:], true
		default:
			return nil, nil, false
		}
	}
}

func appendPlainObject(to, raw []byte, depth int) (_, rest []byte, ok bool) {
	to = append(to, '{')
	if raw = space(raw); len(raw) > 0 && raw[0] == '}' {
		return append(to, '}'), raw[1:], true
	}
	// The members are written as they come, and then put in their order.
	var list [8]member
	members, begin, sorted := list[:0], len(to), true
	for {
		raw = space(raw)
		end := stringEnd(raw)
		if end < 0 || len(members) == maxMembers {
			return nil, nil, false
		}
		name := raw[1 : end-1]
		if raw = space(raw[end:]); len(raw) == 0 || raw[0] != ':' {
			return nil, nil, false
		}
		if len(members) > 0 && compare(string(members[len(members)-1].name), string(name)) > 0 {
			sorted = false
		}
		for _, m := range members { // twice, or in another case
			if bytes.EqualFold(m.name, name) {
				return nil, nil, false
			}
		}
		at := len(to)
		to = append(append(append(to, '"'), name...), '"', ':')
		if to, raw, ok = appendPlain(to, raw[1:], depth+1); !ok {
			return nil, nil, false
		}
		to = append(to, ',')
		members = append(members, member{name, to[at:]})
		if raw = space(raw); len(raw) == 0 {
			return nil, nil, false
		}
		if raw[0] == '}' {
			break
		}
		if raw[0] != ',' {
			return nil, nil, false
		}
		raw = raw[1:]
	}
	if !sorted {
		written := slices.Clone(to[begin:])
		at := 0
		for i := range members { // to may have moved since a member was noted
			size := len(members[i].text)
			members[i].text = written[at : at+size]
			at += size
		}
		slices.SortFunc(members, func(a, b member) int { return compare(string(a.name), string(b.name)) })
		to = to[:begin]
		for _, m := range members {
			to = append(to, m.text...)
		}
	}
	to[len(to)-1] = '}' // for the comma
	return to, raw[1:], true
}

// space returns raw without the white space at its beginning.
func space(raw []byte) []byte {
	for len(raw) > 0 && (raw[0] == ' ' || raw[0] == '\n' || raw[0] == '\t' || raw[0] == '\r') {
		raw = raw[1:]
	}
	return raw
}

// stringEnd returns where a string ends that has no escapes, and -1 where there is none.
func stringEnd(raw []byte) int {
	if len(raw) == 0 || raw[0] != '"' {
		return -1
	}
	for i := 1; i < len(raw); i++ {
		switch b := raw[i]; {
		case b == '"':
			return i + 1
		case b == '\\' || b < ' ':
			return -1
		}
	}
	return -1
}

// numberEnd returns where a number ends (RFC 8259, section 6), and -1 where there is none.
func numberEnd(raw []byte) int {
	end := 0
	digits := func() (count int) {
		for end < len(raw) && '0' <= raw[end] && raw[end] <= '9' {
			end++
			count++
		}
		return count
	}
	if raw[0] == '-' {
		end = 1
	}
	first := end
	if whole := digits(); whole == 0 || whole > 1 && raw[first] == '0' {
		return -1
	}
	if end < len(raw) && raw[end] == '.' {
		if end++; digits() == 0 {
			return -1
		}
	}
	if end < len(raw) && (raw[end] == 'e' || raw[end] == 'E') {
		if end++; end < len(raw) && (raw[end] == '+' || raw[end] == '-') {
			end++
		}
		if digits() == 0 {
			return -1
		}
	}
	return end
}
