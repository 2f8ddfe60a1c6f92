// Package spawn starts processes of Windows so that all that they start ends with them, and batch files get their
// arguments. On other systems nothing of it is needed.
package spawn

import (
	"errors"
	"path/filepath"
	"strings"
)

// isBatch reports whether Windows runs a file with cmd.exe. Those of npm are such files: npx.cmd.
func isBatch(path string) bool {
	ext := strings.ToLower(filepath.Ext(path))
	return ext == ".cmd" || ext == ".bat"
}

// errBatch says that an argument cannot reach a batch file.
var errBatch = errors.New("an argument of a batch file cannot have a line break")

// batchLine returns the line with which cmd.exe runs a batch file. Outside of quotes, cmd.exe would end a command at
// the & of a URL. It goes on to replace the names of variables between two %.
func batchLine(path string, args []string) (string, error) {
	var line strings.Builder
	line.WriteString(`cmd.exe /e:ON /v:OFF /d /c ""` + path + `"`)
	for _, arg := range args {
		if strings.ContainsAny(arg, "\r\n\x00") {
			return "", errBatch
		}
		line.WriteByte(' ')
		quoteBatch(&line, arg)
	}
	line.WriteByte('"')
	return line.String(), nil
}

// special are what cmd.exe reads outside of quotes.
const special = "&|<>^"

func quoteBatch(line *strings.Builder, arg string) {
	if arg != "" && !strings.ContainsAny(arg, special+" \t()!,;=\"") {
		line.WriteString(arg)
		return
	}
	// All programs read \" as a quote, but for cmd.exe it opens or ends quotes. It takes no notice of "", which not all
	// programs read alike.
	quote := `\"`
	if strings.Count(arg, `"`)%2 == 1 || strings.ContainsAny(arg, special) {
		quote = `""`
	}
	line.WriteByte('"')
	slashes := 0
	for _, c := range []byte(arg) {
		switch c {
		case '"': // behind backslashes, which are doubled
			line.WriteString(strings.Repeat(`\`, slashes) + quote)
			slashes = 0
			continue
		case '\\':
			slashes++
		default:
			slashes = 0
		}
		line.WriteByte(c)
	}
	line.WriteString(strings.Repeat(`\`, slashes) + `"`)
}
