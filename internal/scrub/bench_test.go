package scrub

import (
	"strings"
	"testing"
)

func benchmarkText(b *testing.B, text string) {
	b.SetBytes(int64(min(len(text), maxLen+margin)))
	b.ReportAllocs()
	for b.Loop() {
		Text(text)
	}
}

const clean190 = "Rate limited: the search service accepts no more calls now.\nRetry: yes, after 30 s (attempt 2 of 3).\n" +
	"Next: 1. Read the cached results with list_cached, or ask the user to wait for a minute."

func BenchmarkClean190(b *testing.B) { benchmarkText(b, clean190) }

func BenchmarkOneSecret(b *testing.B) {
	benchmarkText(b, "open /etc/app/key.pem: permission denied; the tool could not start and nothing has been changed")
}

func BenchmarkFiveSecrets(b *testing.B) {
	benchmarkText(b, "open /etc/app/key.pem: denied; dial tcp 10.0.0.5:5432: refused; postgres://app:hunter2@db/prod; "+
		"password=hunter2; query SELECT id FROM users WHERE id = 7")
}

func BenchmarkClean1MB(b *testing.B) {
	benchmarkText(b, strings.Repeat(clean190+"\n", 1<<20/len(clean190)))
}

// Many triggers and near-misses, so that nearly every rule has to look at everything.
func BenchmarkHostile1MB(b *testing.B) {
	near := "password: sk- token= select a, b from ://x@ /home AKIA eyJ. 10.0. .local goroutine 1 [ -----BEGIN PRIVATE KEY--- Bearer a " +
		"UPDATE a SE INSERT INT ghp_ xoxb- A_=1 FOO=2 Server= host= fe80: C: \\\\ab ~x File \" at a.b( @tcp dial tcp x 0x12 panic: "
	benchmarkText(b, strings.Repeat(near, 1<<20/len(near)))
}

func BenchmarkSecrets1MB(b *testing.B) {
	var all strings.Builder
	for _, c := range readSecrets(b) {
		all.WriteString(c.text + "\n")
	}
	benchmarkText(b, strings.Repeat(all.String(), 1<<20/all.Len()))
}

func BenchmarkSecretName(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		SecretName("apiKey")
		SecretName("quantity")
	}
}
