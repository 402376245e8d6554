package main

import (
	"encoding/json"
	"fmt"
	"text/tabwriter"

	"github.com/fencerow/fencerow/transitions"
)

// end is one way in which operations ended, and the command that shows them.
type end struct {
	name   string
	count  int
	good   bool
	show   []string
	advice string // what to do, where looking is not enough
}

// ends counts how the operations of the input ended.
func (r *runner) ends() []end {
	list := func(flags ...string) []string { return append([]string{"list"}, flags...) }
	all := []end{
		{name: "delivered", good: true, show: list("--delivery", "delivered")},
		{name: deliveredElsewhere, show: list("--delivery", "delivered"), advice: elsewhereAdvice},
		{name: "succeeded without delivery", good: !r.batch.spec.WantsDelivery(), show: list("--outcome", "succeeded"),
			advice: "not fetched: prepared with a provider file without a deliver section"},
		{name: "failed", show: list("--outcome", "failed")},
		{name: "rejected", show: list("--outcome", "rejected")},
		{name: "canceled", show: list("--outcome", "canceled")},
		{name: "abandoned", show: list("--outcome", "abandoned")},
		{name: "delivery failed", show: list("--delivery", "failed"), advice: "redeliver ID delivers it again, once the cause is mended"},
		{name: "still prepared", show: list("--phase", transitions.Prepared)},
		{name: "in flight", show: []string{"stats"}},
	}
	at := map[string]int{}
	for i, e := range all {
		at[e.name] = i
	}
	for _, reason := range program().Reasons {
		at["uncertain: "+reason] = len(all)
		all = append(all, end{name: "uncertain: " + reason, show: []string{"review", "list"}})
	}
	for _, item := range r.batch.in.Items {
		all[at[r.track.places[item.ID].end()]].count++
	}
	return all
}

func (p place) end() string {
	switch {
	case p.phase == transitions.Uncertain:
		return "uncertain: " + p.reason
	case p.phase == transitions.Prepared:
		return "still prepared"
	case p.inFlight():
		return "in flight"
	case p.outcome != "succeeded":
		return p.outcome
	case p.elsewhere != "":
		return deliveredElsewhere
	case p.delivery == "delivered":
		return "delivered"
	case p.delivery == "failed":
		return "delivery failed"
	}
	return "succeeded without delivery"
}

// ending is what a run tells at its end.
type ending struct {
	ends    []end
	marked  int    // operations of the input with a mark that waits for a reviewer, whatever their end
	sends   int    // requests that left, or may have left
	notLeft int    // attempts to send of which not one byte left
	file    string // of the results; "" if there is none
}

// code is the exit code that the ends give.
func (e ending) code() int {
	if e.marked > 0 {
		return exitUnfinished
	}
	for _, end := range e.ends {
		if !end.good && end.count > 0 {
			return exitUnfinished
		}
	}
	return exitOK
}

// printEnds is the table at the end of a run.
func (a *app) printEnds(e ending) error {
	if a.json {
		return a.printEndsJSON(e)
	}
	ends, file := e.ends, e.file
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	total := 0
	for _, e := range ends {
		total += e.count
		if e.count > 0 {
			look := a.command(e.show...)
			if e.advice != "" {
				look += "; " + e.advice
			}
			fmt.Fprintf(w, "%s\t%d\t%s\n", e.name, e.count, clean(look))
		}
	}
	sent := fmt.Sprintf("%d requests sent by this run", e.sends)
	if e.notLeft > 0 {
		sent += fmt.Sprintf("; %d attempts did not leave", e.notLeft)
	}
	fmt.Fprintf(w, "all\t%d\t%s\n", total, sent)
	if e.marked > 0 {
		fmt.Fprintf(w, "of these marked\t%d\t%s; a suspected duplicate or a contradicted outcome waits for a reviewer\n",
			e.marked, clean(a.command("review", "list")))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if file != "" {
		fmt.Fprintf(a.stdout, "results: %s\n", clean(file))
	}
	return nil
}

func (a *app) printEndsJSON(e ending) error {
	counted := map[string]int{}
	total := 0
	for _, end := range e.ends {
		counted[end.name] = end.count
		total += end.count
	}
	return json.NewEncoder(a.stdout).Encode(struct {
		Ends    map[string]int `json:"ends"`
		Total   int            `json:"total"`
		Marked  int            `json:"marked"`
		Sends   int            `json:"sends"`
		NotLeft int            `json:"not_left"`
		Results *string        `json:"results"`
	}{counted, total, e.marked, e.sends, e.notLeft, opt(e.file)})
}
