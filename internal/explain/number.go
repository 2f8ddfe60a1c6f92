package explain

import (
	"math/big"
	"strconv"
	"strings"
)

// A decimal is a JSON number, exactly: sign · 0.digits · 10^point. Two numbers
// that are the same have the same one. It costs as much as its text is long,
// whatever its exponent says: 1e999999999 is small here and never written out.
type decimal struct {
	digits   string // without zeros at either end; "" for 0
	point    int64
	negative bool
}

// maxExponent bounds the exponents that are told apart. Beyond it a number is
// larger than any other, or smaller.
const maxExponent = 1 << 40

// parseDecimal reads a number of JSON.
func parseDecimal(text string) decimal {
	var d decimal
	text, d.negative = strings.CutPrefix(text, "-")
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		d.point = exponent(text[i+1:])
		text = text[:i]
	}
	whole, fraction, _ := strings.Cut(text, ".")
	d.point += int64(len(whole))
	if d.digits = whole; fraction != "" {
		d.digits = whole + fraction
	}
	n := len(d.digits)
	d.digits = strings.TrimLeft(d.digits, "0")
	d.point -= int64(n - len(d.digits))
	d.digits = strings.TrimRight(d.digits, "0")
	if d.digits == "" {
		return decimal{}
	}
	return d
}

func exponent(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	switch {
	case err == nil && -maxExponent < n && n < maxExponent:
		return n
	case strings.HasPrefix(text, "-"):
		return -maxExponent
	default:
		return maxExponent
	}
}

// integer reports whether nothing stands behind the point: 1.0 is an integer.
func (d decimal) integer() bool { return d.point >= int64(len(d.digits)) }

func (d decimal) compare(e decimal) int {
	switch {
	case d.digits == "" && e.digits == "":
		return 0
	case d.digits == "":
		return -e.sign()
	case e.digits == "" || d.negative != e.negative:
		return d.sign()
	case d.point != e.point:
		if d.point < e.point {
			return -d.sign()
		}
		return d.sign()
	default:
		return strings.Compare(d.digits, e.digits) * d.sign()
	}
}

func (d decimal) sign() int {
	if d.negative {
		return -1
	}
	return 1
}

const (
	maxDigits = 2000 // of a number that is divided: more are taken as divisible
	maxShown  = 21   // digits of a number that are written out
)

// multipleOf reports whether d is a whole number of times m.
func (d decimal) multipleOf(m *big.Rat) bool {
	if d.digits == "" || len(d.digits) > maxDigits {
		return true
	}
	if done, ok := d.smallMultiple(m); done {
		return ok
	}
	n, _ := new(big.Int).SetString(d.digits, 10)
	n.Mul(n, m.Denom())
	shift := d.point - int64(len(d.digits)) // d is digits · 10^shift
	if shift < 0 {
		// The digits do not end in 0, so that the factor of 10^-shift that the
		// divisor does not have must come from its denominator.
		if -shift > int64(len(d.digits)+len(m.Denom().String())) {
			return false
		}
		p := new(big.Int).Exp(big.NewInt(10), big.NewInt(-shift), nil)
		p.Mul(p, m.Num())
		return n.Rem(n, p).Sign() == 0
	}
	p := new(big.Int).Exp(big.NewInt(10), big.NewInt(shift), m.Num()) // modulo: small
	n.Mul(n, p)
	return n.Rem(n, m.Num()).Sign() == 0
}

// smallMultiple is multipleOf for numbers that fit into a machine's.
func (d decimal) smallMultiple(m *big.Rat) (done, ok bool) {
	const most = 9 // digits: the products below fit
	shift := d.point - int64(len(d.digits))
	if len(d.digits) > most || shift < -most || shift > most || !m.Num().IsInt64() || !m.Denom().IsInt64() {
		return false, false
	}
	n, _ := small(d.digits)
	by, of := m.Num().Int64(), m.Denom().Int64()
	power := int64(1)
	for range max(shift, -shift) {
		power *= 10
	}
	if by >= 1<<31 || of >= 1<<31 {
		return false, false
	}
	if shift < 0 {
		return true, n*of%(by*power) == 0
	}
	return true, n*of%by*(power%by)%by == 0
}

// String writes the number as people write it: 30, 0.5, 1e+21.
func (d decimal) String() string {
	if d.digits == "" {
		return "0"
	}
	n := int64(len(d.digits))
	var text string
	switch {
	case d.integer() && d.point <= maxShown:
		text = d.digits + strings.Repeat("0", int(d.point-n))
	case d.point > 0 && d.point <= maxShown && n > d.point:
		text = d.digits[:d.point] + "." + d.digits[d.point:]
	case d.point <= 0 && d.point > -6:
		text = "0." + strings.Repeat("0", int(-d.point)) + d.digits
	default:
		text = d.digits[:1]
		if n > 1 {
			text += "." + d.digits[1:]
		}
		text += "e" + strconv.FormatInt(d.point-1, 10)
	}
	if d.negative {
		return "-" + text
	}
	return text
}

// small reads a number that is a short integer, without allocating.
func small(text string) (n int64, ok bool) {
	negative := false
	i := 0
	if text != "" && text[0] == '-' {
		negative, i = true, 1
	}
	if len(text)-i > 18 || len(text) == i {
		return 0, false
	}
	for ; i < len(text); i++ {
		c := text[i]
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	if negative {
		n = -n
	}
	return n, true
}

// A limit is a number of a schema, ready to be compared.
type limit struct {
	decimal decimal
	small   int64
	isSmall bool
}

func newLimit(r *big.Rat) *limit {
	if r == nil {
		return nil
	}
	places, _ := r.FloatPrec() // exact: every number of JSON is a finite decimal
	text := r.FloatString(places)
	l := &limit{decimal: parseDecimal(text)}
	l.small, l.isSmall = small(text)
	return l
}

// compare compares a number as it is written with the limit.
func (l *limit) compare(text string) int {
	if n, ok := small(text); ok && l.isSmall {
		switch {
		case n < l.small:
			return -1
		case n > l.small:
			return 1
		default:
			return 0
		}
	}
	return parseDecimal(text).compare(l.decimal)
}

func isInteger(text string) bool {
	if _, ok := small(text); ok {
		return true
	}
	return parseDecimal(text).integer()
}
