package scrub

import (
	"strings"
	"sync"
)

// under holds the secret's name under which a value stands, and decides what is hidden there for every walk over JSON. The
// zero value is for a value under no such name.
//
// A text or a number that stands at the name itself, or in a list there, is the secret: {"token": "x"}, {"tokens": ["x"]}.
// In an object each member is one, whatever its name: {"secrets": {"smtp": "x"}} has them under any name. Not so a member
// whose name says that it describes the secret (see [tells]), if it looks like a description: an error code, a sentence,
// a date, the number of seconds of a life. So {"auth": {"code": "unauthenticated"}} and
// {"token": {"expires_in": 3}} stay, {"auth": {"basic": "..."}} and {"pin": {"code": 1234}} do not. A yes or no and a null
// stay, and so do the names, but for one that a machine made: {"tokens": {"Zk39fjq0aL": "active"}} has the secrets there.
type under struct {
	name   string // that says secret, "" for none
	member string // of the object below it in which the value stands, "" for none
}

// in returns where the members stand that have a name, which begins a secret if secret is set.
func (u under) in(name string, secret bool) under {
	switch {
	case secret:
		return under{name: name}
	case u.name != "":
		u.member = name
	}
	return u
}

// hidesText reports whether a text is hidden for where it stands.
func (u under) hidesText(text string) bool {
	return u.name != "" && text != "" && !(u.member != "" && tells(u.member) && !u.isCode() && describes(text))
}

// hidesName reports whether the name of a member is hidden for where it stands. A UUID is most often what a list of
// secrets calls one of them.
func (u under) hidesName(name string) bool { return u.name != "" && generated(name) && !uuid(name) }

// isCode reports whether a member has the code that is the secret itself: {"recovery_codes": [{"code": "plum-otter"}]}.
func (u under) isCode() bool {
	return strings.EqualFold(u.member, "code") && kindOfName(u.name) == code
}

// hidesNumber is hidesText for a number as it is written.
func (u under) hidesNumber(number string) bool {
	const codeOfHTTP = 3
	if u.name == "" || !secretNumber(u.name, number) {
		return false
	}
	isCode := u.isCode() || strings.EqualFold(u.member, "code") && len(number) > codeOfHTTP
	return u.member == "" || isCode || !tells(u.member)
}

// tellingNames are names of what describes a secret, besides those that are no secret as they are.
const tellingNames = `__code__ __error_code__ __status_code__ __errorcode__ _error__ _errors__ _kind__ _reason__ _reasons__ _message__ _messages__ __msg__ _detail__ _details__ _description__ _title__
	_hint__ _state__ _stage__ _level__ _severity__ _category__ _domain__ _service__ _region__ _realm__ __user__ __username__ _scope__ _scopes__ __role__ __roles__ _after__ _seconds__
	_attempts__ _retries__ _remaining__ _action__ _operation__`

var tellingParts = sync.OnceValue(func() *parts { return makeParts(tellingNames, false) })

// tells reports whether a member of an object under the name of a secret describes it by its name.
func tells(name string) bool {
	var buf [320]byte
	words := split(buf[:0], name[:min(len(name), 128)])
	return tellingParts().in(words) || nameParts().quiet.in(words)
}

// describes reports whether a text is a word or a few, and no secret by its looks. A word has letters of one case,
// or capitals only where another begins.
func describes(text string) bool {
	const most = 512
	if len(text) > most {
		return false
	}
	if date(text) {
		return true
	}
	for w := range strings.FieldsSeq(text) {
		if bare := strings.Trim(w, "\"'`.,:;!?()"); generated(bare) || chosen(bare) && !date(bare) {
			return false
		}
	}
	return (strings.IndexByte(text, ' ') > 0 || worded(text)) && !holds(text, credentials)
}

// worded reports whether a text is a name of words, such as invalid_grant, PERMISSION_DENIED, PermissionDenied.
func worded(text string) bool {
	const most = 48
	lower, small := 0, false
	for i := range len(text) {
		switch c := text[i]; {
		case isLower(c):
			lower++
			small = true
		case isUpper(c):
			if small && i > 0 && isUpper(text[i-1]) {
				return false // wJalrXU
			}
			if i > 0 && isLower(text[i-1]) && lower < 2 {
				return false
			}
			lower = 0
		case c == '_' || c == '-' || c == '.' || c == ':' || c == '/':
			lower = 0
		default:
			return false
		}
	}
	return text != "" && len(text) <= most
}

// date reports a day, with or without its time.
func date(text string) bool {
	const day = "2006-01-02"
	return len(text) >= len(day) && len(text) <= 35 && (text[:2] == "19" || text[:2] == "20") && text[4] == '-' && text[7] == '-' &&
		digits(text[:4]+text[5:7]+text[8:10]) && strings.Trim(text[len(day):], "0123456789:.+-TZ ") == ""
}
