package errbench

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
)

// A Command is an agent in a process of its own, such as a script that asks a model. It
// reads one [Turn] a line and writes one [Action] a line, both as JSON:
//
//	{"goal":"Place order o-7 ...","knows":{},"tools":[{"name":"place_order", ...}],
//	 "exchanges":[{"tool":"place_order","arguments":{...},"answer":{"failed":true,"text":"Timeout: ..."}}]}
//
//	{"tool":"place_order","arguments":{...},"wait":2}   call, after so many seconds
//	{"done":true}                                       stop: the goal is reached
//	{}                                                  stop: it is not, or nobody knows
//
// Every line has everything that is known, so the program need not keep anything. What it
// writes to its standard error is shown. Time stands still while it thinks.
type Command struct {
	name    string
	command *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
}

// Start starts a program as an agent. [Command.Close] ends it.
func Start(name string, command *exec.Cmd) (*Command, error) {
	in, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	return &Command{name, command, in, bufio.NewReader(out)}, nil
}

// Name returns the name that the agent was given.
func (c *Command) Name() string { return c.name }

// Next asks the program.
func (c *Command) Next(_ context.Context, turn *Turn) (Action, error) {
	line, err := json.Marshal(turn)
	if err != nil {
		return Action{}, err
	}
	if _, err := c.in.Write(append(line, '\n')); err != nil {
		return Action{}, fmt.Errorf("%s does not read: %w", c.name, err)
	}
	answer, err := c.out.ReadBytes('\n')
	if err != nil {
		return Action{}, fmt.Errorf("%s does not answer: %w", c.name, err)
	}
	var action Action
	if err := json.Unmarshal(answer, &action); err != nil {
		return Action{}, fmt.Errorf("%s answers %q, which is no action: %w", c.name, answer, err)
	}
	if action.Wait < 0 || action.Wait > 86400 {
		return Action{}, fmt.Errorf("%s waits for %v s: from 0 to a day", c.name, action.Wait)
	}
	return action, nil
}

// Close ends the program's input and waits for its end.
func (c *Command) Close() error {
	if err := c.in.Close(); err != nil {
		return err
	}
	return c.command.Wait()
}
