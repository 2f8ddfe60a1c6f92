package scrub

import "strings"

// foreignNames are names of a password in other languages, and behind the bar those of keys and tokens. In a sentence
// the secret stands behind them, and after a few words.
//
//nolint:gosmopolitan // they are not ours
const foreignNames = `contraseña contrasena clave·de·acceso senha mot·de·passe mot_de_passe motdepasse mdp пароль Пароль ПАРОЛЬ 密码 密碼 口令 暗証番号 パスワード पासवर्ड
	كلمة·المرور كلمة·مرور كلمة·سر كلمة·السر كلمه·المرور পাসওয়ার্ড kata·sandi sandi clave پاس·ورڈ 비밀번호 şifre parola passord hasło wachtwoord lösenord adgangskode salasana heslo jelszó
	mật·khẩu รหัสผ่าน סיסמה סיסמא κωδικός nenosiri la·password
	| clave·de·api clave·api chave·de·api chave·da·api clé·api clé·d'api api-schlüssel zugriffstoken zugangstoken zugangsschlüssel jeton
	токен Токен ключ·api Ключ·API ключ·API 令牌 密钥 秘钥 金鑰 トークン 토큰`

var foreignTriggers, firstToken = func() (triggers []string, firstToken int) {
	for name := range strings.FieldsSeq(foreignNames) {
		if name == "|" {
			firstToken = len(triggers)
			continue
		}
		triggers = append(triggers, strings.ReplaceAll(name, "·", " "))
	}
	return triggers, firstToken
}()

// foreign hides the first word behind a name in another language that looks like a secret, in the same line.
func foreign(t *text, i int) {
	const far = 64
	name, k := foreignTriggers[t.row], password
	if t.row >= firstToken {
		k = secret
	}
	at := i + len(name)
	if isLetter(name[0]) && !t.starts(i) || isLetter(name[len(name)-1]) && t.in(letters, at) {
		return
	}
	assigned := t.at(at) == '=' || t.in(quotes, at) && t.at(at+1) == '='
	for end := min(len(t.s), at+far); at < end; {
		if !graphic.has[t.s[at]] {
			if t.s[at] == '\n' || t.has(at, redacted) {
				return
			}
			at++
			t.work++
			continue
		}
		to := t.skip(graphic, at)
		from := at
		to = t.trim(from, to, ".,:;!?")
		if v := t.s[from:to]; k.looks(v) || assigned && !harmless(v, true) {
			t.hide(from, to)
			t.decided(to)
			return
		}
		at = max(to, from+1)
	}
}

// graphic are the ASCII characters of a word, which no quote or bracket ends.
var graphic = chars("!#-&*+\\-./0-9:;?@A-Z\\\\^_a-z~")
