package page_test

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/page"
)

// What a server says stands in the page as text, wherever the template has it.
func TestNothingOfTheDataIsMarkup(t *testing.T) {
	const said = `</title></style></pre><script src=//evil.example/x.js></script><img src=x onerror="alert(1)">`
	p := page.New(`<pre title="{{.}}">{{shout .}}</pre><a href="#{{.}}">there</a>`, map[string]any{"shout": strings.ToUpper})
	var b bytes.Buffer
	require.NoError(t, p.Write(&b, said, said))
	out := b.String()
	require.NotContains(t, strings.ToLower(out), "<script")
	require.NotContains(t, strings.ToLower(out), "<img")
	require.Equal(t, 1, strings.Count(out, "</style>"))
	require.Contains(t, out, "&lt;SCRIPT SRC")
}

// A page has all that it shows in itself: it is sent by mail and opened without a network.
func TestNothingIsLoaded(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, page.New("<p>a body</p>", nil).Write(&b, "A title", nil))
	out := b.String()
	require.Contains(t, out, "<h1>A title</h1>\n<p>a body</p>")
	require.Contains(t, out, ".tiles > .bad dd { color: var(--bad); }", "the style is not escaped")
	require.Contains(t, out, "default-src 'none'")
	require.Empty(t, regexp.MustCompile(`https?:|url\(|@import|<link|src=`).FindAllString(out, -1))
}
