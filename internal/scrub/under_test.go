package scrub

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestUnderASecret: what describes a secret stays, and what may be one goes, whichever of the two walks finds it.
func TestUnderASecret(t *testing.T) {
	for in, want := range map[string]string{
		`{"upstreamAuth":{"code":"unauthenticated"}}`:                                                                           ``,
		`{"token":{"expires_in":3,"expires_at":"2026-11-23T09:00:00Z","token_type":"bearer"}}`:                                  ``,
		`{"auth":{"error":"invalid_grant","error_description":"The refresh token has expired.","retryable":false,"hint":null}}`: ``,
		`{"auth":{"code":"PERMISSION_DENIED","reason":"TokenExpired","status":401,"scopes":["read","write"]}}`:                  ``,
		`{"password":{"code":"too_short","min_length":8,"required":true}}`:                                                      ``,
		`{"auth":{"errors":[{"code":"expired","message":"sign in again"}]}}`:                                                    ``,
		`{"credentials":{"user":"x","password":"y"}}`:                                                                           `{"credentials":{"user":"x","password":"[redacted]"}}`,
		`{"auth":{"basic":"dXNlcjpwYXNz"}}`:                                                                                     `{"auth":{"basic":"[redacted]"}}`,
		`{"secrets":{"smtp":"swordfish","db":{"main":"letmein"}}}`:                                                              `{"secrets":{"smtp":"[redacted]","db":{"main":"[redacted]"}}}`,
		`{"tokens":["a","b",{"value":"c"}]}`:                                                                                    `{"tokens":["[redacted]","[redacted]",{"value":"[redacted]"}]}`,
		`{"password":1234,"otp":{"code":483920},"pin":{"value":1234,"code":7}}`:                                                 `{"password":0,"otp":{"code":0},"pin":{"value":0,"code":0}}`,
		`{"auth":{"code":"SplxlOBeZQQYbYS6WxSbIA","state":"af0ifjsldkj9x8"}}`:                                                   `{"auth":{"code":"[redacted]","state":"[redacted]"}}`,
		`{"auth":{"code":"wJalrXUtnFEMI","message":"hunter2x"}}`:                                                                `{"auth":{"code":"[redacted]","message":"[redacted]"}}`,
		`{"auth":{"device_code":"GmRhmhcxhwAzkoEq","verification_code":"WDJBMJHT"}}`:                                            `{"auth":{"device_code":"[redacted]","verification_code":"[redacted]"}}`,
		`{"auth":{"message":"the password is hunter2x"}}`:                                                                       `{"auth":{"message":"[redacted]"}}`,
		`{"secret":{"name":"` + ghp + `","token":{"code":"expired"}}}`:                                                          `{"secret":{"name":"[redacted]","token":{"code":"expired"}}}`,
		`{"tokens":{"Zk39fjq0aLx8":"active"},"a":{"Zk39fjq0aLx8":1}}`:                                                           `{"tokens":{"[redacted]":"[redacted]"},"a":{"Zk39fjq0aLx8":1}}`,
		`{"api_keys":{"7c4f1a52-3b6e-4c1d-9a4e-2f8b1c0d9e77":{"status":"active"}}}`:                                             ``,
		`{"secrets":{"status":"ready","db-main-1":{"state":"ready"}}}`:                                                          ``,
		`{"recovery_codes":[{"code":"plum-otter"}],"otp":{"code":"QWERTY","error":"expired"}}`:                                  `{"recovery_codes":[{"code":"[redacted]"}],"otp":{"code":"[redacted]","error":"expired"}}`,
		`{"token":{"type":"string","value":"letmein"}}`:                                                                         `{"token":{"type":"string","value":"[redacted]"}}`,
		`{"secrets":{"token":{"type":"string","x":"letmein"}}}`:                                                                 `{"secrets":{"token":{"type":"string","x":"[redacted]"}}}`,
		`{"tokens":4821930,"prompt":{"tokens":128000000},"token":4821930}`:                                                      `{"tokens":4821930,"prompt":{"tokens":128000000},"token":0}`,
		`{"passWord":"letmein","pass_phrase":"letmein","pass-code":4821}`:                                                       `{"passWord":"[redacted]","pass_phrase":"[redacted]","pass-code":0}`,
		`{"auth":{"message":"` + strings.Repeat("a", 600) + `"}}`:                                                               `{"auth":{"message":"[redacted]"}}`,
	} {
		if want == "" {
			want = in
		}
		require.Equal(t, want, string(WholeJSON([]byte(in))), in)
		var v any
		require.NoError(t, json.Unmarshal([]byte(in), &v))
		got, err := json.Marshal(Cleaner{Typed: true}.Value(v))
		require.NoError(t, err)
		require.JSONEq(t, want, string(got), "as a value: %s", in)
	}
}

// FuzzWalks: both walks hide the same.
func FuzzWalks(f *testing.F) {
	f.Add(`{"auth":{"code":"x","a":[{"token":1234}],"b":"hunter2"},"c":"Bearer ` + ghp + `"}`)
	f.Add(`{"name":"api_key","value":"x","pin":[1,2345,{"at":"2026-01-01"}]}`)
	f.Fuzz(func(t *testing.T, in string) {
		var v any
		if json.Unmarshal([]byte(in), &v) != nil || len(in) > 1<<10 {
			t.Skip("no JSON")
		}
		var want any
		plain, err := json.Marshal(v) // without doubled names
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(WholeJSON(plain), &want))
		got, err := json.Marshal(Cleaner{Text: Whole, Typed: true}.Value(v))
		require.NoError(t, err)
		if !strings.Contains(string(got), redacted+" (") && !strings.Contains(string(got), LeftOut) {
			require.JSONEq(t, string(mustJSON(t, want)), string(got))
		}
	})
}

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	raw, err := json.Marshal(v)
	require.NoError(t, err)
	return raw
}

// TestNamesUnderASecret: names that a machine made are hidden there, and none takes the place of another.
func TestNamesUnderASecret(t *testing.T) {
	v := map[string]any{"tokens": map[string]any{"Zk39fjq0aLx8": true, "Bm47rtq1cVy9": true, "main": true}}
	want := `{"tokens":{"[redacted]":true,"[redacted] (2)":true,"main":true}}`
	require.JSONEq(t, want, string(mustJSON(t, Cleaner{}.Value(v))))
	require.Equal(t, want, string(WholeJSON([]byte(`{"tokens":{"Zk39fjq0aLx8":true,"Bm47rtq1cVy9":true,"main":true}}`))))
}
