package scrub

import "testing"

// TestEveryPatternCanBeRead reads all patterns, which in a program are read when they are needed: a mistake in one, or
// more sets of characters than there is room for, would be a panic there.
func TestEveryPatternCanBeRead(t *testing.T) {
	if len(patterns) < 60 {
		t.Fatalf("%d patterns", len(patterns))
	}
	for _, read := range patterns {
		if read() == nil {
			t.Fatal("no pattern")
		}
	}
	if n := len(sets); n > maxSets {
		t.Fatalf("%d sets of characters", n)
	}
}

// TestPatternsAreReadAtOnce has several goroutines meet the same patterns first.
func TestPatternsAreReadAtOnce(t *testing.T) {
	const text = "-----BEGIN RSA PRIVATE KEY----- postgres://a:b@h/x password=hunter2 select a from b where c = 1 /etc/app/key.pem"
	done := make(chan string)
	for range 8 {
		go func() { done <- Text(text) }()
	}
	first := <-done
	for range 7 {
		if got := <-done; got != first {
			t.Error(got)
		}
	}
}
