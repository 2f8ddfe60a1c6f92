package whole_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What a page for users may be, so that people read it.
const (
	wordsOfSentence = 20
	wordsOfCell     = 15
	wordsOfPage     = 1600
	wordsOfAll      = 25_000
)

var (
	proseCode    = regexp.MustCompile("`[^`]*`")
	proseLink    = regexp.MustCompile(`!?\[([^\]]*)\]\([^)]*\)`)
	proseTable   = regexp.MustCompile(`(?s)<!-- [a-df-z][^>]* -->.*?<!-- (?:end of |/)[^>]*-->`) // that a program writes
	proseComment = regexp.MustCompile(`(?s)<!--.*?-->`)
	proseTables  = regexp.MustCompile(`(?s)<!-- [^>]*-->.*?<!-- (?:/|end of )[^>]*-->`) // that a program writes
	proseEnd     = regexp.MustCompile(`[.?!:](?:["')*]*)(?:\s|$)`)
	proseWord    = regexp.MustCompile(`[\pL\pN]`)
	proseItem    = regexp.MustCompile(`^\s*(?:[-*]|\d+\.)\s+`)
)

// countWords counts the words of a text; code is one word.
func countWords(text string) (n int) {
	for _, w := range strings.Fields(text) {
		if proseWord.MatchString(w) {
			n++
		}
	}
	return n
}

// plainProse takes code, links and comments out of Markdown.
func plainProse(text string) string {
	return proseLink.ReplaceAllString(proseCode.ReplaceAllString(proseComment.ReplaceAllString(text, ""), "code"), "$1")
}

// TestProse holds the pages for users to their lengths: of a sentence, a cell, a page, and of all pages, the latter
// without tables that a program writes.
func TestProse(t *testing.T) {
	pages, err := filepath.Glob("docs/*.md")
	require.NoError(t, err)
	require.LessOrEqual(t, len(pages), 22)
	all := 0
	for _, page := range append(pages, "README.md") {
		raw, err := os.ReadFile(page)
		require.NoError(t, err)
		_, long := prose(string(raw))
		n, _ := prose(proseTables.ReplaceAllString(string(raw), ""))
		all += n
		for _, what := range long {
			t.Errorf("%s: %s", page, what)
		}
		if n > wordsOfPage {
			t.Errorf("%s has %d words, and may have %d", page, n, wordsOfPage)
		}
	}
	if all > wordsOfAll {
		t.Errorf("all pages have %d words, and may have %d", all, wordsOfAll)
	}
}

// prose counts the words of a page and returns the sentences and cells that are too long.
func prose(page string) (n int, long []string) {
	code, paragraph := false, ""
	flush := func() {
		for _, sentence := range proseEnd.Split(plainProse(paragraph), -1) {
			if w := countWords(sentence); w > wordsOfSentence {
				long = append(long, "a sentence of more than 20 words: "+strings.TrimSpace(sentence))
			}
		}
		paragraph = ""
	}
	page = proseComment.ReplaceAllString(proseTable.ReplaceAllString(page, ""), "")
	for line := range strings.SplitSeq(page, "\n") {
		switch {
		case strings.HasPrefix(strings.TrimSpace(line), "```"):
			flush()
			code = !code
			continue
		case code:
			continue
		case strings.HasPrefix(line, "|"):
			flush()
			for cell := range strings.SplitSeq(strings.ReplaceAll(plainProse(line), `\|`, "/"), "|") {
				if w := countWords(cell); w > wordsOfCell {
					long = append(long, "a cell of more than 15 words: "+strings.TrimSpace(cell))
				}
			}
		case strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#"):
			flush()
		case proseItem.MatchString(line):
			flush()
			paragraph = proseItem.ReplaceAllString(line, "")
		default:
			paragraph += " " + strings.TrimSpace(line)
		}
		n += countWords(plainProse(line))
	}
	flush()
	return n, long
}

// TestProseIsCounted: what is too long is found, and code counts as one word.
func TestProseIsCounted(t *testing.T) {
	twenty := strings.TrimSpace(strings.Repeat("word ", 20))
	for _, fine := range []string{twenty + ".", twenty + ". " + twenty + ".", "- " + twenty + "\n- " + twenty, "| " + strings.Repeat("w ", 15) + "| x |", "```\n" + twenty + " more\n```", "a `" + twenty + "` b", "<!-- data -->\n" + twenty + " more\n<!-- end of data -->"} {
		_, long := prose(fine)
		require.Empty(t, long, fine)
	}
	for _, wrong := range []string{twenty + " more.", twenty + "\nmore", "| " + strings.Repeat("w ", 16) + "|"} {
		_, long := prose(wrong)
		require.Len(t, long, 1, wrong)
	}
	n, _ := prose("# One two\n\nThree `four five` [six](x.md).\n")
	require.Equal(t, 5, n)
}
