package classify

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/fault"
)

// maxAfter is the longest wait that is believed: a quota may be one of a month.
const maxAfter = 30 * 24 * time.Hour

func bounded(d time.Duration) time.Duration { return min(max(d, 0), maxAfter) }

// seconds returns a number of seconds as a wait, zero for what is none.
func seconds(s float64) time.Duration {
	if !(s > 0) { // also NaN
		return 0
	}
	return bounded(time.Duration(math.Ceil(min(s, maxAfter.Seconds()) * float64(time.Second))))
}

// ofResponse returns what the status and the header of an answer say.
func ofResponse(status int, h http.Header, now time.Time) clue {
	c := ofStatus(status)
	switch {
	case status == http.StatusForbidden && (remaining(h) == "0" || h.Get("Retry-After") != ""): // as GitHub has it
		c = later(fault.KindRateLimited)
		c.status = status
	case c.retry != RetryYes:
		return c
	}
	c.after = waitOf(h, now, c.kind == fault.KindRateLimited)
	if status == http.StatusServiceUnavailable && c.after > 0 {
		c.effect = fault.EffectNone // refused on purpose, and not by an intermediary that lost the answer
	}
	return c
}

// remaining returns how many requests a header says are left, "" when it does not.
func remaining(h http.Header) string {
	for _, key := range []string{"X-Ratelimit-Remaining", "Ratelimit-Remaining"} {
		if left := strings.TrimSpace(h.Get(key)); left != "" {
			return left
		}
	}
	return ""
}

// waitOf returns how long a header asks to wait, zero when it does not say or cannot
// be understood. A point in time is taken by the clock of the server that gave it,
// where the header has its date, and by now where it has none. In this order:
// Retry-After (RFC 9110) and its form in milliseconds that some services have, and,
// if the answer is that a limit was reached, RateLimit and RateLimit-Reset (the
// IETF's drafts) and X-RateLimit-Reset, which may be seconds or, from the year 2001
// on, a point in time in seconds or milliseconds. Services send these with every
// answer, so they say nothing about a limit that has requests left.
func waitOf(h http.Header, now time.Time, limited bool) time.Duration {
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date
	}
	sources := waits[:]
	if left := remaining(h); !limited || left != "" && left != "0" {
		sources = waits[:asked]
	}
	for _, w := range sources {
		if values := h.Values(w.key); len(values) > 0 {
			if wait := w.parse(strings.TrimSpace(values[0]), now); wait > 0 {
				return wait
			}
		}
	}
	return 0
}

// waits are the headers that give a wait; the first of them, asked in number, ask
// for it.
var waits = [...]struct {
	key   string
	parse func(string, time.Time) time.Duration
}{
	{"Retry-After", retryAfterValue},
	{"Retry-After-Ms", milliseconds},
	{"X-Ms-Retry-After-Ms", milliseconds},
	{"Ratelimit", rateLimitValue},
	{"Ratelimit-Reset", resetValue},
	{"X-Ratelimit-Reset-After", resetValue},
	{"X-Ratelimit-Reset", resetValue},
}

const asked = 3

// maxValue bounds what is looked at of a header's value.
const maxValue = 1024

// number reads a decimal number that is not negative.
func number(text string) (float64, bool) {
	if len(text) == 0 || len(text) > 32 || strings.Trim(text, "0123456789.") != "" {
		return 0, false // no sign, exponent, hexadecimal number, infinity
	}
	n, err := strconv.ParseFloat(text, 64)
	return n, err == nil
}

func retryAfterValue(text string, now time.Time) time.Duration {
	if n, ok := number(text); ok {
		return seconds(n)
	}
	if len(text) > maxValue {
		return 0
	}
	if at, err := http.ParseTime(text); err == nil {
		return bounded(at.Sub(now))
	}
	return 0
}

func milliseconds(text string, _ time.Time) time.Duration {
	n, _ := number(text)
	return seconds(n / 1000)
}

// A reset that is larger than this is no number of seconds to wait but a point in
// time, in seconds or in milliseconds since 1970.
const (
	sinceEpoch      = 1e9
	sinceEpochMilli = 1e12
)

func resetValue(text string, now time.Time) time.Duration {
	n, ok := number(text)
	switch {
	case !ok:
		if len(text) > maxValue {
			return 0
		}
		if at, err := time.Parse(time.RFC3339, text); err == nil {
			return bounded(at.Sub(now))
		}
		return retryAfterValue(text, now)
	case n >= sinceEpochMilli:
		n /= 1000
		fallthrough
	case n >= sinceEpoch:
		return seconds(n - float64(now.UnixMilli())/1000)
	default:
		return seconds(n)
	}
}

// rateLimitValue reads both forms that the header has had: "limit=10, remaining=0,
// reset=30", and one or more policies with the requests that remain and the seconds
// until there are more: "burst";r=0;t=30, "day";r=120;t=40000. The longest wait of
// those that are used up counts, or else of all.
func rateLimitValue(text string, _ time.Time) time.Duration {
	if len(text) > maxValue {
		return 0
	}
	var used, all time.Duration
	for policy := range strings.SplitSeq(text, ",") {
		var wait time.Duration
		left := true
		for parameter := range strings.SplitSeq(policy, ";") {
			key, value, _ := strings.Cut(strings.TrimSpace(parameter), "=")
			switch n, ok := number(strings.TrimSpace(value)); {
			case !ok:
			case key == "t", key == "reset":
				wait = seconds(n)
			case key == "r":
				left = n > 0
			}
		}
		if all = max(all, wait); !left {
			used = max(used, wait)
		}
	}
	if used > 0 {
		return used
	}
	return all
}
