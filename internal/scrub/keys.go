package scrub

import (
	"encoding/base64"
	"strconv"
	"strings"
)

// vendors says how keys look. A row is an alphabet, at least how many of it follow, and beginnings. Nothing is asked of
// the exact length, so that a longer key is not left with its end. In front of the alphabet stand a for a beginning that
// does not stand in a longer word, and n for keys with a digit in them, as no name has.
const vendors = `
x 8 sk_live_ rk_live_ pk_live_ sk_test_ rk_test_ pk_test_ sk_prod_ rk_prod_
d 8 sk-proj- sk-svcacct- sk-admin- sk-ant- sk-or- xapp-1 xapp-2 xoxa- xoxb- xoxc- xoxp- xoxr- xoxs- xoxe- xoxe.xoxp- xoxe.xoxb- pypi-AgE
s 8 xoxd- access_token$production$ access_token$sandbox$
d 8 AGE-SECRET-KEY-1 FLWSECK FLWPUBK
n x 12 LTAI
x 15 AKIA ASIA ghp_ gho_ ghu_ ghs_ ghr_ sm_aat_ sm_pat_ sm_sat_ NRAK- NRJS-
an x 32 key-
a x 16 ABIA ACCA EAAC EAAM EAAB EAAG ls__ e2b_ p8e- ico- phc_ phx_ pnu_ sess-
an x 16 DO00 ATBB fw_ rnd_ API-
x 20 hf_ api_org_ npm_ ntn_ CLOJARS_ dp.pt. dp.ct. dp.sa. csk- AKCp cmVmdGtu EZAK EZTK rdme_
an x 24 s. cio secret_
d 16 ya29. sq0atp- sq0csp- GOCSPX- GR1348941 tskey- nvapi- sha256~ sb_secret_ sb_publishable_ dckr_pat_ dckr_oat_ tgp_v1_ tvly- xkeysib- xsmtpsib- NRII- ldsk- hvs. hvr. hvb. AIza figd_ figo_ HRKU- duffel_test_ duffel_live_ tk-us- PMAK- fio-u-
d 20 pat-na1- pat-na2- pat-eu1- pat-ap1- dnkey-
t 16 glpat- glptt- gldt- glrt- glcbt- glffct- glft- glimt- glagent- gloas- glsoat- pscale_tkn_ pscale_oauth_ pscale_pw_ dt0c01. dp.st.
t 30 SG.
an t 50 pat. sat. pat t1.
6 16 whsec_ bedrock-api-key- ABSK glc_ eyJrIjoi ops_eyJ fm1a_ fm1r_ fm2_ BBDC- IQoJb3JpZ2luX2Vj FwoGZXIvYXdz AQoDYXdz
s 16 sntrys_
w 20 CCIPAT_ CCIPRJ_ nfp_ hcaik_ hcbik_ github_pat_ lsv2_pt_ lsv2_sk_ gsk_ xai- pplx- vercel_blob_rw_ zpka_ wandb_v1_ sk_or_ lin_api_ lin_oauth_ glsa_ pcsk_
w 24 sk-
an w 24 re_
w 30 jina_ r8_ sgp_ slk_
d 30 CFPAT-
a d 60 sl.
a d 20 sk-lf- pk-lf- YCAJE 1//0 fo1_ tfp_ AQVN s-s4t2
an d 30 A3- pa- sdk- YCM EAAA
an d 90 v1.0-
h 30 bkua_ squ_ sqp_ sqa_ shippo_live_ shippo_test_ dapi dop_v1_ doo_v1_ dor_v1_ rubygems_ pul- sntryu_ sbp_ shpat_ shpss_ shpca_ shppa_
an h 32 SK key- pubkey- dose
s 20 ATATT3 ATCTT3 $1$ $2a$ $2b$ $2y$ $5$ $6$ $y$ $apr1$ $argon2 pbkdf2_sha256$ {SSHA} {SHA}
`

type shape struct {
	prefix        string
	set           *charset
	min           int
	alone, number bool
}

var shapes []shape

func prefixes() (all []string) {
	alphabets := map[string]*charset{"x": alnum, "w": word, "d": dashed, "t": dotted, "h": anyHex, "6": base64s, "s": tokens}
	for row := range strings.Lines(vendors) {
		var s shape
		for f := range strings.FieldsSeq(row) {
			switch n, err := strconv.Atoi(f); {
			case alphabets[f] != nil && s.min == 0:
				s.set = alphabets[f]
			case err == nil:
				s.min = n
			case strings.Trim(f, "an") == "":
				s.alone, s.number = strings.Contains(f, "a"), strings.Contains(f, "n")
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
	to := t.trim(from, t.skip(s.set, from), ".,")
	if to-from >= s.min && !(s.alone && t.in(dashed, i-1)) && !(s.number && t.skip(noDigit, i) >= to) {
		t.hide(i, to)
		t.done[t.rule] = i + 1 // another one may begin in it
	}
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

// decoded returns what base64 stands for.
func decoded(s string) string {
	raw, _ := base64.RawStdEncoding.DecodeString(strings.NewReplacer("-", "+", "_", "/").Replace(s[:len(s)-len(s)%4]))
	return string(raw)
}

const lowers, uppers = "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

const (
	keyMark = `(?:[^\nP-]|P(?P<not>RIVATE[ +]KEY)|-(?P<not>----))*PRIVATE[ +]KEY(?:[^\n-]|-(?P<not>----))*-----`
	keyBody = `[\w+/= \t\n\r\\:,.()]*`
)
