// Package canonical writes a JSON value in one form, whatever its layout, the order of its
// names and the notation of its numbers are. It is that of RFC 8785, but for numbers that a
// float64 does not hold: they keep all their digits, so that no two amounts become one. What
// two readers could take for different things has no such form.
package canonical

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mcpchain/mcpchain/internal/jsons"
)

// maxDepth bounds the recursion. The SDK reads no message that is deeper.
const maxDepth = 1000

var (
	errNone = errors.New("canonical: the JSON has no canonical form")

	// errFolded says that names differ in their case only. Readers that do not distinguish case,
	// such as encoding/json with a struct, take the last of them, so their order has a meaning.
	errFolded = errors.New("canonical: names differ in their case only")
)

// JSON returns the canonical form of one JSON value. Absent is the same as an empty
// object. If names of an object differ in their case only, the form is raw itself: nothing else is
// certainly the same. The error says that there is no such form: raw is not clear, see [jsons.Clear],
// or is nested too deeply. Two values without a form are never to be taken for the same.
func JSON(raw []byte) ([]byte, error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return []byte("{}"), nil
	}
	if !utf8.Valid(raw) {
		return nil, errNone
	}
	if out, rest, ok := appendPlain(make([]byte, 0, len(raw)), raw, 0); ok && len(space(rest)) == 0 {
		return out, nil
	}
	return decoded(raw)
}

// decoded returns the canonical form of any JSON.
func decoded(raw []byte) ([]byte, error) {
	if !jsons.Clear(raw) {
		return nil, errNone
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	out, err := appendValue(make([]byte, 0, len(raw)), v, 0)
	if errors.Is(err, errFolded) {
		return bytes.Clone(raw), nil
	}
	return out, err
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
		return appendNumber(to, string(v)), nil
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
		if folded(maps.Keys(v)) {
			return nil, errFolded
		}
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

// folded reports whether names differ in their case only.
func folded(names iter.Seq[string]) bool {
	seen := map[string]bool{}
	for name := range names {
		same := jsons.Folded(name)
		if seen[same] {
			return true
		}
		seen[same] = true
	}
	return false
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

// maxExponent bounds the exponents that are added to. It is far beyond what anything means.
const maxExponent = 1_000_000_000_000

// appendNumber writes the exact decimal value of a number in ECMAScript's layout: 1.0 is 1, 1e2 is
// 100, -0 is 0, and no digit is lost, however many there are. RFC 8785 rounds to a float64 instead,
// which makes one amount of two. A number whose exponent is beyond maxExponent stays as it was
// written. The cost is linear in the length of the text.
func appendNumber(to []byte, n string) []byte {
	unsigned, negative := strings.CutPrefix(n, "-")
	mantissa, exponent := unsigned, ""
	if i := strings.IndexAny(unsigned, "eE"); i >= 0 {
		mantissa, exponent = unsigned[:i], unsigned[i+1:]
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	all := whole + fraction
	digits := strings.TrimLeft(all, "0")
	point := int64(len(whole) - (len(all) - len(digits))) // so many digits stand before the decimal point
	if digits = strings.TrimRight(digits, "0"); digits == "" {
		return append(to, '0')
	}
	if exponent != "" {
		e, err := strconv.ParseInt(exponent, 10, 64)
		if err != nil || e > maxExponent || e < -maxExponent {
			return append(to, n...)
		}
		point += e
	}
	if negative {
		to = append(to, '-')
	}
	switch size := int64(len(digits)); {
	case point > 21 || point <= -6:
		to = append(to, digits[0])
		if size > 1 {
			to = append(append(to, '.'), digits[1:]...)
		}
		to = append(to, 'e')
		if point > 0 {
			to = append(to, '+')
		}
		return strconv.AppendInt(to, point-1, 10)
	case point <= 0:
		return append(append(append(to, "0."...), zeros[:-point]...), digits...)
	case point < size:
		return append(append(append(to, digits[:point]...), '.'), digits[point:]...)
	default:
		return append(append(to, digits...), zeros[:point-size]...)
	}
}

const zeros = "000000000000000000000"

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
