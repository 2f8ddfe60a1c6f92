package replay

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"math"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth bounds the recursion through arguments.
const maxDepth = 200

// argumentsHash returns the SHA-256 of the canonical form of arguments (RFC 8785), so
// that the order of names, the layout and the notation of numbers do not matter.
// Absent arguments are an empty object. What has no canonical form is hashed as it
// is.
func argumentsHash(raw []byte) [sha256.Size]byte {
	canonical := []byte("{}")
	if len(bytes.TrimSpace(raw)) > 0 {
		var err error
		if canonical, err = canonicalize(raw); err != nil {
			canonical = raw
		}
	}
	return sha256.Sum256(canonical)
}

var errNotCanonical = errors.New("replay: the JSON has no canonical form")

func canonicalize(raw []byte) ([]byte, error) {
	if !utf8.Valid(raw) {
		return nil, errNotCanonical
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errNotCanonical
	}
	return appendCanonical(make([]byte, 0, len(raw)), v, 0)
}

func appendCanonical(to []byte, v any, depth int) ([]byte, error) {
	if depth > maxDepth {
		return nil, errNotCanonical
	}
	var err error
	switch v := v.(type) {
	case nil:
		return append(to, "null"...), nil
	case bool:
		return strconv.AppendBool(to, v), nil
	case json.Number:
		return appendNumber(to, v), nil
	case string:
		return appendString(to, v), nil
	case []any:
		to = append(to, '[')
		for i, item := range v {
			if i > 0 {
				to = append(to, ',')
			}
			if to, err = appendCanonical(to, item, depth+1); err != nil {
				return nil, err
			}
		}
		return append(to, ']'), nil
	case map[string]any:
		to = append(to, '{')
		for i, m := range sorted(v) {
			if i > 0 {
				to = append(to, ',')
			}
			to = append(appendString(to, m.name), ':')
			if to, err = appendCanonical(to, m.value, depth+1); err != nil {
				return nil, err
			}
		}
		return append(to, '}'), nil
	default:
		return nil, errNotCanonical
	}
}

type member struct {
	name  string
	units []uint16
	value any
}

// sorted returns the members of an object by the UTF-16 code units of their names.
func sorted(object map[string]any) []member {
	members := make([]member, 0, len(object))
	for name, value := range object {
		members = append(members, member{name, utf16.Encode([]rune(name)), value})
	}
	slices.SortFunc(members, func(a, b member) int { return slices.CompareFunc(a.units, b.units, cmp.Compare[uint16]) })
	return members
}

// appendNumber writes a number as ECMAScript does. One that a float64 does not hold
// exactly stays as it was written, so that two of them are not taken for the same;
// RFC 8785 leaves those out.
func appendNumber(to []byte, n json.Number) []byte {
	f, err := n.Float64()
	if err != nil || math.IsInf(f, 0) {
		return append(to, n...)
	}
	if f == 0 {
		return append(to, '0') // -0 too
	}
	if i, err := strconv.ParseInt(string(n), 10, 64); err == nil && (i > 1<<53 || i < -1<<53) {
		return append(to, n...)
	}
	format := byte('f')
	if size := math.Abs(f); size < 1e-6 || size >= 1e21 {
		format = 'e'
	}
	from := len(to)
	to = strconv.AppendFloat(to, f, format, -1, 64)
	if n := len(to); format == 'e' && n-from >= 4 && to[n-4] == 'e' && to[n-2] == '0' { // e-07 is e-7
		to[n-2] = to[n-1]
		to = to[:n-1]
	}
	return to
}

func appendString(to []byte, s string) []byte {
	to = append(to, '"')
	for i := range len(s) {
		switch b := s[i]; {
		case b == '"' || b == '\\':
			to = append(to, '\\', b)
		case b >= ' ':
			to = append(to, b)
		case b == '\b':
			to = append(to, '\\', 'b')
		case b == '\t':
			to = append(to, '\\', 't')
		case b == '\n':
			to = append(to, '\\', 'n')
		case b == '\f':
			to = append(to, '\\', 'f')
		case b == '\r':
			to = append(to, '\\', 'r')
		default:
			const hex = "0123456789abcdef"
			to = append(to, '\\', 'u', '0', '0', hex[b>>4], hex[b&15])
		}
	}
	return append(to, '"')
}
