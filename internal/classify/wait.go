package classify

import (
	"cmp"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/fault"
)

// MaxAfter is the longest wait that is accepted: a quota may be one of a month.
const MaxAfter = 30 * 24 * time.Hour

// Bounded returns a wait that is neither negative nor longer than 30 days.
func Bounded(d time.Duration) time.Duration { return min(max(d, 0), MaxAfter) }

// Seconds returns a number of seconds as a wait, zero unless it is positive.
func Seconds(s float64) time.Duration {
	if !(s > 0) { // also NaN
		return 0
	}
	return Bounded(time.Duration(math.Ceil(min(s, MaxAfter.Seconds()) * float64(time.Second))))
}

// ofResponse returns the clue of an HTTP answer's status and header. limit and wait are
// known from elsewhere: that a limit was reached, and how long to wait.
func ofResponse(status int, h http.Header, limit bool, wait time.Duration) clue {
	c := ofStatus(status)
	switch {
	case c.status == 0:
		return c
	case status == http.StatusForbidden && (limit || wait > 0 || remaining(h) == "0" || h.Get("Retry-After") != ""): // GitHub answers so
		c = limited
		c.status = status
	}
	c.after = cmp.Or(WaitOf(h, time.Now(), c.kind == fault.KindRateLimited), wait)
	return c
}

// remaining returns how many requests a header says are left, "" if it does not say.
func remaining(h http.Header) string {
	return strings.TrimSpace(cmp.Or(h.Get("X-Ratelimit-Remaining"), h.Get("Ratelimit-Remaining")))
}

// waitHeaders give a wait: Retry-After (RFC 9110), its forms in milliseconds, RateLimit and
// RateLimit-Reset (the IETF's drafts), and X-RateLimit-Reset. The first of them, as many as
// the constant asking says, ask for a wait. Services send the others with every answer, so
// they say nothing about a limit that has requests left.
var waitHeaders = []string{
	"Retry-After", "Retry-After-Ms", "X-Ms-Retry-After-Ms",
	"Ratelimit", "Ratelimit-Reset", "X-Ratelimit-Reset-After", "X-Ratelimit-Reset",
}

const asked = 3

// WaitOf returns how long a header asks to wait, zero if it does not say or cannot be read.
// A point in time is compared with the clock of the server that gave it, if the header has a
// date, and with now if not.
func WaitOf(h http.Header, now time.Time, limited bool) time.Duration {
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date
	}
	keys := waitHeaders
	if left := remaining(h); !limited || left != "" && left != "0" {
		keys = keys[:asked]
	}
	for _, key := range keys {
		text := strings.TrimSpace(h.Get(key))
		n, isNumber := decimal(text)
		wait := until(n, now)
		switch {
		case strings.HasSuffix(key, "-Ms"):
			wait = Seconds(n / 1000)
		case !isNumber || key == "Ratelimit": // a number alone is how many requests are left
			wait = untilText(text, now)
		}
		if wait > 0 {
			return wait
		}
	}
	return 0
}

func decimal(text string) (float64, bool) {
	if len(text) == 0 || len(text) > 32 || strings.Trim(text, "0123456789.") != "" {
		return 0, false // a sign, an exponent, a hexadecimal number or infinity
	}
	n, err := strconv.ParseFloat(text, 64)
	return n, err == nil
}

// until reads seconds to wait. A number so large that it means a year from 2001 on is a
// point in time, in seconds or in milliseconds since 1970.
func until(n float64, now time.Time) time.Duration {
	const sinceEpoch = 1e9
	if n >= sinceEpoch*1000 {
		n /= 1000
	}
	if n >= sinceEpoch {
		n -= float64(now.UnixMilli()) / 1000
	}
	return Seconds(n)
}

// maxValue bounds how much of a header's value is read.
const maxValue = 1024

// untilText reads a point in time, or the longest wait of both forms that RateLimit has had:
// "limit=10, remaining=0, reset=30", and one or more policies with the requests that remain
// and the seconds until there are more: "burst";r=0;t=30, "day";r=120;t=40000. If some
// policies are used up only they count, else all do.
func untilText(text string, now time.Time) time.Duration {
	if len(text) > maxValue {
		return 0
	}
	at, err := http.ParseTime(text)
	if err != nil {
		at, err = time.Parse(time.RFC3339, text)
	}
	if err == nil {
		return Bounded(at.Sub(now))
	}
	var used, all time.Duration
	for policy := range strings.SplitSeq(text, ",") {
		var wait time.Duration
		left := true
		for parameter := range strings.SplitSeq(policy, ";") {
			key, value, _ := strings.Cut(strings.TrimSpace(parameter), "=")
			switch n, ok := decimal(strings.TrimSpace(value)); {
			case !ok:
			case key == "t", key == "reset":
				wait = Seconds(n)
			case key == "r":
				left = n > 0
			}
		}
		if all = max(all, wait); !left {
			used = max(used, wait)
		}
	}
	return cmp.Or(used, all)
}
