package call

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"time"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/safe"
)

// StoreName returns the name under which something is kept in a store: a hash of texts, of
// which none can pass for a part of another, so that nobody makes a name for what is
// somebody else's, and who reads names learns nothing. It costs one allocation.
func StoreName(prefix string, parts ...string) string {
	var space [512]byte
	b := space[:0]
	for _, part := range parts {
		b = append(binary.BigEndian.AppendUint64(b, uint64(len(part))), part...)
	}
	sum := sha256.Sum256(b)
	return string(base64.RawURLEncoding.AppendEncode(append(space[:0], prefix...), sum[:]))
}

// StoreFailed makes of an error of a store what the caller may know: what the store itself
// words, or else that what it keeps is not available.
func StoreFailed(err error, what string, effect fault.Effect) error {
	var f *fault.Error
	if !safe.Find(err, func(err error) bool { e, ok := err.(*fault.Error); f = e; return ok && e != nil }) {
		if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
			return err
		}
		f = fault.Unavailable(what).After(time.Second).Because(err)
	}
	retry, _ := f.Retry()
	retry.Effect = effect
	return f.WithRetry(retry)
}
