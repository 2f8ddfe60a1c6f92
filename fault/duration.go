package fault

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// duration writes a time span as people do: 250 ms, 1.5 s, 30 s, 5 min, 2 h 30 min.
func duration(d time.Duration) string {
	if d < time.Millisecond {
		return "1 ms"
	}
	d = d.Round(precision(d))
	switch {
	case d < time.Second:
		return strconv.FormatInt(d.Milliseconds(), 10) + " ms"
	case d < 2*time.Minute:
		return strings.TrimSuffix(strconv.FormatFloat(d.Seconds(), 'f', 1, 64), ".0") + " s"
	case d < time.Hour:
		return units(d, time.Minute, "min", time.Second, "s")
	default:
		return units(d, time.Hour, "h", time.Minute, "min")
	}
}

// precision is the smallest span that duration tells apart in a span like d.
func precision(d time.Duration) time.Duration {
	switch {
	case d < time.Second:
		return time.Millisecond
	case d < 2*time.Minute:
		return 100 * time.Millisecond
	case d < time.Hour:
		return time.Second
	default:
		return time.Minute
	}
}

func units(d, unit time.Duration, name string, smaller time.Duration, smallerName string) string {
	text := strconv.FormatInt(int64(d/unit), 10) + " " + name
	if m := d % unit / smaller; m > 0 {
		text += " " + strconv.FormatInt(int64(m), 10) + " " + smallerName
	}
	return text
}

// seconds writes a wait: in whole seconds, rounded up, so that nobody is told to come
// back too early. It survives what a foreign server may send.
func seconds(s float64) string {
	const century = 100 * 365 * 24 * 3600
	d := time.Duration(math.Ceil(max(1, min(s, century)))) * time.Second
	p := precision(d)
	return duration((d + p - 1).Truncate(p))
}
