package words

import "strings"

// AllArguments is the subject of a sentence about the arguments as a whole.
const AllArguments = "The arguments"

// Wrong writes what is wrong with an argument. subject is "Argument 'a'" or the like, or
// [AllArguments]. expected is a phrase such as "an integer" or "must be greater than 'b'", when a
// condition such as " when 'b' is sent", and received describes the value. Each of these three is
// "" if it is unknown.
func Wrong(subject, expected, when, received string) string {
	is, verb, but := " is", " expected ", ", but received "
	if subject == AllArguments {
		is, verb, but = " are", " must be ", ", but were "
	}
	text := subject
	switch {
	case expected == "":
		text, but = text+is+" not valid", ": received "
	case strings.HasPrefix(expected, "must "):
		text += " " + expected
	default:
		text += verb + expected
	}
	if text += when; received == "" {
		return Ended(text)
	}
	return Ended(text + but + received)
}

// Missing writes that an argument was not sent, see [Wrong].
func Missing(subject, expected, when string) string {
	text := subject + " is required" + when
	if expected != "" {
		text += ": expected " + expected
	}
	return Ended(text)
}

// Unclear writes that two readers could take an argument for different things, by the rule of
// jsons.WhyUnclear, and advice. subject is that of [Wrong].
func Unclear(subject, rule string) (sentence, advice string) {
	is, was := " is", " was"
	if subject == AllArguments {
		is, was = " are", " were"
	}
	switch rule {
	case "duplicate":
		return subject + was + " sent more than once.", "Send each name once."
	case "surrogate":
		return subject + is + " not valid UTF-8: half of a surrogate pair was sent.", ""
	default:
		return subject + is + " not valid UTF-8.", ""
	}
}
