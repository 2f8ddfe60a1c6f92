package checks

import (
	"slices"
	"strings"
	"unicode"
)

// The effects that words in a name stand for. Some verbs of writing are also nouns, so only
// the first verb of a name counts: get_order reads, order_pizza does not.
var (
	readVerbs   = []string{"get", "list", "search", "read", "describe", "find", "show", "query", "fetch", "lookup", "count"}
	deleteVerbs = []string{"delete", "remove", "destroy", "drop", "purge", "erase", "uninstall"}
	changeVerbs = append([]string{
		"append", "apply", "chmod", "chown", "clear", "configure", "create", "deploy", "disable", "edit", "enable", "execute", "increment", "insert",
		"install", "merge", "migrate", "mkdir", "modify", "mutate", "publish", "rename", "replace", "reset", "restart", "restore", "revert", "revoke",
		"rollback", "rotate", "save", "send", "submit", "subscribe", "toggle", "truncate", "unset", "unsubscribe", "update", "upgrade", "upload", "upsert",
		"write",
	}, deleteVerbs...)
	ambiguousVerbs = []string{
		"add", "approve", "archive", "assign", "attach", "book", "bump", "buy", "cancel", "clone", "close", "commit", "copy", "detach", "drain",
		"exec", "fork", "grant", "import", "invoke", "kill", "mark", "move", "open", "order", "patch", "pay", "post", "push", "put", "refresh", "reload",
		"run", "scale", "set", "sign", "start", "stop", "store", "sync", "tag", "trigger",
	}
)

// nameOf returns the effect that the name of a tool suggests: get_x, listX and x.search
// read.
func nameOf(name string) effect {
	words := wordsOf(name)
	verb := ""
	for i, word := range words {
		ambiguous := slices.Contains(ambiguousVerbs, word)
		switch {
		case slices.Contains(changeVerbs, word), ambiguous && (verb == "" || words[i-1] == "or" || words[i-1] == "and"):
			return writes
		case verb == "" && slices.Contains(readVerbs, word):
			verb = word
		}
	}
	if verb == "" {
		return unknown
	}
	return reads
}

// wordsOf returns the words of a name, in small letters: those of listOpenTabs, HTTPGet and
// disks.list-all.
func wordsOf(name string) (words []string) {
	runes := []rune(name)
	begin := 0
	cut := func(end int) {
		if end > begin {
			words = append(words, strings.ToLower(string(runes[begin:end])))
		}
		begin = end
	}
	for i, r := range runes {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			cut(i)
			begin = i + 1
		case unicode.IsUpper(r) && i > begin && (!unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])):
			cut(i)
		}
	}
	cut(len(runes))
	return words
}
