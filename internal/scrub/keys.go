package scrub

import (
	"bytes"
	"encoding/base64"
	"strings"
)

// A shape is how a vendor's keys look: a beginning, and at least min characters of a set after it. Nothing is asked of the
// exact length, so that a longer one is not left with its end.
type shape struct {
	prefix string
	set    *charset
	min    int
	// alone: nothing of a word stands before, because the prefix is short. number: there is a digit in it, as in no name.
	alone, number bool
}

// shapes are by vendor in the order of the alphabet.
var shapes = []shape{
	{"A3-", dashed, 30, true, true}, // 1Password
	{"ops_eyJ", base64s, 40, false, false},
	{"p8e-", alnum, 30, true, false}, // Adafruit, Adobe
	{"AGE-SECRET-KEY-1", alnum, 10, false, false},
	{"LTAI", alnum, 12, true, true},                                        // Alibaba
	{"AKCp", alnum, 40, true, true}, {"cmVmdGtu", alnum, 40, false, false}, // Artifactory
	{"ATATT3", tokens, 20, false, false}, {"ATCTT3", tokens, 20, false, false}, {"ATBB", alnum, 20, true, true}, // Atlassian
	{"AKIA", alnum, 16, false, false}, {"ASIA", alnum, 16, false, false}, {"ABIA", alnum, 16, true, false}, {"ACCA", alnum, 16, true, false},
	{"ABSK", base64s, 60, true, false}, {"bedrock-api-key-", base64s, 20, false, false}, // AWS
	{"xkeysib-", dashed, 20, false, false}, {"xsmtpsib-", dashed, 20, false, false}, // Brevo
	{"v1.0-", dashed, 100, true, true}, // Cloudflare
	{"CLOJARS_", alnum, 30, false, false},
	{"dapi", hexDigit, 32, false, false}, {"dose", hexDigit, 32, true, true}, // Databricks
	{"dop_v1_", hexDigit, 32, false, false}, {"doo_v1_", hexDigit, 32, false, false}, {"dor_v1_", hexDigit, 32, false, false},
	{"DO00", alnum, 16, true, true},                                                  // Digital Ocean
	{"dckr_pat_", dashed, 20, false, false}, {"dckr_oat_", dashed, 20, false, false}, // Docker
	{"dp.pt.", alnum, 30, false, false}, {"dp.st.", dotted, 30, false, false}, {"dp.ct.", alnum, 30, false, false}, {"dp.sa.", alnum, 30, false, false}, // Doppler
	{"duffel_test_", dashed, 30, false, false}, {"duffel_live_", dashed, 30, false, false}, {"dt0c01.", dotted, 40, false, false}, {"dt0s0", dotted, 40, true, true}, // Dynatrace
	{"EZAK", alnum, 40, true, false}, {"EZTK", alnum, 40, true, false}, // EasyPost
	{"EAAC", alnum, 80, true, false}, {"EAAM", alnum, 80, true, false}, {"EAAB", alnum, 80, true, false}, {"EAAG", alnum, 80, true, false}, // Facebook
	{"figd_", dashed, 30, false, false}, {"figo_", dashed, 30, false, false},
	{"FLWSECK", dashed, 12, false, false}, {"FLWPUBK", dashed, 12, false, false}, // Flutterwave
	{"fo1_", dashed, 30, true, false}, {"fm1a_", base64s, 60, true, false}, {"fm1r_", base64s, 60, true, false}, {"fm2_", base64s, 60, true, false}, {"FlyV1 ", base64s, 20, false, false},
	{"fio-u-", dashed, 40, false, false},                                                                                                              // Frame.io
	{"AIza", dashed, 30, false, false}, {"ya29.", dashed, 16, false, false}, {"GOCSPX-", dashed, 16, false, false}, {"1//0", dashed, 30, true, false}, // Google
	{"ghp_", alnum, 16, false, false}, {"gho_", alnum, 16, false, false}, {"ghu_", alnum, 16, false, false}, {"ghs_", alnum, 16, false, false},
	{"ghr_", alnum, 16, false, false}, {"github_pat_", word, 20, false, false},
	{"glpat-", dotted, 16, false, false}, {"glptt-", dotted, 16, false, false}, {"gldt-", dotted, 16, false, false}, {"glrt-", dotted, 16, false, false},
	{"glcbt-", dotted, 16, false, false}, {"glffct-", dotted, 16, false, false}, {"glft-", dotted, 16, false, false}, {"glimt-", dotted, 16, false, false},
	{"glagent-", dotted, 16, false, false}, {"gloas-", dotted, 16, false, false}, {"glsoat-", dotted, 16, false, false}, {"GR1348941", dashed, 16, false, false},
	{"glc_", base64s, 30, false, false}, {"glsa_", word, 30, false, false}, {"eyJrIjoi", base64s, 40, false, false}, // Grafana
	{"pat.", dotted, 50, true, true}, {"pat", dotted, 75, true, true}, {"sat.", dotted, 50, true, true}, // Harness
	{"atlasv1.", dashed, 40, false, false}, {"hvs.", dashed, 20, false, false}, {"hvb.", dashed, 60, false, false}, {"hvr.", dashed, 20, false, false}, {"s.", alnum, 24, true, true}, // HashiCorp
	{"HRKU-", dashed, 30, false, false}, {"hf_", alnum, 20, false, false}, {"api_org_", alnum, 20, false, false}, // Heroku, Hugging Face
	{"ico-", alnum, 30, true, false}, {"s-s4t2", dashed, 40, true, false}, // Infracost, Intra42
	{"lin_api_", word, 30, false, false}, {"lin_oauth_", word, 30, false, false}, {"lsv2_pt_", word, 20, false, false}, {"lsv2_sk_", word, 20, false, false},
	{"ls__", alnum, 20, true, false}, {"pk-lf-", dashed, 20, true, false}, {"sk-lf-", dashed, 20, true, false}, {"ldsk-", dashed, 20, false, false}, {"sdk-", dashed, 36, true, true},
	{"key-", hexDigit, 32, true, true}, {"pubkey-", hexDigit, 32, true, true}, // Mailgun
	{"NRAK-", alnum, 20, false, false}, {"NRJS-", alnum, 15, false, false}, {"NRII-", dashed, 20, false, false}, // New Relic
	{"ntn_", alnum, 30, false, false}, {"secret_", alnum, 40, true, true}, // Notion
	{"npm_", alnum, 30, false, false}, {"API-", alnum, 26, true, true}, // npm, Octopus
	{"sk-proj-", dashed, 8, false, false}, {"sk-svcacct-", dashed, 8, false, false}, {"sk-admin-", dashed, 8, false, false}, {"sk-ant-", dashed, 8, false, false},
	{"sk-or-", dashed, 8, false, false}, {"sk-", word, 24, false, false}, {"sess-", alnum, 30, true, false}, // OpenAI, Anthropic, OpenRouter, DeepSeek
	{"gsk_", word, 20, false, false}, {"xai-", word, 20, false, false}, {"nvapi-", dashed, 20, false, false}, {"r8_", word, 30, false, false}, {"pplx-", word, 20, false, false},
	{"tvly-", dashed, 20, false, false}, {"fw_", alnum, 20, true, true}, {"jina_", word, 30, false, false}, {"pa-", dashed, 40, true, true}, {"co_", alnum, 38, true, true}, {"tgp_v1_", dashed, 20, false, false}, {"csk-", alnum, 30, true, false}, {"pcsk_", word, 30, false, false}, {"sk_or_", word, 20, false, false}, {"e2b_", hexDigit, 30, true, false},
	{"sha256~", dashed, 30, false, false}, // OpenShift
	{"pscale_tkn_", dotted, 20, false, false}, {"pscale_oauth_", dotted, 20, false, false}, {"pscale_pw_", dotted, 20, false, false},
	{"phc_", alnum, 30, true, false}, {"phx_", alnum, 30, true, false}, {"PMAK-", dashed, 40, false, false}, {"pnu_", alnum, 30, true, false}, // PostHog, Postman, Prefect
	{"pul-", hexDigit, 40, false, false}, {"pypi-AgE", dashed, 10, false, false}, {"rdme_", alnum, 40, false, false}, {"re_", word, 24, true, true}, // Pulumi, PyPI, ReadMe, Resend
	{"rubygems_", hexDigit, 40, false, false}, {"cio", alnum, 32, true, true}, {"tk-us-", dashed, 30, false, false}, {"rnd_", alnum, 24, true, true}, // RubyGems, crates, Scalingo
	{"SG.", dotted, 32, false, false}, {"sntrys_", base64s, 40, false, false}, {"sntryu_", hexDigit, 40, false, false}, // SendGrid, Sentry
	{"sm_aat_", alnum, 16, false, false}, {"sm_pat_", alnum, 16, false, false}, {"sm_sat_", alnum, 16, false, false}, // Settlemint
	{"shippo_live_", hexDigit, 30, false, false}, {"shippo_test_", hexDigit, 30, false, false},
	{"shpat_", anyHex, 32, false, false}, {"shpss_", anyHex, 32, false, false}, {"shpca_", anyHex, 32, false, false}, {"shppa_", anyHex, 32, false, false},
	{"xapp-1", dashed, 8, false, false}, {"xapp-2", dashed, 8, false, false}, {"sgp_", word, 40, false, false}, {"slk_", word, 40, false, false}, // Slack, Sourcegraph
	{"sq0atp-", dashed, 20, false, false}, {"sq0csp-", dashed, 20, false, false}, {"EAAA", dashed, 50, true, true}, // Square
	{"sk_live_", alnum, 8, false, false}, {"rk_live_", alnum, 8, false, false}, {"pk_live_", alnum, 8, false, false}, {"sk_test_", alnum, 8, false, false},
	{"rk_test_", alnum, 8, false, false}, {"pk_test_", alnum, 8, false, false}, {"sk_prod_", alnum, 8, false, false}, {"rk_prod_", alnum, 8, false, false}, {"whsec_", base64s, 16, false, false},
	{"sbp_", hexDigit, 30, true, false}, {"sb_secret_", dashed, 20, false, false}, {"sb_publishable_", dashed, 20, false, false}, {"tskey-", dashed, 16, false, false}, // Supabase, Tailscale
	{"tfp_", dashed, 40, true, false}, {"TVMZ", alnum, 40, true, true}, {"vercel_blob_rw_", word, 20, false, false}, {"vc", alnum, 60, true, true}, // Typeform
	{"t1.", dotted, 80, true, false}, {"AQVN", dashed, 35, true, false}, {"YCAJE", dashed, 20, true, false}, {"YCM", dashed, 36, true, true}, // Yandex
	{"zpka_", word, 20, true, false}, {"wandb_v1_", word, 20, false, false},
	// Hashes of passwords.
	{"$2a$", hashed, 50, false, false}, {"$2b$", hashed, 50, false, false}, {"$2y$", hashed, 50, false, false}, {"$1$", hashed, 20, false, false}, {"$5$", hashed, 40, false, false},
	{"$6$", hashed, 60, false, false}, {"$y$", hashed, 40, false, false}, {"$apr1$", hashed, 20, false, false}, {"$argon2", hashed, 40, false, false}, {"pbkdf2_sha256$", hashed, 30, false, false},
	{"{SSHA}", base64s, 20, false, false}, {"{SHA}", base64s, 20, false, false},
}

var hashed = chars("A-Za-z0-9./$=,+_-")

func prefixes() []string {
	all := on(":AA", "xox", "Q~", "AccountKey=", "atlasv1.")
	for _, c := range "0123456789abcdef" {
		all = append(all, "SK"+string(c))
	}
	for i, s := range shapes {
		shapesBy[s.prefix[0]] = append(shapesBy[s.prefix[0]], i)
		all = append(all, s.prefix)
	}
	return all
}

// shapesBy has the indexes of the shapes by the first byte.
var shapesBy [256][]int

// prefixed hides a key that is known by its beginning. One that stands in a longer word is hidden too.
func prefixed(t *text, i int) {
	for _, n := range shapesBy[t.at(i)] {
		s := &shapes[n]
		if !t.has(i, s.prefix) || s.alone && t.in(dashed, i-1) {
			continue
		}
		from := i + len(s.prefix)
		to := t.skip(s.set, from)
		if s.number && strings.IndexAny(t.s[from:min(to, from+64)], "0123456789") < 0 {
			continue
		}
		for to > from && strings.IndexByte(".,", t.s[to-1]) >= 0 {
			to--
		}
		if to-from >= s.min {
			if s.prefix == "atlasv1." {
				i = t.behind(atlasStart, dashed, max(0, i-1))
			}
			t.hide(i, to)
			return
		}
	}
	switch {
	case t.has(i, "SK"): // Twilio
		if to := t.skip(anyHex, i+2); to-i >= 34 {
			t.hide(i, to)
		}
	case t.has(i, ":AA"): // Telegram
		from := t.behind(botStart, digits, i)
		if to := t.skip(dashed, i+1); i-from >= 8 && to-i >= 33 {
			t.hide(from, to)
		}
	case t.has(i, "xox"): // Slack: xoxb-, xoxe.xoxp-
		j := i + 4
		if t.has(j, ".xox") {
			j += 5
		}
		if !t.in(alnum, i+3) || t.at(j) != '-' {
			return
		}
		if to := t.skip(dashed, j+1); to-j > 8 {
			t.hide(i, to)
		}
	case t.has(i, "Q~"): // Azure: abc8Q~...
		from := t.behind(azureStart, tokens, i)
		if !t.in(digits, i-1) || i-from < 3 {
			return
		}
		if to := t.skip(tokens, i+2); to-i >= 30 {
			t.hide(max(from, i-4), to)
		}
	}
}

// jwt hides a token, also one whose dots are escaped, one that is encrypted with a shared key (its second part is empty),
// and one that is wrapped in base64.
func jwt(t *text, i int) {
	to := t.skip(dashed, i)
	if t.has(i, "ZXlK") {
		to = t.skip(base64s, to)
		head := t.s[i:min(to, i+400)]
		raw, _ := base64.RawStdEncoding.DecodeString(strings.NewReplacer("-", "+", "_", "/").Replace(head[:len(head)/4*4]))
		if bytes.HasPrefix(raw, []byte("eyJ")) && (bytes.IndexByte(raw, '.') > 0 || len(raw) > 64) {
			t.hide(i, to)
		}
		t.decided(to)
		return
	}
	if to-i < 9 || t.at(to) != '.' {
		t.decided(to)
		return
	}
	end := t.skip(dashed, to+1)
	if end == to+1 && t.at(end) == '.' {
		end = t.skip(dashed, end+1)
	}
	if end-to < 7 {
		t.decided(to)
		return
	}
	for t.at(end) == '.' && (t.in(dashed, end+1) || t.at(end+1) == '.') {
		end = t.skip(dashed, end+1)
	}
	if t.at(end) == '.' && t.at(end+1) != ' ' && end+1 < len(t.s) {
		end++
	}
	t.hide(i, end)
}

// bearer hides the token behind the word and keeps "Bearer authentication": a token has more than the letters of one word.
func bearer(t *text, i int) {
	from := i + len("bearer")
	for t.in(space, from) || t.at(from) == ':' || t.at(from) == '=' {
		from++
		t.work++
	}
	if from == i+len("bearer") || !t.starts(i) {
		return
	}
	if t.in(quotes, from) {
		from++
	}
	to := t.ahead(bearerEnd, bearerSet, from)
	w := strings.TrimRight(t.s[from:to], ".-_/=")
	if len(w) < 2 || len(w) < 24 && strings.Trim(w[1:], "abcdefghijklmnopqrstuvwxyz") == "" {
		return
	}
	t.hide(from, to)
	t.done[t.rule] = from // there may be another one in it
}

var (
	quotes    = chars("\"'`")
	bearerSet = chars("A-Za-z0-9_.$~+/=-")
)

// basicAuth keeps "Basic English1": the credentials of the scheme decode to text with a colon.
func basicAuth(t *text, i int) {
	from := t.skip(blank, i+len("basic"))
	to := t.skip(base64s, from)
	to = t.skip(dashed, to)
	w := strings.TrimRight(t.s[from:to], "=")
	if len(w) < 6 || !t.starts(i) {
		return
	}
	head := w[:min(len(w), 256)]
	raw, _ := base64.RawStdEncoding.DecodeString(head[:len(head)/4*4])
	if bytes.IndexByte(raw, ':') >= 0 || len(w) < to-from || len(w) >= 24 {
		t.hide(from, to)
	}
}

// privateKey hides a key with its end, and one that is cut off as far as its lines are a key's: what follows may be
// another secret, of which it must not take a part. The end alone may be left of a key as well.
func privateKey(t *text, i int) {
	switch {
	case t.has(i, "LS0t"):
		to := t.skip(base64s, i)
		head := t.s[i:min(to, i+80)]
		if raw, _ := base64.RawStdEncoding.DecodeString(head[:len(head)/4*4]); bytes.Contains(raw, []byte("PRIVATE KEY")) {
			t.hide(i, to)
		}
		t.decided(to)
	case t.has(i, "-----END "):
		end := keyHeader(t, i)
		from := i
		for end > 0 {
			j := from
			for j > 0 && space[t.s[j-1]] {
				j--
			}
			k := j
			for k > 0 && base64s[t.s[k-1]] {
				k--
			}
			t.work += from - k + 1
			if j == from || j-k < 16 {
				break
			}
			from = k
		}
		if from < i {
			t.hide(from, end)
		}
	default:
		end := keyHeader(t, i)
		if end == 0 {
			return
		}
		body := end
		for {
			body = t.skip(keyBody, body)
			if t.at(body) != '-' || t.at(body+1) == '-' {
				break
			}
			body++
		}
		if last := keyHeader(t, body); t.has(body, "-----END ") && last > 0 {
			t.hide(i, last)
			return
		}
		t.hide(i, keyLines(t, end))
	}
}

// keyHeader returns where the line of a private key's beginning or end at i ends, or 0.
func keyHeader(t *text, i int) int {
	s := t.s[min(i, len(t.s)):min(len(t.s), i+100)]
	t.work += len(s)
	if len(s) < 20 {
		return 0
	}
	n := strings.Index(s[5:], "-----")
	if n < 0 || !strings.Contains(s[:5+n], "PRIVATE KEY") || strings.IndexByte(s[:5+n], '\n') >= 0 {
		return 0
	}
	return i + 5 + n + 5
}

var (
	keyBody = chars("A-Za-z0-9_+/= \t\n\r\\:,.()")
	base64c = chars("A-Za-z0-9+/")
)

// keyLines goes on from i over the lines of a key.
func keyLines(t *text, i int) int {
	for {
		j := t.skip(space, i)
		for t.has(j, `\n`) || t.has(j, `\r`) {
			j = t.skip(space, j+2)
		}
		if j == i {
			return i
		}
		end := t.skip(base64c, j)
		n := end - j
		for range 2 {
			if t.at(end) == '=' {
				end++
			}
		}
		switch {
		case t.has(j, "Proc-Type: "), t.has(j, "DEK-Info: "), t.has(j, "Version: "), t.has(j, "Comment: "):
			i = t.skip(headerLine, j)
		case n >= 20:
			i = end
		case n > 0 && (t.skip(space, end) == len(t.s) || strings.IndexByte("\"'\n\\", t.at(end)) >= 0):
			return end
		default:
			return i
		}
	}
}

var headerLine = chars("^\n\\\"")
