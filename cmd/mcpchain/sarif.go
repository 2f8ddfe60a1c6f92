package main

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/probe"
)

// noPlace is where the findings stand of a server without a file below the working directory.
const noPlace = "mcpchain-check"

// placeOf returns the file in which the findings of a server are shown: the first in its command that is
// there, below the working directory.
func placeOf(command []string) string {
	for _, arg := range command {
		if !filepath.IsLocal(arg) {
			continue
		}
		if info, err := os.Stat(arg); err == nil && info.Mode().IsRegular() { //nolint:gosec // the user names the command, and only the mode is looked at
			return filepath.ToSlash(filepath.Clean(arg))
		}
	}
	return noPlace
}

var sarifLevels = map[probe.Weight]string{probe.User: "error", probe.Model: "warning", probe.Letter: "note"}

// writeSARIF writes SARIF 2.1.0, with a result for each finding. A finding is about a server, so its own
// place is logical. GitHub's code scanning refuses a result without a line of a file: that is the first
// one of place.
func writeSARIF(w io.Writer, r *probe.Report, place string) error {
	type text struct {
		Text string `json:"text"`
	}
	type rule struct {
		ID    string `json:"id"`
		Short text   `json:"shortDescription"`
		Full  text   `json:"fullDescription"`
		Help  text   `json:"help"`
	}
	type artifact struct {
		URI string `json:"uri"`
	}
	type region struct {
		Line int `json:"startLine"`
	}
	type physical struct {
		Artifact artifact `json:"artifactLocation"`
		Region   region   `json:"region"`
	}
	type logical struct {
		Name string `json:"fullyQualifiedName"`
	}
	type location struct {
		Physical physical  `json:"physicalLocation"`
		Logical  []logical `json:"logicalLocations"`
	}
	type result struct {
		RuleID       string            `json:"ruleId"`
		Level        string            `json:"level"`
		Message      text              `json:"message"`
		Locations    []location        `json:"locations"`
		Fingerprints map[string]string `json:"partialFingerprints"`
	}
	type driver struct {
		Name    string `json:"name"`
		Version string `json:"version"`
		URI     string `json:"informationUri"`
		Rules   []rule `json:"rules"`
	}
	type tool struct {
		Driver driver `json:"driver"`
	}
	type run struct {
		Tool    tool     `json:"tool"`
		Results []result `json:"results"`
	}
	where := physical{artifact{(&url.URL{Path: place}).String()}, region{1}}
	one := run{Tool: tool{driver{Name: "mcpchain check", Version: version(), URI: "https://github.com/mcpchain/mcpchain", Rules: []rule{}}}, Results: []result{}}
	for _, res := range r.Results {
		one.Tool.Driver.Rules = append(one.Tool.Driver.Rules, rule{ID: res.Check.Name, Short: text{res.Check.Title}, Full: text{res.Check.Why}, Help: text{res.Check.Why}})
		for _, f := range res.Findings {
			is := fingerprint(res.Check.Name, f)
			hash := sha256.Sum256([]byte(is))
			one.Results = append(one.Results, result{
				RuleID: res.Check.Name, Level: sarifLevels[f.Weight],
				Message:   text{fmt.Sprintf("%s Sent: %s Got: %s", sentenceOf(f), cmp.Or(f.Sent, "nothing."), cmp.Or(f.Got, "nothing."))},
				Locations: []location{{where, []logical{{cmp.Or(r.Server, "server") + "/" + cmp.Or(f.Subject, res.Check.Name)}}}},
				// All findings stand in one line, so code scanning tells them apart by this alone.
				Fingerprints: map[string]string{"mcpchain/v1": is, "primaryLocationLineHash": hex.EncodeToString(hash[:8]) + ":1"},
			})
		}
	}
	return indentedJSON(w, struct {
		Version string `json:"version"`
		Schema  string `json:"$schema"`
		Runs    []run  `json:"runs"`
	}{"2.1.0", "https://json.schemastore.org/sarif-2.1.0.json", []run{one}})
}
