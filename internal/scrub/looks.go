package scrub

import "strings"

// kind says what a name is the name of.
type kind int

const (
	noSecret kind = iota
	session       // whose value is a secret only if it looks like one
	code          // a PIN: digits
	secret        // a token, a key
	password      // what a person chose
	phrase        // words
)

// looks reports whether a word of prose behind the name of a secret is the secret.
func (k kind) looks(v string) bool {
	switch {
	case v == "" || placeholder(v):
		return false
	case k == code:
		const ssn = "000-00-0000"
		return len(v) >= 4 && len(v) <= 8 && digits(v) || len(v) == len(ssn) && v[3] == '-' && v[6] == '-' && digits(v[:3]+v[4:6]+v[7:]) || generated(v)
	case k == password:
		return chosen(v) || generated(v)
	case k == session && uuid(v): // which names one
		return false
	}
	return generated(v)
}

// generated reports whether a word was made by a machine: its letters and digits alternate, or it is long. Names of objects
// have words in them.
func generated(v string) bool {
	v = v[:min(len(v), 256)]
	if uuid(v) {
		return true
	}
	words, longest := 0, 0
	found := false
	for run, rest := cutRun(v); run != ""; run, rest = cutRun(rest) {
		letters, switches := 0, 0
		for i := range len(run) {
			if !isDigit(run[i]) {
				letters++
			}
			if i > 0 && isDigit(run[i]) != isDigit(run[i-1]) {
				switches++
			}
		}
		switch n := len(run); {
		case letters == n && n >= 3 && strings.Trim(run, lowers) == "":
			words++
		case letters > 0 && letters < n && (n >= 8 && switches >= 3 || n >= 14 && switches >= 2 || n >= 20):
			found, longest = true, max(longest, n)
		}
	}
	return found && (words == 0 || longest > 10)
}

// uuid reports a UUID. One without a letter is a date or a number.
func uuid(v string) bool {
	hex := strings.ReplaceAll(v, "-", "")
	return len(v) == 36 && len(hex) == 32 && strings.Trim(hex, "0123456789abcdefABCDEF") == "" && !digits(hex)
}

// chosen reports whether a word has a letter and a digit, or a sign in it, as a password has that follows the usual rules
// and no word of a sentence. Names of algorithms have digits, too.
func chosen(v string) bool {
	const least, most = 6, 128
	if len(v) < least || len(v) > most {
		return false
	}
	if digits(v) {
		return true
	}
	letter, digit := strings.ContainsAny(v, lowers+uppers), strings.ContainsAny(v, "0123456789")
	if sign := strings.LastIndexAny(v[:len(v)-1], "!@#$%^*~"); letter && sign > 0 && !(v[sign] == '@' && strings.IndexByte(v[sign:], '.') >= 0) && !strings.ContainsAny(v, "/(") {
		return true
	}
	return letter && digit && !strings.ContainsAny(v, "/(") && !technical(v)
}

// technical reports whether each part of a word that has a digit is a number, a measure or the name of an algorithm.
func technical(v string) bool {
	named := false
	for run, rest := cutRun(v); run != ""; run, rest = cutRun(rest) {
		low := strings.ToLower(run)
		number := strings.TrimLeft(low, "0123456789")
		stem := strings.TrimRight(low, "0123456789")
		plain := !strings.ContainsAny(low, "0123456789")
		switch {
		case number == "" || measures[number], plain && isUpper(run[0]) && algorithms[low]: // 8, 8th, AES
		case plain:
			named = named || isUpper(run[0]) && len(run) > 3 && run[1:] == low[1:]
		case algorithms[stem] && len(low)-len(stem) <= 5, algorithms[low], len(low)-len(stem) <= 2 && run == low && len(run) < 7: // sha256, db1
		default:
			return false
		}
	}
	return !named
}

var (
	measures   = set("st nd rd th s ms us ns m min h d kb mb gb kib mib gib b bit bits byte bytes char chars x k")
	algorithms = set(`sha md rsa aes des utf base pbkdf argon argon2id argon2i argon2d bcrypt scrypt oauth ipv http tls ssl x v v1beta v1alpha pkcs ed secp secp256k secp256r
		prime256v curve p hs rs es ps ec iso rfc ascii ntlm ntlmv scram hmac ecdsa sm gcm cbc ctr k8s s3 i18n l10n unicode latin win cp id asn`)
)

// placeholder reports what stands in the place of a secret: <token>, [token], ${TOKEN}, ****, YOUR_KEY.
func placeholder(v string) bool {
	v = strings.TrimPrefix(strings.TrimPrefix(v, "Bearer "), "Basic ")
	inside := strings.Trim(v, "<>[]{}()\"'`.,;:!?")
	low := strings.ToLower(inside[:min(len(inside), 5)])
	switch {
	case strings.Trim(v, "*.\u2022\u2026_-#?") == "", len(v) > 2 && strings.Trim(v, "xX") == "", strings.HasPrefix(low, "your_") || strings.HasPrefix(low, "your-") || strings.HasPrefix(low, "your "):
		return true
	case len(v) >= 40 || inside == "":
		return false
	case v[0] == '<':
		return strings.IndexByte(inside, '=') < 0 && (strings.Trim(inside, "_ -|./"+uppers) == "" || strings.Trim(inside, "_ -|./"+lowers) == "" || !generated(v) && strings.IndexByte(v, '(') > 0)
	case v[0] == '[', v[0] == '{': // in which a list or a driver has any word
		return kindOfName(inside) != noSecret && worded(strings.ReplaceAll(inside, " ", "_")) || masks[strings.ToLower(inside)]
	case v[0] == '$' || v[0] == '%': // ${TOKEN}, %TOKEN%, %v
		return strings.Trim(v, "${}%_"+uppers) == "" || strings.HasPrefix(v, "${") && strings.Trim(v, "${}_0123456789"+uppers) == "" || v[0] == '$' && worded(strings.Trim(inside, "${")) && kindOfName(inside[1:]) != noSecret || v[0] == '$' && digits(v[1:]) || len(v) <= 3 && strings.Trim(v[1:], "+#qsdvxwT") == ""
	}
	return false
}

// masks are what programs print in the place of a secret.
var masks = set("redacted filtered hidden masked removed omitted sensitive protected private scrubbed value object undefined null none nil empty path address sql stack cut")

// masked reports credentials whose password is none: bot:xxxxx, USER:PASSWORD.
func masked(login string) bool {
	_, pw, _ := strings.Cut(login, ":")
	return pw != "" && (strings.IndexByte("xX*$%", pw[0]) >= 0 && placeholder(pw) || metavariables[pw])
}

// cutRun returns the first letters and digits of a text that stand together, and what is behind them.
func cutRun(s string) (run, rest string) {
	for s != "" && !alnum.has[s[0]] {
		s = s[1:]
	}
	n := 0
	for n < len(s) && alnum.has[s[n]] {
		n++
	}
	return s[:n], s[n:]
}

func digits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
