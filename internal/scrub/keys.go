package scrub

import (
	"encoding/base64"
	"strconv"
	"strings"
)

// vendors says how keys look. A row is an alphabet, at least how many of it follow, and beginnings. Nothing is asked of
// the exact length, so that a longer key is not left with its end. In front of the alphabet stand a for a beginning that
// is no part of a longer word, n for keys with a digit in them, as no name has, and b for what stands in the middle of a
// key.
const vendors = `
d 8 sk-proj- sk-svcacct- sk-admin- sk-ant- sk-or- xapp-1 xapp-2 xoxa- xoxb- xoxp- xoxr- xoxs- xoxe- xoxe.xoxp- xoxe.xoxb- pypi-AgE
x 8 sk_live_ rk_live_ pk_live_ sk_test_ rk_test_ pk_test_ sk_prod_ rk_prod_
x 10 AGE-SECRET-KEY-1
d 12 FLWSECK FLWPUBK
n x 12 LTAI
x 16 AKIA ASIA ghp_ gho_ ghu_ ghs_ ghr_ sm_aat_ sm_pat_ sm_sat_
a x 16 ABIA ACCA
an x 16 DO00
d 16 ya29. sq0atp- sq0csp- GOCSPX- GR1348941 tskey- nvapi- sha256~ sb_secret_ sb_publishable_ dckr_pat_ dckr_oat_ tgp_v1_ tvly- xkeysib- xsmtpsib- NRII- ldsk- hvs. hvr.
t 16 glpat- glptt- gldt- glrt- glcbt- glffct- glft- glimt- glagent- gloas- glsoat- pscale_tkn_ pscale_oauth_ pscale_pw_ dt0c01.
6 16 whsec_ bedrock-api-key- ABSK FlyV1
s 20 ATATT3 ATCTT3
an x 20 ATBB fw_
x 15 NRAK- NRJS-
x 20 hf_ api_org_
a x 20 ls__ e2b_
w 20 github_pat_ lsv2_pt_ lsv2_sk_ gsk_ xai- pplx- vercel_blob_rw_ zpka_ wandb_v1_ sk_or_
a d 20 sk-lf- pk-lf- YCAJE
w 24 sk-
an w 24 re_
an x 24 s. rnd_
x 26 an API-
d 30 AIza figd_ figo_ HRKU- duffel_test_ duffel_live_ tk-us- PMAK-
a d 30 1//0 fo1_ tfp_ AQVN s-s4t2
an d 30 A3- pa-
x 30 npm_ ntn_ CLOJARS_ dp.pt. dp.ct. dp.sa. csk-
t 30 dp.st. SG.
a x 30 p8e- ico- phc_ phx_ pnu_ sess-
w 30 lin_api_ lin_oauth_ jina_ pcsk_ r8_ glsa_ sgp_ slk_
6 30 glc_ eyJrIjoi ops_eyJ sntrys_
h 30 shippo_live_ shippo_test_ dapi dop_v1_ doo_v1_ dor_v1_ rubygems_ pul- sntryu_
a h 30 sbp_
H 32 shpat_ shpss_ shpca_ shppa_
an H 32 SK
an h 32 key- pubkey- dose
an x 32 cio secret_
an d 36 sdk- YCM
x 40 AKCp cmVmdGtu EZAK EZTK rdme_
a x 40 EAAC EAAM EAAB EAAG
an d 50 EAAA
d 40 fio-u-
an t 50 pat. sat. pat
d 60 hvb.
a 6 60 fm1a_ fm1r_ fm2_
an d 90 v1.0-
a t 80 t1.
b d 30 :AA Q~ .atlasv1.
s 20 $1$ $2a$ $2b$ $2y$ $5$ $6$ $y$ $apr1$ $argon2 pbkdf2_sha256$ {SSHA} {SHA}
`

type shape struct {
	prefix                 string
	set                    *charset
	min                    int
	alone, number, between bool
}

var shapes []shape

func prefixes() (all []string) {
	alphabets := map[string]*charset{"x": alnum, "w": word, "d": dashed, "t": dotted, "h": hexDigit, "H": anyHex, "6": base64s, "s": tokens}
	for row := range strings.Lines(vendors) {
		var s shape
		for f := range strings.FieldsSeq(row) {
			switch n, err := strconv.Atoi(f); {
			case alphabets[f] != nil && s.min == 0:
				s.set = alphabets[f]
			case err == nil:
				s.min = n
			case strings.Trim(f, "anb") == "":
				s.alone, s.number, s.between = strings.Contains(f, "a"), strings.Contains(f, "n"), strings.Contains(f, "b")
			default:
				s.prefix = f
				shapes = append(shapes, s)
				all = append(all, f)
			}
		}
	}
	return all
}

// vendorKey hides a key that is known by its beginning. One that stands in a longer word is hidden too.
func vendorKey(t *text, i int) {
	s := &shapes[t.row]
	from := i + len(s.prefix)
	if s.alone && t.in(dashed, i-1) {
		return
	}
	if s.prefix == "FlyV1" {
		from = t.skip(blank, from)
	}
	to := t.skip(s.set, from)
	if s.number && t.skip(noDigit, i) >= to {
		return
	}
	to = t.trim(from, to, ".,")
	if to-from < s.min {
		return
	}
	if s.between {
		if from = t.back(dashed, i); i-from < 3 {
			return
		}
		i = from
	}
	t.hide(i, to)
}

// wrapped hides base64 of which the beginning decodes to what is asked for.
func wrapped(from int, asked func(decoded string, n int) bool) func(t *text, i int) {
	return func(t *text, i int) {
		to := t.skip(anyBase64, i)
		if asked(decoded(t.some(i, from)), to-i) {
			t.hide(i, to)
		}
		t.decided(to)
	}
}

var anyBase64 = chars("A-Za-z0-9+/=_-") // for URLs too

// decoded returns what the base64 at the beginning of s stands for.
func decoded(s string) string {
	n := 0
	for n < len(s) && (base64s.has[s[n]] || dashed.has[s[n]]) && s[n] != '=' {
		n++
	}
	raw, _ := base64.RawStdEncoding.DecodeString(strings.NewReplacer("-", "+", "_", "/").Replace(s[:n-n%4]))
	return string(raw)
}

// basicAuth hides what follows Basic and decodes to text with a colon, or is long, and keeps "Basic English1" and the word before a comma.
func basicAuth(t *text, i int) {
	from := t.skip(space, i+len("basic"))
	if t.in(quotes, from) {
		from++
	}
	to := t.skip(tokens, from)
	w := strings.TrimRight(t.s[from:min(to, from+256)], ".,-_/=")
	if t.starts(i) && len(w) >= 6 && (len(w) >= 24 ||
		strings.Trim(w[1:], lowers) != "" && (w != t.s[from:to] || strings.IndexByte(decoded(w), ':') >= 0)) {
		t.hide(from, to)
		t.done[t.rule] = from // there may be another one in it
	}
}

const lowers, uppers = "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

const (
	keyMark = `(?:[^\nP-]|P(?P<not>RIVATE[ +]KEY)|-(?P<not>----))*PRIVATE[ +]KEY(?:[^\n-]|-(?P<not>----))*-----`
	keyBody = `[\w+/= \t\n\r\\:,.()]*`
)

var keyLines = chars(`A-Za-z0-9+/=\n\r\\`)
