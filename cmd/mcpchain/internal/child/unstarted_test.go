//go:build unix

package child_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/child"
)

// A command that cannot be started says why.
func TestWhyACommandCannotBeStarted(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{"npx": "#!/bin/sh\n", "server": "#!/there/is/nothing\n", "empty": "\x01\x02", "aaa": "#!/bin/sh\n"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700))
	}
	for i := range 1100 { // more than are compared at once
		require.NoError(t, os.WriteFile(filepath.Join(other, fmt.Sprintf("a%dz%04d", i%7, i)), []byte("#!/bin/sh\n"), 0o700))
	}
	require.NoError(t, os.WriteFile(filepath.Join(other, "zzztool"), []byte("#!/bin/sh\n"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "data.txt"), nil, 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "folder"), 0o700))
	t.Setenv("PATH", dir+":/there/is/nothing:"+other)
	const another = ". A client may have another PATH than a terminal: write the whole path of the program"
	for command, want := range map[string]string{
		"nxp":             `there is no program "nxp" in PATH. Did you mean "npx"?`,
		"zzztol":          `there is no program "zzztol" in PATH. Did you mean "zzztool"?`,
		"dta.txt":         `there is no program "dta.txt" in PATH` + another,
		"uvx":             `there is no program "uvx" in PATH` + another,
		"npx -y server":   "the program and its arguments stand in one text: each argument has to be a text of its own",
		"uvx @a/server":   "the program and its arguments stand in one text: each argument has to be a text of its own",
		dir + "/npx -y x": "the program and its arguments stand in one text: each argument has to be a text of its own",
		dir + "/the nx":   `there is no program "the nx" in its directory`,
		dir + "/nxp":      `there is no program "nxp" in its directory. Did you mean "npx"?`,
		dir + "/nothing":  `there is no program "nothing" in its directory`,
		dir + "/server":   `"server" is there, but not what it is started with: the program in its first line, or the loader of its libraries`,
		"":                "its name is empty",
		"~/bin/npx":       `no shell replaces "~" and "$" in its name: write the whole path`,
		"$HOME/npx":       `no shell replaces "~" and "$" in its name: write the whole path`,
		dir + "/empty":    `"empty" is not a program of this machine. A script needs a first line such as "#!/bin/sh"`,
		dir + "/folder":   `"folder" is a directory`,
		dir + "/data.txt": `"data.txt" may not be executed`,
	} {
		_, err := child.Start(child.Command{Args: []string{command, "x"}, Stderr: os.Stderr})
		var unstarted *child.UnstartedError
		require.ErrorAs(t, err, &unstarted, command)
		require.Equal(t, want, unstarted.Why)
	}
	require.NoError(t, child.Look([]string{"npx"}))
	require.ErrorContains(t, child.Look([]string{"nxp"}), `Did you mean "npx"?`)
}
