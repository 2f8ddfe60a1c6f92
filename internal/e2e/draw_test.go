package e2e

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"math"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// A panel is one diagram of a picture, over the same axis as the others.
type panel struct {
	title string
	log   bool // the y axis is logarithmic; it begins at zero otherwise
	lines []line
}

type line struct {
	name   string // in the legend, if it is not empty
	colour string
	dashed bool
	points []point
}

type point struct{ x, y float64 }

var colours = []string{"#0969da", "#1a7f37", "#bc4c00"}

// The geometry of a picture, in pixels.
const (
	drawWidth, drawHeight = 860, 200 // of a panel
	drawLeft, drawRight   = 60, 20
	drawTop, drawBottom   = 28, 14
)

// draw writes an SVG of panels under each other.
func draw(out *bytes.Buffer, title string, heading []string, unit string, panels []panel) {
	top := 24 + 18*len(heading)
	height := top + len(panels)*(drawHeight+drawTop+drawBottom) + 30
	fmt.Fprintf(out, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" font-family="sans-serif" font-size="12">
<title>%s</title>
<rect width="100%%" height="100%%" fill="#ffffff"/>
`, drawWidth, height, escaped(title))
	for i, text := range heading {
		fmt.Fprintf(out, "<text x=\"%d\" y=\"%d\">%s</text>\n", 12, 22+18*i, escaped(text))
	}
	end := 0.0
	for _, p := range panels {
		for _, l := range p.lines {
			for _, pt := range l.points {
				end = max(end, pt.x)
			}
		}
	}
	for i, p := range panels {
		p.draw(out, top+i*(drawHeight+drawTop+drawBottom)+drawTop, end)
	}
	for _, x := range ticks(end) {
		if x > end {
			break
		}
		fmt.Fprintf(out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>\n", across(x, end), height-22, number(x))
	}
	fmt.Fprintf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>\n</svg>\n", drawWidth-drawRight, height-6, escaped(unit))
}

// across is where x stands on an axis from zero to end.
func across(x, end float64) float64 {
	return drawLeft + x/max(end, 1e-9)*(drawWidth-drawLeft-drawRight)
}

// draw writes one panel, whose axes begin at y.
func (p *panel) draw(out *bytes.Buffer, y int, end float64) {
	low, high := math.Inf(1), 0.0
	for _, l := range p.lines {
		for _, pt := range l.points {
			low, high = min(low, pt.y), max(high, pt.y)
		}
	}
	scale := ticks(high)
	up := func(v float64) float64 { return v / scale[len(scale)-1] }
	if p.log && high > 0 {
		from, to := math.Floor(math.Log10(low)), math.Ceil(math.Log10(high))
		to = max(to, from+1)
		scale = nil
		for e := from; e <= to; e++ {
			scale = append(scale, math.Pow(10, e))
		}
		up = func(v float64) float64 { return (math.Log10(v) - from) / (to - from) }
	}
	at := func(v float64) float64 { return float64(y) + drawHeight*(1-up(v)) }
	fmt.Fprintf(out, "<text x=\"%d\" y=\"%d\" font-weight=\"bold\">%s</text>\n", drawLeft, y-10, escaped(p.title))
	for _, v := range scale {
		fmt.Fprintf(out, "<path d=\"M %d %.1f H %d\" stroke=\"#d0d7de\"/><text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n",
			drawLeft, at(v), drawWidth-drawRight, drawLeft-6, at(v)+4, number(v))
	}
	legend := drawWidth - drawRight
	for i := len(p.lines) - 1; i >= 0; i-- {
		l := p.lines[i]
		if len(l.points) > 0 {
			fmt.Fprintf(out, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"1.2\"%s points=\"", l.colour, map[bool]string{true: ` stroke-dasharray="3 2"`}[l.dashed])
			for _, pt := range l.points {
				fmt.Fprintf(out, "%.1f,%.1f ", across(pt.x, end), at(pt.y))
			}
			fmt.Fprintln(out, "\"/>")
		}
		if l.name != "" {
			fmt.Fprintf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\" fill=\"%s\">%s</text>\n", legend, y-10, l.colour, escaped(l.name))
			legend -= 6*len(l.name) + 16
		}
	}
}

// ticks returns round numbers from zero to at least high, eight at most.
func ticks(high float64) []float64 {
	if high <= 0 {
		return []float64{0, 1}
	}
	unit := math.Pow(10, math.Floor(math.Log10(high/6)))
	step := 10 * unit
	for _, n := range []float64{5, 2, 1} {
		if n*unit >= high/6 {
			step = n * unit
		}
	}
	all := []float64{0}
	for n := 1.0; all[len(all)-1] < high*(1-1e-9); n++ {
		all = append(all, n*step)
	}
	return all
}

func number(v float64) string { return fmt.Sprintf("%.6g", v) }

func escaped(s string) string {
	var out bytes.Buffer
	_ = xml.EscapeText(&out, []byte(s)) // a buffer takes everything
	return out.String()
}

// TestThePictureIsOfTenMinutes looks at the picture of docs/load.md.
func TestThePictureIsOfTenMinutes(t *testing.T) {
	picture, err := os.ReadFile("../../docs/soak.svg")
	require.NoError(t, err)
	require.Regexp(t, `>10 minutes, [1-9]\d{5,} calls`, string(picture), "see TestSoak for the command")
}
