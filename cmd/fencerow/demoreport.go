package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"text/tabwriter"

	"github.com/fencerow/fencerow/internal/input"
	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/provider/sandbox"
	"github.com/fencerow/fencerow/transitions"
)

func itemOf(id string, request []byte) input.Item { return input.Item{ID: id, Size: len(request)} }

// demoRow is one operation of the report.
type demoRow struct {
	order  demoOrder
	op     machine.Operation
	count  sandbox.Count
	proofs int
	found  bool // its answer was lost, and its job was found again
}

// report prints what came of it, after holding it against the remote's own counts. A promise that was not kept is an
// error.
func (d *demo) report(ctx context.Context) error {
	var rows []demoRow
	var broken []string
	counts := d.remote.Counts()
	for _, o := range d.orders {
		op, err := d.session.machine.Get(ctx, o.id)
		if err != nil {
			return err
		}
		history, err := d.session.store.History(ctx, o.id)
		if err != nil {
			return err
		}
		row := demoRow{o, op, counts[o.id], proofs(history), counted(history, "investigate_found") > 0}
		rows = append(rows, row)
		broken = append(broken, d.judge(row)...)
	}
	if err := d.printRows(rows); err != nil {
		return err
	}
	d.printSums(rows)
	for _, text := range broken {
		d.app.sayf("BROKEN: %s", text)
	}
	if len(broken) > 0 {
		return fmt.Errorf("%d promises were not kept; the folder %s has the database and the logs", len(broken), d.dir)
	}
	d.printNext(rows)
	return nil
}

// judge holds one operation against what was promised.
func (d *demo) judge(r demoRow) []string {
	var broken []string
	claim := func(held bool, format string, args ...any) {
		if !held {
			broken = append(broken, r.order.id+": "+fmt.Sprintf(format, args...))
		}
	}
	claim(r.count.Received >= 1, "its request never arrived")
	claim(r.count.Received <= 1+r.proofs, "the remote received %d requests, with %d recorded proofs that one created nothing", r.count.Received, r.proofs)
	claim(r.count.Accepted <= 1, "the remote created %d jobs: %v", r.count.Accepted, r.count.IDs)
	if r.op.RemoteJobID != "" {
		claim(contains(r.count.IDs, r.op.RemoteJobID), "it holds the remote job %q, which the remote never created for it", r.op.RemoteJobID)
	}
	if r.op.Outcome == "succeeded" {
		claim(r.op.Delivery == "delivered", "it succeeded and its delivery is %q", r.op.Delivery)
		got, err := os.ReadFile(filepath.Join(d.dir, defaultOut, r.op.ObjectKey))
		claim(err == nil, "its result cannot be read: %v", err)
		claim(err != nil || bytes.Equal(got, sandbox.Result(r.order.request)), "its result is not what the remote made of its request")
	}
	if r.op.Phase == transitions.Uncertain {
		claim(r.op.UncertainReason != "", "it is uncertain without a reason")
	}
	return broken
}

func (d *demo) printRows(rows []demoRow) error {
	fmt.Fprintln(d.app.stdout, "\nWhat each operation met, what the remote counted, and how it ended:")
	w := tabwriter.NewWriter(d.app.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "OPERATION\tREQUESTS\tPROOFS\tJOBS\tNOW\tWHAT WENT WRONG")
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%s\t%s\n", r.order.id, r.count.Received, r.proofs, r.count.Accepted, ended(r.op), r.order.explains)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(d.app.stdout, "REQUESTS: received by the remote. PROOFS: recorded answers that a request created nothing; only such an answer")
	fmt.Fprintln(d.app.stdout, "allows another request. JOBS: created by the remote, each of which would cost money.")
	return nil
}

func ended(op machine.Operation) string {
	p := placeOf(op)
	if p.end() == "still prepared" {
		return "prepared, tried again later"
	}
	return p.end()
}

func (d *demo) printSums(rows []demoRow) {
	requests, proofs, jobs, delivered, found, uncertain := 0, 0, 0, 0, 0, 0
	for _, r := range rows {
		requests += r.count.Received
		proofs += r.proofs
		jobs += r.count.Accepted
		if r.op.Delivery == "delivered" {
			delivered++
		}
		if r.found {
			found++
		}
		if r.op.Phase == transitions.Uncertain {
			uncertain++
		}
	}
	say := func(format string, args ...any) { fmt.Fprintf(d.app.stdout, format+"\n", args...) }
	say("\nHeld against the remote's own counts:")
	say("  %d operations, %d requests: one each, and %d more after recorded proof that the one before created nothing.", len(rows), requests, requests-len(rows))
	say("  %d jobs: none of the operations has two.", jobs)
	say("  %d results delivered to %s, each compared with what the remote made.", delivered, filepath.Join(d.dir, defaultOut))
	say("  %d found again: the request left and no answer came that names a job, but the remote lists exactly one of the operation.", found)
	say("  %d uncertain: likewise, and the remote lists none. That proves nothing: a job may come to light yet, and sending", uncertain)
	say("  again might pay twice. So a person looks first.")
}

func (d *demo) printNext(rows []demoRow) {
	a := d.app
	fmt.Fprintln(a.stdout, "\nWhat to type next:")
	show := func(why, command string) { fmt.Fprintf(a.stdout, "  %-72s # %s\n", command, why) }
	show("what waits for a person", a.command("review", "list"))
	show("one operation's whole story", a.commandOn(demoVictim, []string{"show"}))
	for _, r := range rows {
		if r.op.Phase == transitions.Uncertain {
			show("one that is uncertain, with the commands that decide", a.commandOn(r.order.id, []string{"show"}))
			break
		}
	}
	show("counts", a.command("stats"))
	fmt.Fprintf(a.stdout, "The sandbox ends with the demo; fencerow sandbox runs another. The folder %s can be deleted.\n", d.dir)
}
