// Package elsewhere words steps to tools that another package registers.
package elsewhere

import "github.com/mcpchain/mcpchain/fault"

func step() error { return fault.NotFound("x").Step("List them", "list_projects", nil) }
