package toolname

import "github.com/modelcontextprotocol/go-sdk/mcp"

const dotted = "pods.list"

func tools(name string) []*mcp.Tool {
	_ = mcp.Prompt{Name: "a prompt"}
	return []*mcp.Tool{
		{Name: "list_pods-2"},
		{Name: name + " of somebody"},
		{Name: "list pods"}, // want `the name of this tool has " ", and clients refuse it: use 1 to 64 of A-Z, a-z, 0-9, _ and -`
		{Name: dotted},      // want `the name of this tool has "."`
		{Name: "größe"},     // want `the name of this tool has "ö"`
		{Name: ""},          // want `the name of this tool is empty`
		{Name: "a123456789_123456789_123456789_123456789_123456789_123456789_123"},
		{Name: "a123456789_123456789_123456789_123456789_123456789_123456789_1234"}, // want `the name of this tool has 65 letters`
		{Description: "it gets a name later"},
	}
}
