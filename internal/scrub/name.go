package scrub

import (
	"strings"
	"sync"

	"github.com/mcpchain/mcpchain/internal/words"
)

// SecretName reports whether the name of a field, argument, header or variable says that its value is a secret.
// It understands camelCase, snake_case, kebab-case and dots. It looks at what is visible of the first 1024 bytes, and of
// that at the first 128.
func SecretName(name string) bool {
	name = words.Visible(name[:min(len(name), 1024)])
	return kindOfName(name[:min(len(name), 128)]) > session
}

// kindOfName returns what a name is the name of.
func kindOfName(name string) kind {
	var buf [320]byte
	parts, of := split(buf[:0], name), nameParts()
	switch {
	case !of.secret.in(parts) || of.quiet.in(parts):
		if of.session.in(parts) {
			return session
		}
		return noSecret
	case of.password.in(parts):
		return password
	case of.code.in(parts):
		return code
	case of.phrase.in(parts):
		return phrase
	}
	return secret
}

// secretNames are parts of a name as split writes it: "_" is the border of a word and "__" the border of the name.
// A part that starts without a border also finds the ends of words that were run together, such as "dbpassword". The
// plural is meant as well.
//
//nolint:gosmopolitan // some are of other languages
const secretNames = passwordNames + codeNames + phraseNames + `
	secret_ token_ credential_ _cred_ _auth_ authorization_ _bearer_ _jwt_ _cookie_
	apikey_ _api_key_ _app_key_ accesskey _access_key_ privatekey _private_key_ secretkey _client_key_ _consumer_key_ _deploy_key_
	_storage_key_ _write_key_ _admin_key_ _root_key_ _server_key_ _integration_key_ _signing_key_ _encryption_key_ _master_key_
	_account_key_ _shared_key_ _service_key_ _session_key_ _ssh_key_ _auth_key_ _license_key_ _function_key_ _functions_key_ _subscription_key_
	_aes_key_ _128_key_ _256_key_ _512_key_ aeskey_ _hmac_key_ hmackey_ _jwt_key_ _enc_key_ _data_key_ _cipher_key_ _decryption_key_ _crypto_key_ _application_key_ _customer_key_
	_signature_key_ _serial_key_ _product_key_ _activation_key_ _webhook_key_ _sas_key_ _secure_key_ _dek_ _community_string_ _code_verifier_ _client_assertion_
	_pem_key_ _unseal_key_ _webhook_ur 令牌_ 密钥_ トークン_ токен_
	_dsn_ connection_string_ connectionstring_ _conn_str_ _database_ur _db_ur _postgres_ur _mysql_ur _redis_ur _mongo_ur
	_mongodb_ur _amqp_ur _broker_ur _jdbc_ur`

//nolint:gosmopolitan // some are of other languages
const (
	passwordNames = `password_ _pass_word_ passwd_ passphrase_ _pass_phrase_ passcode_ _pass_code_ passwort_ kennwort_ _pwd_ _pswd_ __pass__ requirepass_ masterauth_ _psk_ _preshared_key_ _pre_shared_key_
		_pass__ userpass_ _sshpass__ _storepass_ _keypass__ _pw__ bindpw_ rootpw_ userpw_ _security_answer_ _senha_ contrasena_ contraseña_ motdepasse_ _mot_de_passe_ _mdp_ _kata_sandi_
		密码_ 密碼_ 口令_ パスワード_ пароль_ 비밀번호_ पासवर्ड_ পাসওয়ার্ড_ `
	codeNames   = `_pin__ _pin_code_ _pin_number_ _ssn_ _social_security_ _cvv_ _cvc_ _otp_ _card_number_ _recovery_code_ _backup_code_ _access_code_ _verification_code_ _security_code_ `
	phraseNames = `_mnemonic_ _seed_phrase_ `

	// sessionNames are names of what is a secret only if it looks like one.
	sessionNames = `_session__ session_id_ sessionid_ _sess__ sessid_ _sid__ __code__ _login__`
)

// quietNames say that it is a number, a yes or no, a kind or a place, and not the secret itself. They win.
const quietNames = `__is_ __has_ __max_ __min_ __num_ __total_ __use_ __no_ __require_ __requires_ __enable_ __disable_ __allow_ __show_ __supports_ _count__ _per_ _limit__ _limits__ _length__ _len__
	_size__ _type__ _name__ _policy__ _expiry__ _expires__ _expires_in__ _expiration__ _at__ _ttl__ _lifetime__ _age__ _enabled__ _required__ _method__ _methods__ _mode__ _scheme__
	_provider__ _endpoint__ _budget__ _usage__ _version__ _strength__ _rules__ _format__ _status__ _valid__ _encryption__ _helper__ _source__ _mechanism__ _index__ _position__
	_header__ _cost__ _prompt_tokens__ _completion_tokens__ _input_tokens__ _output_tokens__ _cached_tokens__ _reasoning_tokens__ _thinking_tokens__ _used_tokens__ _remaining_tokens__
	_context_tokens__ _min_length__ _max_length__ token_id__ token_url_ token_uri_ _auth_url_ _auth_uri_ page_token_ progress_token_ cancellation_token_ cancel_token_ eos_token_
	bos_token_ pad_token_ stop_token_ next_token__ continuation_token__ pagination_token__ skip_token__ cursor_token__ __err_ error__ errors__ exception__ _invalid__ _expired__
	_missing__ _denied__ _failed__ _malformed__ _mismatch__ _not_found__ _disabled__ _revoked__ _blocked__ _pending__ _boarding_pass__ _first_pass__ _second_pass__ _single_pass__
	_multi_pass__ _low_pass__ _high_pass__ _band_pass__ _all_pass__ _fast_pass__ _render_pass__ _ski_pass__ _season_pass__ _num_pass__ _test_pass__ _re__ _regex_ _regexp_`

// nameParts returns the parts of names, which are not needed before something fails.
var nameParts = sync.OnceValue(func() *struct{ secret, password, code, phrase, session, quiet *parts } {
	return &struct{ secret, password, code, phrase, session, quiet *parts }{
		makeParts(secretNames, true), makeParts(passwordNames, true), makeParts(codeNames, true), makeParts(phraseNames, true),
		makeParts(sessionNames, false), makeParts(quietNames, false),
	}
})

// queryNames are secrets as a parameter of a URL, and ordinary words elsewhere.
var queryNames = set("key sig signature code sid session x-amz-signature x-goog-signature key-pair-id")

// nameTriggers stand in the words that the name of a secret ends with.
const nameTriggers = `key token pass auth url uri sig= sid session sessid sess= sess: signature= kennwort pwd pswd secret credential cred bearer jwt cookie
	mnemonic phrase code login= pin number ssn cvv cvc otp dsn string str psk pw= pw: pw" pw' senha contrasena mdp kata_sandi dek= dek: answer assertion`

// parts are looked for by their first two bytes.
type parts [1 << 10][]string

func pair(a, b byte) int { return int(a&31)<<5 | int(b&31) }

func makeParts(names string, plural bool) *parts {
	p := new(parts)
	for s := range strings.FieldsSeq(names) {
		at := &p[pair(s[0], s[1])]
		*at = append(*at, s)
		if one := strings.TrimRight(s, "_"); plural && one != s && !strings.HasSuffix(one, "s") {
			*at = append(*at, one+"s"+s[len(one):])
		}
	}
	return p
}

func (p *parts) in(name []byte) bool {
	for i := range len(name) - 1 {
		for _, s := range p[pair(name[i], name[i+1])] {
			if len(name)-i >= len(s) && string(name[i:i+len(s)]) == s {
				return true
			}
		}
	}
	return false
}

// split appends the words of a name in lower case, as "__api_key__" for "apiKey", "API-Key" and "api.key".
func split(out []byte, name string) []byte {
	out = append(out, "__"...)
	for i := range len(name) {
		c, before := name[i], byte(0)
		if i > 0 {
			before = name[i-1]
		}
		switch {
		case isUpper(c):
			if isLower(before) || isDigit(before) || isUpper(before) && i+1 < len(name) && isLower(name[i+1]) { // the K of APIKey
				out = append(out, '_')
			}
			out = append(out, lower[c])
		case c >= 0x80:
			out = append(out, c)
		case isLower(c) || isDigit(c):
			if isDigit(before) != isDigit(c) && (isDigit(before) || isLetter(before)) {
				out = append(out, '_')
			}
			out = append(out, c)
		case out[len(out)-1] != '_':
			out = append(out, '_')
		}
	}
	if out[len(out)-1] == '_' && len(out) > 2 {
		return append(out, '_')
	}
	return append(out, "__"...)
}

// misspeltWords are long enough that one mistake leaves them no other word.
var misspeltWords = strings.Fields("password passphrase passcode secret credential authorization apikey accesskey privatekey secretkey clientsecret accesstoken refreshtoken")

// Misspelt reports whether a name has the name of a secret in it but for one mistake: a letter that is missing, too many,
// another one, or exchanged with the next: pasword_hash, api_kye. It looks at the first 64 bytes, and is for names that
// nobody declared.
func Misspelt(name string) bool {
	const most = 64
	var buf [4 * most]byte
	written := split(buf[:0], words.Visible(name[:min(len(name), 2*most)]))
	if written = written[:min(len(written), 3*most)]; nameParts().quiet.in(written) {
		return false
	}
	before := ""
	for word := range strings.FieldsFuncSeq(string(written), func(r rune) bool { return r == '_' }) {
		for _, secret := range misspeltWords {
			if one := strings.TrimSuffix(word, "s"); oneMistake(word, secret) || oneMistake(one, secret) || before != "" && oneMistake(before+one, secret) {
				return true
			}
		}
		before = word
	}
	return false
}

// oneMistake reports whether a is b but for one mistake.
func oneMistake(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	switch {
	case len(a) < len(b):
		return len(a)+1 == len(b) && a[i:] == b[i+1:]
	case i == len(a) || a[i+1:] == b[i+1:]:
		return i < len(a)
	}
	return i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
}

func isUpper(c byte) bool  { return 'A' <= c && c <= 'Z' }
func isLower(c byte) bool  { return 'a' <= c && c <= 'z' }
func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
func isLetter(c byte) bool { return isUpper(c) || isLower(c) }
