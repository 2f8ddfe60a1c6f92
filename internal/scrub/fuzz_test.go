package scrub

import (
	"math/rand"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// FuzzText checks what holds for every text: scrubbing twice changes nothing, characters stay whole, and the result is
// bounded, as nothing shorter than a byte is replaced by a placeholder.
func FuzzText(f *testing.F) {
	for _, text := range readClean(f, "clean.txt") {
		f.Add(text)
	}
	for _, c := range readSecrets(f) {
		f.Add(c.text)
		f.Add(c.text[:len(c.text)/2] + c.text)
	}
	for _, text := range fragments {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := Text(text)
		if again := Text(got); again != got {
			t.Fatalf("not idempotent:\n text %q\n once %q\ntwice %q", text, got, again)
		}
		if utf8.ValidString(text) && !utf8.ValidString(got) {
			t.Fatalf("broken characters: %q from %q", got, text)
		}
		if len(got) > min(maxLen, len(redacted)*len(text)) {
			t.Fatalf("%d bytes became %d", len(text), len(got))
		}
		if n := passes(text); n >= maxPasses {
			t.Fatalf("gave up on %q after %d passes", text, n)
		}
		SecretName(text)
	})
}

// passes counts how often Text has to look at a text.
func passes(text string) (n int) {
	for n < 2*maxPasses {
		n++
		next := pass(text, everything, nil)
		if next == text {
			break
		}
		text = next
	}
	return n
}

// fragments are bits that rules begin or end with, for the fuzzer to put together.
var fragments = []string{
	"[redacted]]", "[[path]", "[redac", "password=[redacted", "password=\"[redacted]", "a@[address]:1", "postgres://[redacted]]",
	"~/[path]", "/etc/[path]/x", "[path]/etc/x", "https://[address]/x", "SELECT [sql] FROM [sql]", "Bearer [redacted]x",
	"Cookie: [redacted], a, b", "A_=1 B_=2 C_=3 D_", "-----BEGIN PRIVATE KEY-----", "--token --token x", "<token><token>",
	"token=token=token=", "token:token:token:", "panic: x\ngoroutine 1 [", "a.b\n\tx.go:1\n", "\xff\xfe/etc/\xff", "password=\xff\xfe",
	"x:y@z:1@tcp(", "://a@b@c", "\\\\\\\\ab\\\\cd", "::1::1", "fe80::1fe80::1", "'''password='''", "key=\\\"\\\"", "(((SELECT * (((", "0xc000123456",
}

// canaries are secrets, each with the part that must not survive, whatever stands around it.
var canaries = []struct{ text, secret string }{
	{"postgres://app:canary-77@db.example.com/prod", "canary-77"},
	{"app:canary-77@tcp(db:3306)/prod", "canary-77"},
	{"https://app:canary-77@example.com/", "canary-77"},
	{"https://example.com/?sig=canary-77", "canary-77"},
	{"Server=db;Database=x;Password=canary-77;", "canary-77"},
	{"password=canary-77", "canary-77"},
	{`"password":"canary-77"`, "canary-77"},
	{"{Password:canary-77}", "canary-77"},
	{"api_key: canary-77", "canary-77"},
	{"Authorization: Bearer canary-77", "canary-77"},
	{"Bearer canary-77", "canary-77"},
	{"Basic Y2FuYXJ5OjEyMzQ1Ng==", "Y2FuYXJ5OjEyMzQ1Ng"},
	{"export CANARY_TOKEN=canary-77", "canary-77"},
	{"export CANARY_TOKEN='''canary-77'''", "canary-77"},
	{"AKIAIOSFODNN7EXAMPLE", "AKIAIOSFODNN7EXAMPLE"},
	{"gh" + "p_abcdefghij0123456789ABCDEFGHIJ012345", "abcdefghij0123456789ABCDEFGHIJ012345"},
	{"sk_" + "live_abcdefghij0123456789", "abcdefghij0123456789"},
	{"xox" + "b-123456789012-abcdefABCDEF", "123456789012-abcdefABCDEF"},
	{"sk-" + "ant-api03-abc_DEF-0123456789", "abc_DEF-0123456789"},
	{"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abcDEF_123", "eyJzdWIiOiIxMjM0In0"},
	{"-----BEGIN PRIVATE " + "KEY-----\nMIIEcanary/canary+canary=\n", "MIIEcanary/canary+canary"},
	{"/etc/app/canary.pem", "canary.pem"},
	{"/home/canary/x", "canary/x"},
	{`C:\Users\canary\x`, `canary\x`},
	{"10.17.34.51:5432", "10.17.34.51"},
	{"canary.prod.internal", "canary.prod"},
	{"goroutine 1 [running]:\nmain.canary(0x1)\n\t/src/canary.go:12 +0x1d", "main.canary"},
	{"SELECT canary FROM canaries WHERE canary = 77", "canaries"},
}

const separators = " \n\t\"'`(,=;{|"

// TestCanariesAmongFragments does what a fuzzer seldom manages: it surrounds secrets with pieces of other secrets and of triggers.
func TestCanariesAmongFragments(t *testing.T) {
	random := rand.New(rand.NewSource(1))
	pool := append([]string{
		"--token ", "password=", "password: ", `"password":"`, "'", `"`, `\"`, "Bearer ", "https://", "postgres://", "GET ",
		"Authorization: ", "Cookie: ", "export A=", "=", ":", "&", ",", "\n", "SELECT ", " FROM ", "author: ",
	}, fragments...)
	for _, c := range readSecrets(t) {
		i, j := random.Intn(len(c.text)), random.Intn(len(c.text)+1)
		pool = append(pool, c.text, c.text[min(i, j):max(i, j)])
	}
	for _, r := range rules {
		pool = append(pool, r.on...)
	}
	some := func() (s string) {
		for range random.Intn(4) {
			s += pool[random.Intn(len(pool))] + []string{"", " ", "\n"}[random.Intn(3)]
		}
		return s
	}
	for range 3000 {
		c, sep := canaries[random.Intn(len(canaries))], string(separators[random.Intn(len(separators))])
		prefix, suffix := some(), some()
		if strings.Contains(prefix+suffix, c.secret) {
			continue
		}
		text := prefix + sep + c.text + sep + suffix
		require.NotContains(t, Text(text), c.secret, text)
		require.LessOrEqual(t, passes(text), 4, text)
	}
}
