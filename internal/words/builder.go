package words

import "strings"

// A Builder is a strings.Builder whose methods are not inlined. Texts are written in many small
// parts, and each inlined write would add 90 bytes to a program that imports this module.
type Builder struct{ b strings.Builder }

// WriteString appends s.
//
//go:noinline
func (b *Builder) WriteString(s string) { b.b.WriteString(s) }

// WriteByte appends c. The error is nil.
//
//go:noinline
func (b *Builder) WriteByte(c byte) error { return b.b.WriteByte(c) }

// WriteRune appends the UTF-8 form of r.
//
//go:noinline
func (b *Builder) WriteRune(r rune) { b.b.WriteRune(r) }

// Write is for package fmt.
func (b *Builder) Write(p []byte) (int, error) { return b.b.Write(p) }

// Grow makes room for n bytes.
func (b *Builder) Grow(n int) { b.b.Grow(n) }

// Len returns how many bytes were written.
func (b *Builder) Len() int { return b.b.Len() }

// Reset empties the Builder.
func (b *Builder) Reset() { b.b.Reset() }

// String returns what was written.
func (b *Builder) String() string { return b.b.String() }
