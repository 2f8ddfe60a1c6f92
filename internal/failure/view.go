package failure

import (
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/classify"
)

// Trust says how much of an error that nobody worded for them the callers of a server read.
type Trust uint8

// Who reads an error.
const (
	Anyone   Trust = iota // reads its kind, in our words
	Trusted               // reads its words, but for private places
	Operator              // reads every word of it
)

// A Reader is who reads how a call failed, as the middlewares of the call have established it. The zero
// Reader reads every error as it is, but for what somebody hid on purpose.
type Reader struct {
	// Mask is applied to every text that was not written by us. Where it is set, the text of an error that
	// nobody worded is replaced, unless Trust says otherwise.
	Mask func(text string) string

	// Trust says, beside a Mask, who reads the words of an error that nobody worded and no rule knows.
	Trust Trust

	// Reveal shows the text of internal failures too, unless there is a Mask.
	Reveal bool

	// Quote reports whether the words of a service that refused a request are shown to Anyone. The
	// host is "" where the error does not tell it.
	Quote func(host, errorType string) bool
}

// Report says in which words the result of a tool reports a failure.
type Report uint8

// The words of a result.
const (
	NotReported Report = iota // those of its error, or there is no result
	Apart                     // other words than those of its error, which it holds, too
	Alone                     // words of its own, and there is no error
	Rendered                  // ours: a Call inside has rendered it already
)

// Seen is one failure as a reader comes to see it.
type Seen struct {
	Found  classify.Finding
	Report Report
	Words  func() *fault.Error // what a result reports, where it is not NotReported
	Bare   bool                // there is no error, or it is nothing but its public part
	Hints  bool                // rules of the program may add words about a second try
	Err    error

	Request interface {
		Sent() func(fragment string) bool
	} // what the caller sent; nil: nobody knows
}

// Text says what becomes of the public text of a failure before it is sent.
type Text uint8

// What becomes of a text.
const (
	AsItIs   Text = iota // it is ours, or nothing is masked for this reader
	Scrubbed             // it was worded by somebody else, at least in part
	Original             // the text of the error stands in its place
)

// View is what a reader may know of a failure.
type View struct {
	classify.Finding // in the words that the reader gets

	Text   Text
	Own    bool // the content of the tool's result stays: it reports the failure
	Shown  bool // the words are the error's, by Reader.Trust
	Quotes bool // the words of a service are shown, too, if the reader wants them
	Hidden bool // the error says more than the reader learns, so it has to be recorded
	Closed bool // the reader is Anyone, and nobody has words for the error: it is Hidden for that alone
	Refers bool // the text shows the reference of the record, if there is one
}

// View decides what the reader may know of a failure. It is the one place that decides it.
func (r *Reader) View(s *Seen) View {
	v := View{Finding: s.Found}
	// In whose words.
	switch {
	case s.Report == Alone, s.Found.Wire == nil && (s.Report == Apart || s.Report == Rendered && r.Mask == nil):
		v.Finding, v.Own = s.Found.InResult(s.Words()), true
	case r.Trust == Anyone || v.Refused && namesSecret(s.Err):
	case v.Origin == classify.Worded && s.Found.Own:
		v.Fault = r.around(s)
	case v.Origin.Unworded(), v.Origin == classify.Bug && v.Words == classify.OfRow && v.Panic == nil:
		if public := r.spoken(s); public != nil {
			v.Finding, v.Shown = s.Found.Shown(public), true
		}
	}
	// What becomes of the text, and what the log has to keep.
	masked := r.Mask != nil
	v.Closed = masked && r.Trust == Anyone && v.Origin.Unworded()
	switch v.Origin {
	case classify.Unknown, classify.Classified:
		v.Hidden, v.Refers = masked, true
		v.Quotes = masked && r.Trust == Anyone && r.Quote != nil && v.Origin == classify.Classified && v.Says.Status != 0
		switch {
		case !masked:
			v.Text = Original
		case v.Quotes, s.Hints, v.Words != classify.OfRow:
			v.Text = Scrubbed
		}
	case classify.Bug:
		v.Hidden, v.Refers = true, true
		switch {
		case v.Shown:
			v.Text = Scrubbed
		case !masked && r.Reveal:
			v.Text = Original
		}
	case classify.Ruled:
		v.Hidden, v.Refers = masked, true
		if masked {
			v.Text = Scrubbed
		}
	case classify.Worded:
		// A fault with a cause, or an error around it, says more than it shows.
		v.Hidden, v.Refers = masked && !s.Bare, !s.Bare
		if masked {
			v.Text = Scrubbed
		}
	case classify.Explained: // of what the caller may know
		v.Hidden = masked && !s.Bare
	}
	return v
}
