package jsons

import (
	"bytes"
	"errors"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// maxCanonical is how many values may be around a list or an object. The SDK reads no message that is deeper.
const maxCanonical = 1000

var errNoCanonical = errors.New("jsons: the value has no canonical form")

// Canonical returns one form of a JSON value, whatever its layout, the order of its names and the notation of its
// numbers are. It is that of RFC 8785, but numbers keep all their digits, so that no two amounts become one.
// Absent is the same as an empty object. If names of an object differ in their case only, the form is raw itself.
// encoding/json takes the last of them for a struct, so that their order has a meaning. What is not [Clear], or
// nested too deeply, has no form, and two values without one are never to be taken for the same.
func Canonical(raw []byte) ([]byte, error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return []byte("{}"), nil
	}
	sorted := jsontext.Value(bytes.Clone(raw))
	if sorted.Canonicalize(jsontext.CanonicalizeRawInts(false), jsontext.CanonicalizeRawFloats(false)) != nil {
		return nil, errNoCanonical
	}
	out := make([]byte, 0, len(sorted))
	var names []string // of the objects around what is passed
	var objects []int  // where those of each begin
	depth := 0
	var end int
	for at := 0; at < len(sorted); at = end {
		end = at + 1
		switch b := sorted[at]; b {
		case '[', '{':
			if depth > maxCanonical {
				return nil, errNoCanonical
			}
			if depth++; b == '[' {
				break
			}
			objects = append(objects, len(names))
		case ']', '}':
			if depth--; b == ']' {
				break
			}
			last := len(objects) - 1
			if _, _, found := folded(names[objects[last]:]); found {
				return bytes.Clone(raw), nil
			}
			names, objects = names[:objects[last]], objects[:last]
		case '"':
			end = at + TextEnd(sorted[at:])
			if end < len(sorted) && sorted[end] == ':' {
				names = append(names, string(sorted[at+1:end-1]))
			}
		case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
			for end < len(sorted) && strings.IndexByte(",]}", sorted[end]) < 0 {
				end++
			}
			out = appendNumber(out, string(sorted[at:end]))
			continue
		}
		out = append(out, sorted[at:end]...)
	}
	return out, nil
}

// maxExponent bounds the exponents that are added to. It is far beyond what anything means.
const maxExponent = 1_000_000_000_000

// appendNumber writes the exact decimal value of a number in ECMAScript's layout: 1.0 is 1, 1e2 is
// 100, -0 is 0, and no digit is lost, however many there are. A number whose exponent is beyond maxExponent
// stays as it was written. The cost is linear in the length of the text.
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
