package failure_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/classify"
	"github.com/mcpchain/mcpchain/internal/failure"
)

func TestEffectOfAWitness(t *testing.T) {
	for want, all := range map[fault.Effect][]failure.Witness{
		"":                    {{}},
		fault.EffectNone:      {{Whole: true}},
		fault.EffectUnknown:   {{Open: 1}, {Open: 2, Whole: true}},
		fault.EffectCommitted: {{Took: 1}, {Took: 1, Open: 1}, {Took: 2, Whole: true}},
	} {
		for _, w := range all {
			require.Equal(t, want, w.Effect(), "%+v", w)
		}
	}
}

// TestAgainWitnessed proves, whatever the kind is, the fault, a rule and the error say, and the tool does, what a
// witness outweighs and what not.
func TestAgainWitnessed(t *testing.T) {
	owns := []*fault.Retry{nil}
	for _, again := range []bool{false, true} {
		for _, effect := range effects {
			owns = append(owns, &fault.Retry{ShouldRetry: again, Effect: effect})
		}
	}
	rules := []*fault.Hint{nil, {Retry: fault.RetryYes, Effect: fault.EffectNone}, {Retry: fault.RetryNo, Effect: fault.EffectUnknown}}
	says := []classify.Says{{}, {Retry: fault.RetryYes, By: classify.ByTable, Effect: fault.EffectNone, Proof: classify.ByTable}}
	seen := []failure.Witness{{}, {Whole: true}, {Open: 1}, {Took: 1}, {Took: 1, Open: 1}}
	for _, kind := range allKinds() {
		for _, own := range owns {
			for _, rule := range rules {
				for _, said := range says {
					e := fault.New(kind, "m")
					var named fault.Effect
					if own != nil {
						e, named = e.WithRetry(*own), own.Effect
					}
					k := &failure.Known{Finding: classify.Finding{Origin: classify.Worded, Fault: e, Says: said, By: classify.ByFault}, Ruled: rule != nil}
					if rule != nil {
						k.Rule = *rule
					}
					for _, safety := range safe4 {
						without := failure.Again(k, failure.As(safety))
						for _, w := range seen {
							for _, running := range []bool{false, true} {
								asked := 0
								at := failure.Situation{Safety: func() failure.Safety { asked++; return safety }, Witness: w}
								if running {
									at.Running = failure.StillRunning(20 * time.Second)
								}
								a := failure.Again(k, at)
								requireWitnessed(t, a, without, w, safety, named, running, fmt.Sprintf("%s own=%v rule=%v says=%+v safety=%d %+v running=%v: %+v", kind, own, rule, said, safety, w, running, a))
								if asked > 1 {
									require.Fail(t, "the server is asked once at most")
								}
							}
						}
					}
				}
			}
		}
	}
}

func requireWitnessed(t *testing.T, a, without failure.Answer, w failure.Witness, safety failure.Safety, named fault.Effect, running bool, where string) {
	t.Helper()
	r := a.Retry
	fail := func(what string) { t.Helper(); require.Fail(t, what, where) }
	switch effect := w.Effect(); {
	case effect == "" && !running, safety == failure.Reads && effect != fault.EffectNone && !running:
		if a != without {
			fail("who has seen nothing, or only reads, changes nothing of the answer")
		}
	case effect == fault.EffectCommitted && safety == failure.Writes:
		if r.ShouldRetry || r.Effect != effect || r.Partial != (named != effect) {
			fail("a write that took effect is not repeated, whatever anybody says")
		}
		by := classify.Witnessed
		if running {
			by = classify.Cut
		}
		if r.Partial && (a.Proof != classify.Witnessed || a.By != by) {
			fail("the witness is the source of the effect, and of the no unless the call still runs")
		}
	case effect == fault.EffectUnknown && safety == failure.Writes && (named == "" || named == fault.EffectUnknown):
		if r.ShouldRetry || r.Effect != effect {
			fail("a write that was lost is not repeated, but by who has looked for it")
		}
	case effect == fault.EffectNone && (running || named != "" && named != fault.EffectNone):
		if r.Effect == fault.EffectNone && without.Retry.Effect != fault.EffectNone {
			fail("silence is no word against a word, nor while the handler is at work")
		}
	case effect == fault.EffectNone && without.Retry.Effect == fault.EffectUnknown:
		if r.Effect == fault.EffectUnknown {
			fail("nothing was changed where nothing goes unseen")
		}
	}
	if running && r.ShouldRetry {
		fail("what still runs is not repeated")
	}
	if r.ShouldRetry && (r.Effect == fault.EffectCommitted || r.Effect == fault.EffectUnknown) {
		fail("what may have taken effect is not repeated")
	}
	if r.Effect != "" && a.Proof == classify.Nobody && r.Effect != fault.EffectUnknown {
		fail("an effect has a source")
	}
	said := 0
	for _, sentence := range []string{"Nothing was changed", "took effect: do not", "At least a part", "may have changed", "not known whether"} {
		said += strings.Count(r.String(), sentence)
	}
	if said > 1 {
		fail("one sentence speaks of the effect: " + r.String())
	}
}
