package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/transitions"
)

func (a *app) showVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "show ID",
		Short: "Show one operation with its history and evidence",
		Example: `  fencerow show clip-001
  fencerow show clip-001 --json | jq .history`,
		Args: exactly("ID"),
		RunE: func(c *cobra.Command, args []string) error { return a.show(c.Context(), args[0]) },
	}
}

func (a *app) show(ctx context.Context, id string) error {
	s, err := a.open(ctx, reading)
	if err != nil {
		return err
	}
	defer s.close()
	op, err := s.machine.Get(ctx, id)
	if err != nil {
		return fmt.Errorf("showing it from %s: %w", s.name, err)
	}
	history, err := s.store.History(ctx, id)
	if err != nil {
		return fmt.Errorf("reading the history of operation %q: %w", id, err)
	}
	evidence, err := s.store.Evidence(ctx, id)
	if err != nil {
		return fmt.Errorf("reading the evidence of operation %q: %w", id, err)
	}
	page, err := s.machine.Known(ctx, op)
	if err != nil {
		return fmt.Errorf("reading what is known of operation %q: %w", id, err)
	}
	w := page.Operations[0]
	if a.json {
		return a.withColumns(op, struct {
			knownJSON
			History  []historyJSON  `json:"history"`
			Evidence []evidenceJSON `json:"evidence"`
		}{knownOf(w, page.Now), historyOf(history), evidenceOf(evidence)})
	}
	if err := a.showColumns(op); err != nil {
		return err
	}
	for _, line := range append(candidateText(w, page.Now), relationText(w)...) {
		fmt.Fprintf(a.stdout, "\n%s\n", clean(line))
	}
	a.showTimeline(history, evidence)
	a.showNext(w, page.Now)
	return nil
}

// showColumns prints what is set. Times are in UTC; bytes are cut, --json has them whole.
func (a *app) showColumns(op machine.Operation) error {
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "operation\t%s\n", called(op.OperationID))
	fmt.Fprintf(w, "seen\t%s\n", op.Seen())
	for i, c := range program().Columns {
		v := op.Row()[i]
		if v.IsNull() || c.Name == "operation_id" || c.Name == "revision" || c.Name == "evidence_seq" {
			continue
		}
		if v == c.Default && c.Kind == transitions.Bool {
			continue
		}
		text := valueText(v)
		if c.Name == "redo_of" {
			text = called(op.RedoOf)
		}
		fmt.Fprintf(w, "%s\t%s\n", c.Name, text)
	}
	return w.Flush()
}

const longValue = 300

func valueText(v transitions.Value) string {
	switch v.Kind() {
	case transitions.Time:
		return v.Time().Format(time.RFC3339Nano)
	case transitions.Text:
		return cell(v.Text(), longValue)
	case transitions.Bytes:
		return bytesText(v.Bytes())
	default:
		return v.String()
	}
}

func bytesText(b []byte) string {
	if len(b) > 4*longValue {
		cut := 4 * longValue
		for cut > 0 && !utf8.RuneStart(b[cut]) {
			cut--
		}
		return fmt.Sprintf("%s (%d bytes in all)", cell(string(b[:cut]), longValue), len(b))
	}
	return cell(string(b), longValue)
}

// showTimeline prints history and evidence in the order in which they came about.
func (a *app) showTimeline(history []machine.HistoryEntry, evidence []machine.EvidenceEntry) {
	type moment struct {
		at   time.Time
		text string
	}
	var all []moment
	for _, h := range history {
		all = append(all, moment{h.At, historyText(h)})
	}
	for _, e := range evidence {
		all = append(all, moment{e.At, evidenceText(e)})
	}
	slices.SortStableFunc(all, func(x, y moment) int { return cmp.Compare(x.at.UnixMicro(), y.at.UnixMicro()) })
	fmt.Fprintln(a.stdout, "\ntimeline")
	for _, m := range all {
		fmt.Fprintf(a.stdout, "  %s  %s\n", m.at.UTC().Format("2006-01-02 15:04:05.000Z"), m.text)
	}
}

func historyText(h machine.HistoryEntry) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-20s", h.Event)
	switch h.From {
	case "":
		fmt.Fprintf(&b, " → %s", h.To)
	case h.To:
		fmt.Fprintf(&b, " %s", h.To)
	default:
		fmt.Fprintf(&b, " %s → %s", h.From, h.To)
	}
	fmt.Fprintf(&b, "  revision %d", h.Revision)
	for _, part := range []struct{ name, value string }{
		{"by", h.Owner}, {"reviewer", h.Reviewer}, {"reason", h.Reason}, {"detail", unlike(h.Detail, h.Reason)},
	} {
		if part.value != "" {
			fmt.Fprintf(&b, "  %s %s", part.name, cell(part.value, longValue))
		}
	}
	return b.String()
}

func unlike(text, other string) string {
	if text == other {
		return ""
	}
	return text
}

func evidenceText(e machine.EvidenceEntry) string {
	text := fmt.Sprintf("%-20s %s", "evidence", cell(e.Kind, 60))
	if e.Revision != 0 {
		text += fmt.Sprintf("  revision %d", e.Revision)
	}
	for _, part := range []struct{ name, value string }{{"by", e.Owner}, {"remote job", e.RemoteJobID}} {
		if part.value != "" {
			text += fmt.Sprintf("  %s %s", part.name, cell(part.value, longValue))
		}
	}
	if len(e.Detail) > 0 {
		text += "  " + bytesText(e.Detail)
	}
	return text
}

// showNext says what a person can do, where it is a person's turn.
func (a *app) showNext(w machine.Waiting, now time.Time) {
	if w.Phase != transitions.Uncertain && !w.Marked() && w.Delivery != "failed" {
		return
	}
	fmt.Fprintln(a.stdout, "\nnext")
	for _, line := range a.choices(w, now) {
		fmt.Fprintf(a.stdout, "  %s\n", clean(line))
	}
}

// choices are the commands that settle an operation. One that a guard refuses now says why.
func (a *app) choices(w machine.Waiting, now time.Time) []string {
	op := w.Operation
	var lines []string
	add := func(choice, why string, verb []string, flags ...string) {
		for _, c := range w.Choices {
			if c.Name == choice && c.Refused != nil {
				why += "; now " + refusal(op, c.Refused, now)
			}
		}
		flags = append(flags, "--seen", op.Seen().String(), "--reviewer", placeholderReviewer, "--reason", placeholderReason)
		lines = append(lines, why+":", "  "+a.commandOn(op.OperationID, verb, flags...))
	}
	review := func(name string) []string { return []string{"review", name} }
	if op.Marked() {
		add(machine.ChoiceAcknowledge, "you have seen to the marks ("+marks(op)+")", review("acknowledge"))
	}
	if op.Phase == transitions.Uncertain {
		add(machine.ChoiceAttach, "the remote has a job of it", review("attach"), "--remote-job-id", placeholderID)
		if op.RemoteJobID == "" && op.LateRemoteJobID == "" {
			add(machine.ChoiceNotCreated, "the remote provably has none, so that it is sent again", review("not-created"))
		}
		add(machine.ChoiceAbandon, "nobody will ever know, or it does not matter any more", review("abandon"))
	}
	if op.Delivery == "failed" {
		add("redeliver", "the result can be fetched now", []string{"redeliver"})
	}
	return lines
}
