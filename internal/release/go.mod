module github.com/mcpchain/mcpchain/internal/release

go 1.26.0

require golang.org/x/mod v0.39.0
