package main

import (
	"fmt"
	"strings"
)

func completionCommand() command {
	return command{
		name: "completion", usage: "bash|zsh|fish", short: "print what completes command lines in a shell",
		run: completion,
	}
}

// completion prints a script. It completes the commands and their flags; behind "--" the shell
// completes as it does anywhere.
func completion(args []string, std streams) int {
	shell := strings.Join(args, " ")
	names := make([]string, 0, len(commands()))
	flagged := map[string]string{} // the flags of the commands that have some
	var order []string
	for _, c := range commands() {
		names = append(names, c.name)
		if len(c.flags) > 0 {
			flagged[c.name] = "-" + strings.Join(c.flags, " -")
			order = append(order, c.name)
		}
	}
	all := strings.Join(names, " ")
	switch shell {
	case "bash", "zsh":
		if shell == "zsh" {
			fmt.Fprintln(std.out, "autoload -U +X bashcompinit && bashcompinit")
		}
		fmt.Fprint(std.out, "_mcpchain() {\n\tlocal word=${COMP_WORDS[COMP_CWORD]} words=\n\tcase $COMP_CWORD:${COMP_WORDS[1]} in\n")
		fmt.Fprintf(std.out, "\t1:*) words='%s' ;;\n", all)
		for _, name := range order {
			fmt.Fprintf(std.out, "\t*:%s) words='%s' ;;\n", name, flagged[name])
		}
		fmt.Fprintf(std.out, "\t*:help) words='%s' ;;\n\tesac\n", all)
		fmt.Fprint(std.out, "\tCOMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n}\ncomplete -o default -F _mcpchain mcpchain\n")
	case "fish":
		fmt.Fprintf(std.out, "complete -c mcpchain -n __fish_use_subcommand -f -a '%s'\n", all)
		for _, name := range order {
			for flag := range strings.FieldsSeq(flagged[name]) {
				fmt.Fprintf(std.out, "complete -c mcpchain -n '__fish_seen_subcommand_from %s' -o %s\n", name, strings.TrimPrefix(flag, "-"))
			}
		}
	default:
		fmt.Fprintln(std.err, "mcpchain completion: name a shell: bash, zsh or fish")
		return exitUsage
	}
	return exitOK
}
