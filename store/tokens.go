package store

import "time"

// Tokens are what one call takes of a bucket that several servers share. A bucket holds
// Burst tokens and gets one more every Interval, by the generic cell rate algorithm.
// Callers who share a bucket give the same Burst and Interval.
type Tokens struct {
	Key      string        // of the bucket
	N        int           // tokens to be taken
	Burst    int           // the most that the bucket holds
	Interval time.Duration // in which it gets one token
}
