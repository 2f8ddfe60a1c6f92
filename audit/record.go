package audit

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"hash"
	"strconv"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/fault"
)

// The events.
const (
	eventCall  = "call"
	eventBegin = "begin"
	eventEnd   = "end"
	eventLost  = "lost"
	eventOpen  = "open"
	eventClose = "close"
)

// A Record is one record of a log. Zero values are absent in its JSON.
type Record struct {
	Seq  uint64    `json:"seq,omitempty"` // from 1, without a gap
	Time time.Time `json:"time"`          // when the event took place, UTC

	// Event is "call" for a call that cannot change anything, with its end. A call that may
	// has a "begin" before its handler runs, and an "end". "lost" says that records before
	// this one could not be kept. A log in files has "open" and "close": an open without a
	// close before it follows a crash.
	Event string `json:"event"`

	Method string `json:"method,omitempty"` // such as tools/call
	Target string `json:"target,omitempty"` // the tool, the prompt or the URI of the resource
	Owner  string `json:"owner,omitempty"`  // the caller, see [Options.Owner]; absent if unknown

	Arguments      json.RawMessage `json:"arguments,omitempty"`       // without secrets
	ArgumentsBytes int             `json:"arguments_bytes,omitempty"` // the size of arguments that are not recorded themselves
	Mended         []Mended        `json:"mended,omitempty"`          // of an end or a call: how the arguments that ran differ from those that were sent

	Outcome    string       `json:"outcome,omitempty"`     // how the call ended, as in the log of package correlate
	Kind       string       `json:"kind,omitempty"`        // of the failure: a fault.Kind
	Effect     fault.Effect `json:"effect,omitempty"`      // what the call changed: none, unknown or committed
	Reference  string       `json:"reference,omitempty"`   // the ID of the call, as in the log
	Begin      uint64       `json:"begin,omitempty"`       // of an end: the Seq of its begin, absent if that was lost
	DurationMS float64      `json:"duration_ms,omitempty"` // of the call

	Lost         uint64 `json:"lost,omitempty"`          // how many records could not be kept
	DroppedBytes int64  `json:"dropped_bytes,omitempty"` // of an open: what a crash left unfinished at the end

	Prev string `json:"prev,omitempty"` // the Hash of the record before
	Hash string `json:"hash,omitempty"` // of the line up to this member
}

// Mended is what package validate changed of one argument before the handler ran. The Arguments of that record
// are those that ran. The Argument is "" for all of them.
type Mended struct {
	Argument string `json:"argument"`
	Change   string `json:"change"`
}

// A Head names a place in a log: a record by its number and hash, such as the last one. The
// zero Head is the beginning.
type Head struct {
	Seq  uint64 `json:"seq"`
	Hash string `json:"hash"`
}

// genesis is the Prev of the first record.
var genesis = strings.Repeat("0", hashLen)

const hashLen = 2 * sha256.Size

func (h Head) hash() string {
	if h.Seq == 0 {
		return genesis
	}
	return h.Hash
}

// A chain computes the hashes of records. It is for one goroutine.
type chain struct {
	hash hash.Hash
	buf  *[sha256.Size + hashLen]byte
}

// newChain returns a chain of plain hashes, or of HMACs if there is a key. These have a key of their own,
// which is derived from it, so that no other use of the key reveals anything about them.
func newChain(key []byte) chain {
	if key == nil {
		return chain{sha256.New(), new([sha256.Size + hashLen]byte)}
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte("mcpchain audit chain"))
	return chain{hmac.New(sha256.New, mac.Sum(nil)), new([sha256.Size + hashLen]byte)}
}

// sum returns the hash of a text. The result is valid until the next call.
func (c chain) sum(text []byte) []byte {
	c.hash.Reset()
	c.hash.Write(text)
	sum := c.hash.Sum(c.buf[:0])
	hex.Encode(c.buf[sha256.Size:], sum)
	return c.buf[sha256.Size:]
}

func hexOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// The parts of a line that Verify knows.
const (
	seqMember  = `{"seq":`
	prevMember = `,"prev":"`
	hashMember = `","hash":"`
	lineEnd    = `"}`
)

// seal returns the line of a record that follows head, and its own head. body is the JSON
// of the record without Seq, Prev and Hash.
func (c chain) seal(head Head, body []byte) (line []byte, _ Head) {
	seq := head.Seq + 1
	line = make([]byte, 0, len(seqMember)+20+len(body)+len(prevMember)+len(hashMember)+2*hashLen+len(lineEnd))
	line = append(line, seqMember...)
	line = strconv.AppendUint(line, seq, 10)
	line = append(line, ',')
	line = append(line, body[1:len(body)-1]...)
	line = append(line, prevMember...)
	line = append(line, head.hash()...)
	sum := c.sum(line)
	line = append(line, hashMember...)
	line = append(line, sum...)
	line = append(line, lineEnd...)
	return line, Head{Seq: seq, Hash: string(sum)}
}

// The reasons why a line does not follow a head.
const (
	notARecord  = "this is no record"
	changed     = "the record was changed"
	notInOrder  = "records before it are missing, or it was moved or inserted"
	notTheFirst = "the log does not begin here: give Verifier.From"
)

// open returns the head of the record in a line, and why the record does not follow head,
// empty if it does. valid reports whether the record is intact in itself, whatever it
// follows.
func (c chain) open(head Head, line []byte) (_ Head, valid bool, reason string) {
	const tail = len(prevMember) + hashLen + len(hashMember) + hashLen + len(lineEnd)
	digits, ok := bytes.CutPrefix(line, []byte(seqMember))
	if !ok || len(line) < len(seqMember)+tail {
		return Head{}, false, notARecord
	}
	number, _, _ := bytes.Cut(digits, []byte(","))
	seq, err := strconv.ParseUint(string(number), 10, 64)
	if err != nil || number[0] == '0' {
		return Head{}, false, notARecord
	}
	last := line[len(line)-tail:]
	prev, last := last[len(prevMember):len(prevMember)+hashLen], last[len(prevMember)+hashLen:]
	sum := last[len(hashMember) : len(hashMember)+hashLen]
	if !bytes.HasPrefix(line[len(line)-tail:], []byte(prevMember)) || !bytes.HasPrefix(last, []byte(hashMember)) || !bytes.HasSuffix(last, []byte(lineEnd)) {
		return Head{}, false, notARecord
	}
	// The comparison need not take the same time for all hashes: the log is no oracle.
	if want := c.sum(line[:len(line)-len(lineEnd)-hashLen-len(hashMember)]); !bytes.Equal(want, sum) {
		return Head{}, false, changed
	}
	follows := Head{Seq: seq, Hash: string(sum)}
	switch {
	case seq == head.Seq+1 && string(prev) == head.hash():
		return follows, true, ""
	case head.Seq == 0:
		return follows, true, notTheFirst
	default:
		return follows, true, notInOrder
	}
}
