package explain

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"hash/maphash"
	"strconv"
)

func itoa(n int) string { return strconv.Itoa(n) }

// literal copies a value out of a schema.
func (d *doc) literal(i int32) literal {
	var b bytes.Buffer
	d.write(&b, i)
	return newLiteral(b.String())
}

// literalOf makes a literal of a value as encoding/json decodes it.
func literalOf(v any) literal {
	text, err := json.Marshal(v)
	if err != nil {
		return newLiteral("null") // cannot be: it came out of JSON
	}
	return newLiteral(string(text))
}

func newLiteral(raw string) literal {
	own, _ := parse(raw)
	return literal{doc: own, raw: raw}
}

// write appends the value at i as JSON in one line, its members in order.
func (d *doc) write(b *bytes.Buffer, i int32) {
	v := &d.values[i]
	switch v.kind {
	case kindString:
		writeString(b, v.text)
	case kindArray, kindObject:
		open, end := byte('['), byte(']')
		if v.kind == kindObject {
			open, end = '{', '}'
		}
		b.WriteByte(open)
		first := true
		for c := range d.children(i) {
			if !first {
				b.WriteByte(',')
			}
			first = false
			if v.kind == kindObject {
				writeString(b, d.values[c].name)
				b.WriteByte(':')
			}
			d.write(b, c)
		}
		b.WriteByte(end)
	case kindNull:
		b.WriteString("null")
	default:
		b.WriteString(v.text)
	}
}

// writeString appends a string as JSON, without the escapes that are for HTML.
func writeString(b *bytes.Buffer, s string) {
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		return // cannot be: it is a string
	}
	b.Truncate(b.Len() - 1) // the line break
}

// equal reports whether two values are the same by JSON Schema: numbers by
// value, objects whatever the order of their members.
func equal(d *doc, i int32, e *doc, j int32) bool {
	v, w := &d.values[i], &e.values[j]
	if v.kind != w.kind {
		return false
	}
	switch v.kind {
	case kindNumber:
		return v.text == w.text || parseDecimal(v.text) == parseDecimal(w.text)
	case kindArray:
		if v.count != w.count {
			return false
		}
		for c, k := i+1, j+1; c < v.next; c, k = d.values[c].next, e.values[k].next {
			if !equal(d, c, e, k) {
				return false
			}
		}
		return true
	case kindObject:
		return v.count == w.count && equalMembers(d, i, e, j)
	default:
		return v.text == w.text
	}
}

func equalMembers(d *doc, i int32, e *doc, j int32) bool {
	if d.values[i].count <= few {
		for c := range d.children(i) {
			k, ok := e.member(j, d.values[c].name)
			if !ok || !equal(d, c, e, k) {
				return false
			}
		}
		return true
	}
	places := make(map[string]int32, e.values[j].count)
	for k := range e.children(j) {
		places[e.values[k].name] = k
	}
	for c := range d.children(i) {
		k, ok := places[d.values[c].name]
		if !ok || !equal(d, c, e, k) {
			return false
		}
	}
	return true
}

var seed = maphash.MakeSeed()

// hash returns the same number for values that are equal, and in all likelihood
// different ones for others, whatever the caller sends.
func (d *doc) hash(i int32) uint64 {
	v := &d.values[i]
	switch v.kind {
	case kindNumber:
		n := parseDecimal(v.text)
		h := maphash.String(seed, n.digits) ^ uint64(n.point)*0x9e3779b97f4a7c15 //nolint:gosec // bits
		if n.negative {
			h = ^h
		}
		return h
	case kindArray:
		var all mixer
		all.begin(v.kind)
		for c := range d.children(i) {
			all.add(d.hash(c))
		}
		return all.Sum64()
	case kindObject:
		var members uint64
		for c := range d.children(i) {
			var member mixer
			member.begin(v.kind)
			_, _ = member.WriteString(d.values[c].name)
			member.add(d.hash(c))
			members += member.Sum64() // in any order
		}
		var all mixer
		all.begin(v.kind)
		all.add(members)
		return all.Sum64()
	default:
		return maphash.String(seed, v.text) + uint64(v.kind)
	}
}

// A mixer mixes the hashes of what is in a container with the seed, so that nobody
// can make up many containers that have the same hash.
type mixer struct{ maphash.Hash }

func (m *mixer) begin(k kind) {
	m.SetSeed(seed)
	_ = m.WriteByte(byte(k))
}

func (m *mixer) add(hash uint64) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], hash)
	_, _ = m.Write(b[:])
}
