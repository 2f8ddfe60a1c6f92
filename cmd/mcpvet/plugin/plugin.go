// Package plugin registers the checks of mcpvet with golangci-lint's module plugin system,
// under the name "mcpvet". Name it in .custom-gcl.yml:
//
//	plugins:
//	  - module: github.com/mcpchain/mcpchain/cmd/mcpvet
//	    import: github.com/mcpchain/mcpchain/cmd/mcpvet/plugin
//	    version: latest
package plugin

import (
	"fmt"
	"slices"

	"github.com/golangci/plugin-module-register/register"
	"golang.org/x/tools/go/analysis"

	"github.com/mcpchain/mcpchain/cmd/mcpvet/checks"
)

// settings are what linters.settings.custom.mcpvet.settings may hold.
type settings struct {
	// Disable names checks that do not run.
	Disable []string `json:"disable"`
}

type linter struct{ settings }

//nolint:gochecknoinits // golangci-lint's plugins register themselves when they are imported
func init() { register.Plugin("mcpvet", newLinter) }

func newLinter(raw any) (register.LinterPlugin, error) {
	s, err := register.DecodeSettings[settings](raw)
	if err != nil {
		return nil, fmt.Errorf("mcpvet: %w", err)
	}
	for _, name := range s.Disable {
		if !slices.ContainsFunc(checks.All(), func(a *analysis.Analyzer) bool { return a.Name == name }) {
			return nil, fmt.Errorf("mcpvet: settings.disable: there is no check %q", name)
		}
	}
	return &linter{s}, nil
}

// BuildAnalyzers returns the checks that are not disabled.
func (l *linter) BuildAnalyzers() ([]*analysis.Analyzer, error) {
	return slices.DeleteFunc(checks.All(), func(a *analysis.Analyzer) bool { return slices.Contains(l.Disable, a.Name) }), nil
}

// GetLoadMode says that the checks need types.
func (*linter) GetLoadMode() string { return register.LoadModeTypesInfo }
