package scrub

// A frame of Go is a line with a function, and an indented one with its place.
const (
	goFunction = ` {0,2}(?:created by )?(?:[\w/~@%-]+\.[\w./~@%-]*(?P<is>[(\[\r\n ]|\z)|panic\()[^\n]*`
	goPlace    = `[ \t](?:[^.\n]+|\.(?P<not>(?:go|s):\d))*\.(?:go|s):\d+(?: \+0x[0-9a-f]*)?`
	goFrame    = goFunction + `\n` + goPlace
	goFrames   = `(?:\r*\n(?:\.\.\.[\w ]*\.\.\.|` + goFrame + `))*`
)

// pythonFrame has the lines of code below it.
const pythonFrame = `File "[^"\n]*", line \d+(?:, in [^\n]*)?(?:\n    [^\n]*)*`

// A frame of Java, JavaScript and .NET has a place, or a function with its place in brackets or behind " in ".
const (
	placed = `(?:java|kt|scala|groovy|jsx?|tsx?|[mc][jt]s):\d`
	frame  = `at (?:async )?(?:node:[\w/.-]+:\d[\d:]*|(?:[^.\s\v]+|\.(?P<not>` + placed + `|java[\s\v]|java\z))*\.(?:` + placed + `[\d:]*|java)(?P<is>[\s\v]|\z)|` +
		`[^()\n]*\((?:(?:[^.()\n]+|\.(?P<not>` + placed + `|java\)))*\.(?:` + placed + `[\d:]*|java)|Native Method|Unknown Source)\)|` +
		`[^()\n]*\([^()\n]*\) in (?:[^:\n]+|:(?P<not>line ))*:line \d*)`
)

// rustFrames have a number, or the place of the one above.
const rustFrames = `(?:\n[ \t]+(?:\d+:|at )[^\n]*)+`

var framesOfGo = compile(`(?P<hide>` + goFrame + goFrames + `)`)

// framesAround hides the frame of Go whose place the trigger stands in, and those that follow. Another trigger in the same
// line would find the same.
func framesAround(t *text, i int) {
	if place := t.back(inLine, i); place > 0 && t.tried[t.rule] != place {
		t.tried[t.rule] = place
		t.hides(framesOfGo, t.back(inLine, place-1))
	}
}
