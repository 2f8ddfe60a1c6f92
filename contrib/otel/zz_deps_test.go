package otel_test

import (
	_ "go.opentelemetry.io/contrib/bridges/otelslog"
	_ "go.opentelemetry.io/otel/log"
	_ "go.opentelemetry.io/otel/sdk/log"
)
