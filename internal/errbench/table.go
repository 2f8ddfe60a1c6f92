package errbench

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Table writes what became of the cases: a row for each agent and server, for the first two
// agents a row for each group of failures, and which cases the second one got wrong.
func Table(results []*Result) string {
	var b strings.Builder
	agents, servers, groups := names(results, func(r *Result) string { return r.Agent }),
		names(results, func(r *Result) string { return r.Server }), names(results, func(r *Result) string { return r.Group })
	b.WriteString("\n| agent | server | right | calls | tokens read | done twice | misled | secrets seen | process died |\n|---|---|---|---|---|---|---|---|---|\n")
	for _, agent := range agents {
		for _, server := range servers {
			s := sum(results, func(r *Result) bool { return r.Agent == agent && r.Server == server })
			fmt.Fprintf(&b, "| %s | %s | %d of %d | %d | %d | %d | %d | %d | %d |\n",
				agent, server, s.right, s.cases, s.calls, s.tokens, s.twice, s.misled, s.secrets, s.died)
		}
	}
	readers := agents[:min(2, len(agents))]
	fmt.Fprintf(&b, "\nRight, by the failure, for %s:\n\n| failures | cases |", strings.Join(quoted(readers), " and for "))
	for _, server := range servers {
		fmt.Fprintf(&b, " %s |", server)
	}
	b.WriteString("\n|---|---|" + strings.Repeat("---|", len(servers)) + "\n")
	for _, group := range groups {
		all := sum(results, func(r *Result) bool { return r.Agent == agents[0] && r.Server == servers[0] && r.Group == group })
		fmt.Fprintf(&b, "| %s | %d |", group, all.cases)
		for _, server := range servers {
			right := make([]string, 0, len(readers))
			for _, agent := range readers {
				right = append(right, strconv.Itoa(sum(results, func(r *Result) bool {
					return r.Agent == agent && r.Server == server && r.Group == group
				}).right))
			}
			fmt.Fprintf(&b, " %s |", strings.Join(right, ", "))
		}
		b.WriteString("\n")
	}
	last := readers[len(readers)-1]
	fmt.Fprintf(&b, "\nNot right for %q:\n\n", last)
	for _, server := range servers {
		var wrong []string
		for _, r := range results {
			if r.Agent == last && r.Server == server && !r.Right {
				wrong = append(wrong, r.Case)
			}
		}
		fmt.Fprintf(&b, "- %s: %s.\n", server, strings.Join(wrong, "; "))
	}
	return b.String()
}

func quoted(names []string) (all []string) {
	for _, name := range names {
		all = append(all, strconv.Quote(name))
	}
	return all
}

type sums struct{ cases, right, calls, tokens, twice, misled, secrets, died int }

func sum(results []*Result, of func(*Result) bool) (s sums) {
	for _, r := range results {
		if !of(r) {
			continue
		}
		s.cases++
		s.calls += r.Calls
		s.tokens += r.Tokens
		s.twice += r.Twice
		s.misled += r.Misled
		s.died += r.Died
		if r.Right {
			s.right++
		}
		if r.Secrets {
			s.secrets++
		}
	}
	return s
}

// names returns the different names in the order of their first results.
func names(results []*Result, of func(*Result) string) (all []string) {
	for _, r := range results {
		if name := of(r); !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}

const (
	opening = "<!-- errbench -->\n"
	closing = "<!-- end of errbench -->\n"
)

// page finds docs/evidence.md, from any directory of the repository.
func page() (string, error) {
	name := filepath.Join("docs", "evidence.md")
	for range 4 {
		if _, err := os.Stat(name); err == nil {
			return name, nil
		}
		name = filepath.Join("..", name)
	}
	return "", errors.New("there is no docs/evidence.md above: run it in the repository")
}

// replaced returns the name of the page, its text, and the text with this table.
func replaced(table string) (name, was, now string, err error) {
	name, err = page()
	if err != nil {
		return "", "", "", err
	}
	text, err := os.ReadFile(name) //nolint:gosec // found by page
	if err != nil {
		return "", "", "", err
	}
	before, rest, ok := strings.Cut(string(text), opening)
	_, after, closed := strings.Cut(rest, closing)
	if !ok || !closed {
		return "", "", "", fmt.Errorf("%s has no block between %q and %q", name, opening, closing)
	}
	return name, string(text), before + opening + table + "\n" + closing + after, nil
}

// WriteDocs writes the table into docs/evidence.md.
func WriteDocs(table string) error {
	name, _, now, err := replaced(table)
	if err != nil {
		return err
	}
	return os.WriteFile(name, []byte(now), 0o644) //nolint:gosec // a document
}
