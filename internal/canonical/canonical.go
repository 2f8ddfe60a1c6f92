// Package canonical writes a JSON value in one form, whatever its layout, the order of its
// names and the notation of its numbers are (RFC 8785).
package canonical

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxDepth bounds the recursion.
const maxDepth = 200

var errNone = errors.New("canonical: the JSON has no canonical form")

// JSON returns the canonical form of one JSON value. Absent is the same as an empty
// object. The error says that there is no such form: raw is no JSON, is not UTF-8, or is nested
// too deeply.
func JSON(raw []byte) ([]byte, error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return []byte("{}"), nil
	}
	if !utf8.Valid(raw) {
		return nil, errNone
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errNone
	}
	return appendValue(make([]byte, 0, len(raw)), v, 0)
}

func appendValue(to []byte, v any, depth int) (_ []byte, err error) {
	if depth > maxDepth {
		return nil, errNone
	}
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
			if to, err = appendValue(to, item, depth+1); err != nil {
				return nil, err
			}
		}
		return append(to, ']'), nil
	case map[string]any:
		to = append(to, '{')
		for i, name := range slices.SortedFunc(maps.Keys(v), compare) {
			if i > 0 {
				to = append(to, ',')
			}
			to = append(appendString(to, name), ':')
			if to, err = appendValue(to, v[name], depth+1); err != nil {
				return nil, err
			}
		}
		return append(to, '}'), nil
	default:
		return nil, errNone
	}
}

// compare orders names by their UTF-16 code units. The surrogates of a character beyond
// the basic plane lie below the last characters of that plane.
func compare(a, b string) int {
	for a != "" && b != "" {
		x, n := utf8.DecodeRuneInString(a)
		y, m := utf8.DecodeRuneInString(b)
		if x != y {
			return cmp.Or(cmp.Compare(unit(x), unit(y)), cmp.Compare(x, y))
		}
		a, b = a[n:], b[m:]
	}
	return cmp.Compare(len(a), len(b))
}

// unit returns the first UTF-16 code unit of a character.
func unit(r rune) rune {
	if r > 0xffff {
		return 0xd800 + (r-0x10000)>>10
	}
	return r
}

// appendNumber writes a number as ECMAScript does, which package json does too. A number
// that a float64 does not hold exactly stays as it was written, so that two of those do not
// become the same. RFC 8785 does not allow such numbers.
func appendNumber(to []byte, n json.Number) []byte {
	f, err := n.Float64()
	if err != nil {
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
	written := strconv.FormatFloat(f, format, -1, 64)
	return append(to, strings.Replace(written, "e-0", "e-", 1)...)
}

func appendString(to []byte, s string) []byte {
	const short, letters = "\b\t\n\f\r", "btnfr"
	to = append(to, '"')
	for i := range len(s) {
		switch b := s[i]; {
		case b == '"' || b == '\\':
			to = append(to, '\\', b)
		case b >= ' ':
			to = append(to, b)
		case strings.IndexByte(short, b) >= 0:
			to = append(to, '\\', letters[strings.IndexByte(short, b)])
		default:
			to = fmt.Appendf(to, `\u%04x`, b)
		}
	}
	return append(to, '"')
}
