package scrub

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCredentials(t *testing.T) {
	for text, want := range map[string]string{
		"file '/home/ann/report.txt' does not exist":            "file '/home/ann/report.txt' does not exist",
		"dial tcp 10.0.0.7:5432: connection refused":            "dial tcp 10.0.0.7:5432: connection refused",
		"near SELECT name FROM users WHERE id = 1":              "near SELECT name FROM users WHERE id = 1",
		"postgres://app:hunter2@10.0.0.7/prod in /etc/app.yaml": "postgres://app:[redacted]@10.0.0.7/prod in /etc/app.yaml",
		"[\"password\"]=>\n  string(7) \"hunter2\"\n":           "[\"password\"]=>\n  string(7) \"[redacted]\"\n", // var_dump of PHP
		"'password' => string 'hunter2' (length=7)":             "'password' => string '[redacted]' (length=7)",
		"password=hunter2 in /etc/app.yaml":                     "password=[redacted] in /etc/app.yaml",
	} {
		require.Equal(t, want, Credentials(text))
		require.Equal(t, want, Credentials(want), "idempotent")
	}
}
