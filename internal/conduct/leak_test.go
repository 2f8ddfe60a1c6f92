package conduct_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/internal/conduct"
)

func TestInsides(t *testing.T) {
	for _, text := range []string{
		"goroutine 7 [running]:", "main.go:12", "runtime error: index out of range",
		"    at add (file:///srv/app/index.js:12:7)", "at async Object.call (/srv/app/index.js:1:2)", "at node:internal/process:1:2", `at C:\app\x.js:3:4`,
		"Traceback (most recent call last):", `File "/srv/app.py", line 12, in add`, `File \"/srv/app.py\", line 12`,
		"at com.example.Sum.add(Sum.java:12)", "thread 'main' panicked at src/main.rs:4:5", "app.rb:12:in `add'", "at Sum.Add(Int32 a) in /src/Sum.cs:line 12",
	} {
		require.True(t, conduct.Insides.MatchString(text), text)
	}
	for _, text := range []string{"at 12:30 we close", "look at line 5", "File \"x.txt\" is missing", "meet at noon (see /a/b)", "it panicked", "go: 12"} {
		require.False(t, conduct.Insides.MatchString(text), text)
	}
}
