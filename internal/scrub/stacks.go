package scrub

// A frame of Go is a line with a function, and an indented one with its place.
const (
	goFunction = `(?:created by )?[\w/~@%-]+\.[\w./~@%-]*(?P<is>[(\[\r\n ]|\z)[^\n]*`
	goPlace    = `[ \t](?:[^.\n]+|\.(?P<not>(?:go|s):\d))*\.(?:go|s):\d+(?: \+0x[0-9a-f]*)?`
	goFrame    = goFunction + `\n` + goPlace
	goFrames   = `(?:\r*\n` + goFrame + `)*`
)

// pythonFrame has the lines of code below it.
const pythonFrame = `File "[^"\n]*", line \d+(?:, in [^\n]*)?(?:\n    [^\n]*)*`

// A frame of Java, JavaScript and .NET has a place, or a function with its place in brackets or behind " in ".
const (
	placed = `(?:java|kt|scala|groovy|jsx?|tsx?|[mc][jt]s):\d`
	frame  = `at (?:async )?(?:(?:[^.\s\v]+|\.(?P<not>` + placed + `|java[\s\v]|java\z))*\.(?:` + placed + `[\d:]*|java)(?P<is>[\s\v]|\z)|` +
		`[^()\n]*\((?:(?:[^.()\n]+|\.(?P<not>` + placed + `|java\)))*\.(?:` + placed + `[\d:]*|java)|Native Method|Unknown Source)\)|` +
		`[^()\n]*\([^()\n]*\) in (?:[^:\n]+|:(?P<not>line ))*:line \d*)`
)

var framesOfGo = compile(`(?P<hide>` + goFrame + goFrames + `)`)

// framesAround hides the frame of Go whose place the trigger stands in, and those that follow.
func framesAround(t *text, i int) {
	if place := t.back(inLine, i); place > 0 {
		t.hides(framesOfGo, t.back(inLine, place-1))
	}
}
