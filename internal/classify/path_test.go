package classify_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/classify"
	"github.com/mcpchain/mcpchain/internal/failure"
)

// A path that the caller sent is shown back with what is wrong with it; the same error of
// a path of the server's own says nothing.
func TestPathOfTheCaller(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.txt"), nil, 0o600))
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "full", "sub"), 0o700))
	root, err := os.OpenRoot(dir)
	require.NoError(t, err)
	defer root.Close()
	read := func(name string) error {
		_, err := os.ReadFile(filepath.Join(dir, name))
		return err
	}
	opened := func(name string) error {
		_, err := root.Open(name)
		return err
	}
	long := strings.Repeat("x", 300)
	for name, c := range map[string]struct {
		err  error
		sent string
		kind fault.Kind
		want string
	}{
		"missing":           {read("b.txt"), "b.txt", fault.KindNotFound, "'b.txt' does not exist"},
		"missing directory": {read("no/b.txt"), "no/b.txt", fault.KindNotFound, "'no/b.txt' does not exist, or a directory in this path does not"},
		"directory":         {read("full"), "full", fault.KindClientError, "'full' is a directory and not a file"},
		"no directory":      {read("a.txt/x"), "a.txt/x", fault.KindClientError, "'a.txt/x', or a part of this path, is not a directory"},
		"too long":          {read(long), long, fault.KindClientError, "the name '" + long[:200]},
		"zero byte":         {read("a\x00b"), "a\x00b", fault.KindClientError, "is not a path that can be used"},
		"outside":           {opened("../x"), "../x", fault.KindClientError, "'../x' leads out of the directory that may be used"},
		"exists":            {os.Mkdir(filepath.Join(dir, "full"), 0o700), "full", fault.KindAlreadyExists, "'full' exists already"},
		"not empty":         {os.Remove(filepath.Join(dir, "full")), "full", fault.KindConflict, "the directory 'full' is not empty"},
		"renamed onto":      {&os.LinkError{Op: "rename", Old: "/srv/a", New: "/srv/b", Err: syscall.EEXIST}, "b", fault.KindAlreadyExists, "'b' exists already"},
		"forbidden":         {fmt.Errorf("look: %w", &fs.PathError{Op: "open", Path: "/srv/key", Err: syscall.EPERM}), "key", fault.KindPermissionDenied, "access to 'key' is not permitted"},
	} {
		t.Run(name, func(t *testing.T) {
			require.Error(t, c.err)
			f := classify.Of(c.err, classify.Options{Request: request(func(s string) bool { return strings.Contains(c.sent, s) })})
			require.Equal(t, c.kind, f.Fault.Kind())
			require.Contains(t, f.Fault.Message(), c.want)
			require.Equal(t, fault.PartyCaller, f.Party)
			require.NotContains(t, f.Fault.Message(), dir)

			f = classify.Of(c.err, classify.Options{Request: request(func(string) bool { return false })})
			require.NotContains(t, f.Fault.Message(), c.sent)
			require.NotEqual(t, fault.PartyCaller, f.Party)
		})
	}
}

// Words that are shown have the label of what else is known.
func TestShownWords(t *testing.T) {
	sent := func(s string) bool { return s == "b.txt" }
	missing := fmt.Errorf("cannot read b.txt: %w", &fs.PathError{Op: "open", Path: "/srv/b.txt", Err: fs.ErrNotExist})
	f := shown(classify.Of(missing, classify.Options{Request: request(sent)}), missing)
	require.Equal(t, fault.KindNotFound, f.Fault.Kind())
	require.Equal(t, missing.Error(), f.Fault.Message())

	helo := fmt.Errorf("no symbol %q", "Helo")
	f = shown(classify.Of(helo, classify.Options{}), helo)
	require.Equal(t, fault.KindTool, f.Fault.Kind())
	require.Empty(t, f.Party)
	known := &failure.Known{Finding: f.Finding, Shown: f.Shown}
	for _, safety := range []failure.Safety{failure.Writes, failure.Reads} {
		answer := failure.Again(known, failure.As(safety))
		require.Nil(t, answer.Said(), "the words say more than that one more try does no harm")
	}
}

// Who wrote the statement that a database refuses can mend it.
func TestStatementOfTheCaller(t *testing.T) {
	err := fmt.Errorf("query: %w", stateError("42P01")) // undefined_table
	of := func(text string) classify.Finding {
		return classify.Of(err, classify.Options{Request: request(func(s string) bool { return strings.Contains(text, s) })})
	}
	for _, sent := range []string{"select 1 from userz", "SELECT * FROM userz", "selec * from userz", "INSERT INTO userz VALUES (1)"} {
		f := of(sent)
		require.Equal(t, fault.KindClientError, f.Fault.Kind(), sent)
		require.Equal(t, fault.PartyCaller, f.Party)
		require.Equal(t, "Check its syntax and the names of its tables and columns.", f.Fault.Suggestion())
		require.NotContains(t, f.Fault.Text(), "userz")
	}
	mine := fmt.Errorf("my query: %w", err)
	v := shown(classify.Of(mine, classify.Options{Request: request(func(s string) bool { return s == "select " })}), mine)
	require.Equal(t, "Client error: my query: query: relation does not exist (SQLSTATE 42P01).", v.Fault.Text(), "its words say more than a suggestion of ours")
	f := of("userz")
	require.Equal(t, fault.KindInternal, f.Fault.Kind())
	require.Equal(t, fault.PartyServer, f.Party)
}

// TestWhatADatabaseQuotes: a statement is the caller's too if the caller sent what the database quotes of it.
func TestWhatADatabaseQuotes(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		sent string
		want fault.Kind
	}{
		"a word that begins no statement": {postgresError{"42601", `ERROR: syntax error at or near "SELEC"`}, "SELEC 1", fault.KindClientError},
		"a column":                        {postgresError{"42703", `ERROR: column "prise" does not exist`}, "order by prise", fault.KindClientError},
		"a column in lines":               {postgresError{"42703", `ERROR: column "prise" does not exist`}, "Select\n prise", fault.KindClientError},
		"a database that exists":          {postgresError{"42P04", `ERROR: database "shop" already exists`}, "CREATE DATABASE shop", fault.KindAlreadyExists},
		"a table that exists":             {postgresError{"42P07", `ERROR: relation "orders" already exists`}, "create table orders (id int)", fault.KindAlreadyExists},
		"a column of SQLite":              {postgresError{"42000", "SQL logic error: no such column: prise (1)"}, "order by prise", fault.KindClientError},
		"a column of the server's own":    {postgresError{"42703", `ERROR: column "prise" does not exist`}, "list the orders", fault.KindInternal},
		"a table of the server's own":     {postgresError{"42P07", `ERROR: relation "orders" already exists`}, "migrate", fault.KindInternal},
		"nothing is quoted":               {postgresError{"42601", `ERROR: syntax error at end of input`}, "end of input", fault.KindInternal},
	} {
		t.Run(name, func(t *testing.T) {
			f := classify.Of(fmt.Errorf("query: %w", c.err), classify.Options{Request: request(func(s string) bool { return strings.Contains(c.sent, s) })})
			require.Equal(t, c.want, f.Fault.Kind())
		})
	}
}

type postgresError struct{ state, text string }

func (e postgresError) SQLState() string { return e.state }
func (e postgresError) Error() string    { return e.text }

// A service that refuses the server's key answered properly.
func TestRefusedCredentialsAreTold(t *testing.T) {
	f := classify.Of(refusal{401}, classify.Options{})
	require.Equal(t, "a service that is needed refused the access of this server", f.Fault.Message())
	require.Equal(t, fault.KindServerError, f.Fault.Kind())
}

type refusal struct{ StatusCode int }

func (refusal) Error() string { return "refused" }

type stateError string

func (e stateError) SQLState() string { return string(e) }
func (stateError) Error() string      { return "relation does not exist" }
