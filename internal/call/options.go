package call

import (
	"fmt"
	"time"
)

// Options names options in the panics that refuse one of them, such as
// "retry.Server: ServerOptions".
type Options string

// Positive makes a zero value the default, and panics when it is negative.
func Positive[N ~int | ~int64](of Options, field string, value *N, otherwise N) {
	switch {
	case *value < 0:
		panic(fmt.Sprintf("%s.%s is negative; leave it zero for the default", of, field))
	case *value == 0:
		*value = otherwise
	}
}

// AtMost panics when a span is longer than another one that bounds it.
func (of Options) AtMost(field string, value time.Duration, bound string, limit time.Duration) {
	if value > limit {
		panic(fmt.Sprintf("%s.%s is longer than %s (%v > %v); make it shorter, or leave one of them zero", of, field, bound, value, limit))
	}
}
