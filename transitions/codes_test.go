package transitions_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/transitions"
)

func TestTheStandardLifecycleBreaksNoRule(t *testing.T) {
	t.Parallel()
	if diff := cmp.Diff([]transitions.Finding(nil), transitions.Check(transitions.Standard())); diff != "" {
		t.Errorf("the standard lifecycle has findings (-want +got):\n%s", diff)
	}
}

func TestEveryRuleFindsItsExampleAndNoOtherRuleDoes(t *testing.T) {
	t.Parallel()
	for _, rule := range transitions.SafetyRules() {
		t.Run(rule.Code, func(t *testing.T) {
			t.Parallel()
			want := []string{rule.Code + " " + rule.Fault}
			var got []string
			for _, f := range transitions.Check(rule.Example()) {
				got = append(got, f.Code+" "+f.Row)
				if f.Text == "" || f.Fix == "" {
					t.Errorf("%s does not say what is wrong and what to do", f)
				}
				t.Log(f)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: the findings of its example differ (-want +got):\n%s", rule.Title, diff)
			}
		})
	}
}

func TestCodesAreNumberedInOrderAndSayWhy(t *testing.T) {
	t.Parallel()
	titles := map[string]string{}
	for i, rule := range transitions.SafetyRules() {
		if want := fmt.Sprintf("FR%03d", i+1); rule.Code != want {
			t.Errorf("rule %d has the code %s, want %s", i+1, rule.Code, want)
		}
		if rule.Why == "" || rule.Title == "" {
			t.Errorf("%s has no title or does not say why", rule.Code)
		}
		if other := titles[rule.Title]; other != "" {
			t.Errorf("%s and %s have the same title", other, rule.Code)
		}
		titles[rule.Title] = rule.Code
	}
}
