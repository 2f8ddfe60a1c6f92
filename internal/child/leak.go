package child

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// CanaryPrefix is what all canaries begin with, so that one search finds any of them.
const CanaryPrefix = "zqkanarie"

// Canary returns the invented secret of one scenario, the same one in the test and in
// its servers. No scrubber recognizes it by its shape.
func Canary(name string) string {
	sum := sha256.Sum256([]byte(os.Getenv(seedEnv) + name))
	return CanaryPrefix + hex.EncodeToString(sum[:8])
}

// Leak returns the form of a canary that it finds in b, the bytes that left a server, or
// "". It looks for the text in upper and lower case, with escapes undone, in base64 at each
// of its three alignments, and in hexadecimal.
func Leak(b []byte) string {
	lower := bytes.ToLower(b)
	for _, form := range canaryForms() {
		if bytes.Contains(b, []byte(form)) || bytes.Contains(lower, []byte(form)) {
			return form
		}
	}
	if bytes.Contains(b, []byte(`\u00`)) && strings.Contains(strings.ToLower(unescape(string(b))), CanaryPrefix) {
		return "escaped " + CanaryPrefix
	}
	return ""
}

var canaryForms = sync.OnceValue(func() []string {
	forms := []string{CanaryPrefix, hex.EncodeToString([]byte(CanaryPrefix))}
	for offset := range 3 {
		for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			padded := append(bytes.Repeat([]byte{0}, offset), CanaryPrefix...)
			text := enc.EncodeToString(padded[:len(padded)/3*3])
			forms = append(forms, text[(offset*8+5)/6:])
		}
	}
	return forms
})

var escape = regexp.MustCompile(`\\u00([0-9a-fA-F]{2})`)

func unescape(text string) string {
	return escape.ReplaceAllStringFunc(text, func(e string) string {
		n, err := strconv.ParseUint(e[4:], 16, 8)
		if err != nil {
			return e
		}
		return string(rune(n))
	})
}
