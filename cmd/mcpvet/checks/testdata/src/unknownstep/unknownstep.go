package unknownstep

import (
	"github.com/mcpchain/mcpchain/fault"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const list = "list_projects"

func register(s *mcp.Server) {
	s.AddTool(&mcp.Tool{Name: list}, nil)
	s.AddTool(&mcp.Tool{Name: "get_project"}, nil)
}

func steps(name string) error {
	_ = fault.NotFound("x").
		Step("List them", "list_projects", nil).
		Step("List them", "listProjects", nil). // want `this package registers no tool "listProjects"; it has "list_projects"`
		Step("Look it up", "search", nil).      // want `this package registers no tool "search"`
		Step("Ask the user", "", nil).
		Step("Call it", name, nil)
	return fault.NotFound("x").WithSteps(
		fault.Step{Action: "Get it", Tool: "getproject"}, // want `this package registers no tool "getproject"; it has "get_project"`
		fault.Step{Action: "Ask"},
		fault.Step{Action: "Choose", Options: []fault.Option{{Action: "a", Tool: "delete"}}}, // want `this package registers no tool "delete"`
	)
}
