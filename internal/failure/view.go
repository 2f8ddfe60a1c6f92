package failure

import (
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/classify"
	"github.com/mcpchain/mcpchain/internal/safe"
)

// A Reader is who reads how a call failed, as the middlewares of the call have established it. The zero
// Reader reads every error as it is, but for what somebody hid on purpose.
type Reader struct {
	// Mask is applied to every text that was not written by us. Where it is set, the text of an error that
	// nobody worded is replaced.
	Mask func(text string) string

	// Reveal shows the text of internal failures too, unless there is a Mask.
	Reveal bool

	// Show words an error that nobody worded and no rule knows, and of which we have no sentence that
	// says more than its kind. It is given what is known of the error, and what the caller sent; it
	// returns nil for one that it does not word.
	Show func(err error, known *fault.Error, sent func(fragment string) bool) *fault.Error

	// Quote reports whether the words of a service that refused a request are shown. The
	// host is "" where the error does not tell it.
	Quote func(host, errorType string) bool
}

// Told says in which words the result of a tool tells a failure.
type Told uint8

// The words of a result.
const (
	NotTold  Told = iota // those of its error, or there is no result
	Apart                // other words than those of its error, which it holds, too
	Alone                // words of its own, and there is no error
	Rendered             // ours: a Call inside has rendered it already
)

// Seen is one failure as a reader comes to see it.
type Seen struct {
	Found classify.Finding
	Told  Told
	Words func() *fault.Error // what a result tells, where it is not NotTold
	Bare  bool                // there is no error, or it is nothing but its public part
	Hints bool                // rules of the program may add words about a second try
	Err   error
	Sent  func() func(fragment string) bool // what the caller sent
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
	Own    bool // the content of the tool's result stays: it tells the failure
	Shown  bool // the words are the error's, by Reader.Show
	Quotes bool // the words of a service are shown, too, if the reader wants them
	Hidden bool // the error says more than the reader learns, so it has to be recorded
	Refers bool // the text shows the reference of the record, if there is one
}

// View decides what the reader may know of a failure. It is the one place that decides it.
func (r *Reader) View(s *Seen) View {
	v := View{Finding: s.Found}
	// In whose words.
	switch known := s.Found.Fault; {
	case s.Told == Alone, s.Found.Wire == nil && (s.Told == Apart || s.Told == Rendered && r.Mask == nil):
		v.Finding, v.Own = s.Found.Told(s.Words()), true
	case r.Show == nil || !v.Origin.Unworded() || v.Refused || v.Lost || v.Words == classify.OfSentence:
	default:
		switch {
		case v.Words == classify.OfTerse:
			known = known.WithMessage(fault.Generic(known.Kind()).Message())
		case v.Origin == classify.Unknown && v.Says.By <= classify.ByStatus:
			known = fault.Generic(fault.KindTool) // nobody said whose fault it is
		}
		var public *fault.Error
		if safe.Call(func() { public = r.Show(s.Err, known, s.Sent()) }, nil); public != nil {
			v.Finding, v.Shown = s.Found.In(public), true
		}
	}
	// What becomes of the text, and what the log has to keep.
	masked := r.Mask != nil
	switch v.Origin {
	case classify.Unknown, classify.Classified:
		v.Hidden, v.Refers = masked, true
		v.Quotes = masked && r.Quote != nil && v.Origin == classify.Classified && v.Says.Status != 0
		switch {
		case !masked:
			v.Text = Original
		case v.Quotes, s.Hints, v.Words != classify.OfRow:
			v.Text = Scrubbed
		}
	case classify.Bug:
		v.Hidden, v.Refers = true, true
		if !masked && r.Reveal {
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
