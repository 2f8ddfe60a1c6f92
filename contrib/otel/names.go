package otel

// The names of the conventions for MCP, which are in development. Their source is
// https://github.com/open-telemetry/semantic-conventions-genai, docs/gen-ai/mcp.md and
// model/mcp, as of commit 5c50d346f1c9e8f745889f7777a412991564b334. The package semconv of
// OpenTelemetry for Go has none of them since v1.42.0.
const (
	attrMethod          = "mcp.method.name"
	attrSession         = "mcp.session.id"
	attrProtocolVersion = "mcp.protocol.version"
	attrOperation       = "gen_ai.operation.name"
	attrTool            = "gen_ai.tool.name"
	attrPrompt          = "gen_ai.prompt.name"
	attrErrorType       = "error.type"
	attrStatusCode      = "rpc.response.status_code"
	attrTransport       = "network.transport"
	attrProtocol        = "network.protocol.name"

	metricServerDuration = "mcp.server.operation.duration"
	metricClientDuration = "mcp.client.operation.duration"

	executeTool    = "execute_tool" // the operation's name for a call of a tool
	toolError      = "tool_error"   // the error.type of a result with isError
	otherErrorType = "_OTHER"       // the error.type that stands for any other
)

// durationBounds are the bounds of the histograms in seconds, from the same source.
var durationBounds = []float64{0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300}

// Our own names.
const (
	attrKind      = "mcpchain.kind"
	attrParty     = "mcpchain.party"
	attrEffect    = "mcpchain.effect"
	attrReference = "mcpchain.reference"
	attrAttempt   = "mcpchain.attempt"  // of a span below that of its call: from 1
	attrAttempts  = "mcpchain.attempts" // of the span of a call: how often the handler was run, from 2

	other = "_other" // the value of an attribute of a metric that stands for any other
)

// protocolVersions are the values of the attribute in metrics: before 2026-07-28 a client sends any
// text as its version.
var protocolVersions = []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"}
