package failure

import (
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/classify"
)

// Trust says how much callers read of an error that was not written for them.
type Trust uint8

// The degrees of trust.
const (
	Anyone   Trust = iota // reads only its kind, in our words
	Trusted               // reads its text without private places
	Operator              // reads all of its text
)

// A Reader is the reader of a failure, as the middlewares of the call have set it up. The zero
// Reader reads every error unchanged, except for what was hidden on purpose.
type Reader struct {
	// Mask is applied to every text that is not ours. If it is set, the text of an error without a
	// public message is replaced, unless Trust allows it.
	Mask func(text string) string

	// Trust says, beside a Mask, how much is read of an error that has no public message and matches
	// no rule.
	Trust Trust

	// Reveal shows the text of internal failures too, unless there is a Mask.
	Reveal bool

	// Quote reports whether the words of a service that refused a request are shown to Anyone. The
	// host is "" if the error does not name it.
	Quote func(host, errorType string) bool
}

// Report says whose words report the failure in the result of a tool.
type Report uint8

// The kinds of words in a result.
const (
	NotReported Report = iota // those of the error, or there is no result
	Apart                     // words that differ from those of the error in the result
	Alone                     // the tool's own words, without an error
	Rendered                  // ours: a Call inside has rendered it already
)

// Seen is a failure before the policy decides what its reader may know.
type Seen struct {
	Found  classify.Finding
	Report Report
	Words  func() *fault.Error // what a result reports; not called for NotReported
	Hints  bool                // rules of the program may add a text about a second try
	Err    error

	Request classify.Request // what the caller sent; nil if unknown
}

// Text says what is done to the public text of a failure before it is sent.
type Text uint8

// What is done to a text.
const (
	AsItIs   Text = iota // unchanged: it is ours, or nothing is masked for this reader
	Scrubbed             // scrubbed: others wrote it, at least in part
	Original             // replaced by the text of the error
)

// View is what a reader may know of a failure.
type View struct {
	classify.Finding // as the reader may know it

	Text   Text
	Own    bool // the content of the tool's result stays, because it reports the failure
	Shown  bool // the text is the error's own, by Reader.Trust
	Quotes bool // the words of a service are shown, too, if Reader.Quote allows it
	Hidden bool // the error says more than the reader learns, so it has to be recorded
	Closed bool // Hidden only because the reader is Anyone and the error has no public message
	Refers bool // the text shows the reference of the record, if there is one
}

// View decides what the reader may know of a failure. No other function decides it.
func (r *Reader) View(s *Seen) View {
	v := View{Finding: s.Found}
	// Whose words the reader gets.
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
	// What is done to the text, and whether the log has to keep the error.
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
		v.Hidden, v.Refers = masked && !bare(s.Err), !bare(s.Err)
		if masked {
			v.Text = Scrubbed
		}
	case classify.Explained: // made of what the caller may know
		v.Hidden = masked && !bare(s.Err)
	}
	return v
}
