package explain

import (
	"bytes"
	"math/big"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// samples are a valid text for each format.
var samples = map[string]string{
	"date": "2026-01-31", "time": "13:45:00Z", "date-time": "2026-01-31T13:45:00Z", "duration": "P3D", "period": "2026-01-31T00:00:00Z/P3D",
	"email": "someone@example.com", "idn-email": "someone@example.com", "hostname": "example.com", "idn-hostname": "example.com",
	"ipv4": "192.0.2.1", "ipv6": "2001:db8::1", "uri": "https://example.com", "iri": "https://example.com", "uri-reference": "https://example.com",
	"iri-reference": "https://example.com", "uri-template": "https://example.com", "uuid": "123e4567-e89b-12d3-a456-426614174000",
	"json-pointer": "/items/0", "relative-json-pointer": "1/items", "regex": "^a", "semver": "1.2.3",
}

// texts returns strings that may be valid by n, as JSON.
func (m *maker) texts(n *node, variant int) []string {
	var all []string
	add := func(text string) {
		var b bytes.Buffer
		writeString(&b, text)
		all = append(all, b.String())
	}
	if n.format != nil {
		if sample := samples[n.format.name]; sample != "" {
			add(sample)
		}
	}
	if n.pattern != nil {
		if re, err := syntax.Parse(n.pattern.String(), syntax.Perl); err == nil {
			var b strings.Builder
			matching(re, &b)
			add(b.String())
		}
	}
	text := "text"
	if variant > 0 {
		text += itoa(variant + 1)
	}
	if least := min(n.minLength, maxExample); least > len(text) {
		text = strings.Repeat(text, least/len(text)+1)[:least]
	}
	if n.maxLength >= 0 && n.maxLength < len(text) {
		text = text[len(text)-n.maxLength:]
	}
	add(text)
	return all
}

// matching writes a short text that an expression matches.
func matching(re *syntax.Regexp, b *strings.Builder) {
	if b.Len() > maxExample {
		return
	}
	repeat := func(n int) {
		for range min(n, maxExample) {
			matching(re.Sub[0], b)
		}
	}
	switch re.Op {
	case syntax.OpLiteral:
		b.WriteString(string(re.Rune))
	case syntax.OpCharClass:
		b.WriteRune(pleasant(re.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteByte('a')
	case syntax.OpPlus:
		repeat(1)
	case syntax.OpRepeat:
		repeat(re.Min)
	case syntax.OpCapture, syntax.OpAlternate:
		matching(re.Sub[0], b)
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			matching(sub, b)
		}
	default: // an anchor, or what may be left out
	}
}

// pleasant chooses a character of a class that reads well.
func pleasant(ranges []rune) rune {
	for _, want := range "Aa1" {
		for i := 0; i+1 < len(ranges); i += 2 {
			if ranges[i] <= want && want <= ranges[i+1] {
				return want
			}
		}
	}
	for i := 0; i+1 < len(ranges); i += 2 {
		if r := max(ranges[i], '!'); r <= ranges[i+1] && utf8.ValidRune(r) {
			return r
		}
	}
	return ' '
}

// numbers returns numbers that may be valid by n: simple ones, and those at its limits.
func numbers(n *node, variant int) []string {
	all := []string{itoa(1 + variant), itoa(variant)}
	step := big.NewRat(1, 1)
	if n.multiple != nil {
		step = n.multiple
	}
	for _, l := range []*limit{n.minimum, n.above, n.maximum, n.below} {
		if l == nil {
			continue
		}
		at, ok := new(big.Rat).SetString(l.decimal.String())
		if !ok {
			continue
		}
		// The multiples of the step around the limit, and what is just inside without one.
		q := new(big.Rat).Quo(at, step)
		whole := new(big.Int).Quo(q.Num(), q.Denom())
		for _, d := range []int64{0, 1, -1} {
			k := new(big.Int).Add(whole, big.NewInt(d))
			if l == n.minimum || l == n.above {
				k.Add(k, big.NewInt(int64(variant)))
			} else {
				k.Sub(k, big.NewInt(int64(variant)))
			}
			all = append(all, ratText(new(big.Rat).Mul(new(big.Rat).SetInt(k), step)))
		}
		all = append(all, ratText(at))
	}
	if n.multiple != nil {
		all = append(all, ratText(n.multiple))
	}
	if n.above != nil && n.below != nil {
		a, _ := new(big.Rat).SetString(n.above.decimal.String())
		b, _ := new(big.Rat).SetString(n.below.decimal.String())
		all = append(all, ratText(a.Add(a, b).Quo(a, big.NewRat(2, 1))))
	}
	return all
}

func ratText(r *big.Rat) string {
	places, exact := r.FloatPrec()
	if !exact || places > maxShown {
		places = maxShown
	}
	return parseDecimal(r.FloatString(places)).String()
}
