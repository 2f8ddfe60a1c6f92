package classify

import (
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/kinds"
	"github.com/mcpchain/mcpchain/internal/words"
)

// FromText reads the text of a failure, for a client whose server could send nothing else: servers
// that are written with mark3labs/mcp-go send the text of any error of a resource or a prompt with
// the code of internal errors, without data. It reports false unless the text begins with the label
// of a kind or ends with a reference, as the text of an internal error does. The fault has the kind,
// the message, the suggestion, the advice to call again and the reference.
func FromText(e *jsonrpc.Error) (*fault.Error, bool) {
	if e.Code != jsonrpc.CodeInternalError || len(e.Data) > 0 || len(e.Message) > maxReceived {
		return nil, false
	}
	label, text, ok := strings.Cut(e.Message, ": ")
	kind := kindOf(label)
	if !ok || kind == "" {
		// A failure that is quoted in another text comes with its own label.
		last, refers := behindLast(e.Message, "\nReference: ")
		if last, _, _ = strings.Cut(last, " ("); !refers || last == "" || strings.ContainsAny(last, " \n") || strings.Contains(e.Message, fault.KindInternal.Label()+": ") {
			return nil, false
		}
		kind, text = fault.KindInternal, e.Message
	}
	var own []string
	said := strings.Split(text, "\n")
	if first := slices.IndexFunc(said[1:], ours) + 1; first > 0 {
		said, own = said[:first], said[first:]
	}
	public := fault.New(kind, sentence(strings.Join(said, "\n")))
	for _, line := range own {
		if wait, ok := strings.CutPrefix(line, asksToWait); ok {
			if retry, ok := retryOf("yes, after " + wait); ok {
				public = public.WithRetry(fault.Retry{RetryAfterSeconds: retry.RetryAfterSeconds})
			}
		}
		switch name, said, _ := strings.Cut(line, ": "); name {
		case "Suggestion":
			public = public.Suggest(sentence(said))
		case "Retry":
			if retry, ok := retryOf(said); ok {
				public = public.WithRetry(retry)
			}
		case "Reference":
			d := public.Data()
			d.ReferenceID, _, _ = strings.Cut(said, " ") // a note may follow it
			public = fault.FromData(d)
		}
	}
	return public, true
}

func behindLast(text, sep string) (after string, found bool) {
	if i := strings.LastIndex(text, sep); i >= 0 {
		return text[i+len(sep):], true
	}
	return "", false
}

// ours reports whether a line follows the message in our texts. Foreign lines are quoted.
func ours(line string) bool {
	return slices.ContainsFunc([]string{"Suggestion: ", "Details: ", asksToWait, "Retry: ", "Next: ", "Try: ", "Reference: "}, func(label string) bool {
		return strings.HasPrefix(line, label)
	})
}

// asksToWait begins the line about a wait, if nothing else is known of a second try.
const asksToWait = "The service asks to wait "

// maxReceived bounds the text that is read. Texts of mcpchain are shorter.
const maxReceived = 64 << 10

func kindOf(label string) fault.Kind {
	for kind, row := range kinds.All {
		if row.Label == label {
			return fault.Kind(kind)
		}
	}
	return ""
}

// sentence removes the full stop that is added when a text is written.
func sentence(text string) string {
	if strings.HasSuffix(text, "..") || words.Quotes(text) {
		return text
	}
	return strings.TrimSuffix(text, ".")
}

// retryOf reads what a text says about another try. It reports false for a wait that it cannot
// read, because that is not zero.
func retryOf(text string) (fault.Retry, bool) {
	said, ok := strings.CutPrefix(text, "yes")
	if !ok {
		return fault.Retry{}, true // "no", "only if ...", "not now: ..."
	}
	retry := fault.Retry{ShouldRetry: true}
	if wait, ok := strings.CutPrefix(said, ", after "); ok {
		if end := strings.IndexAny(wait, ".("); end >= 0 {
			wait = wait[:end]
		}
		d, err := time.ParseDuration(strings.NewReplacer(" ", "", "min", "m").Replace(wait))
		if err != nil || d < 0 {
			return fault.Retry{}, false
		}
		retry.RetryAfterSeconds = d.Seconds()
	}
	return retry, true
}
