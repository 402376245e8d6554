package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/transitions"
)

// stored is what is kept of an operation of the input that the database knew before.
type stored struct {
	untouched bool // as far as this database knows, it was never sent or provably created nothing, and nobody decided about it
	delivers  bool // its result is brought home
}

func storedOf(op machine.Operation) stored {
	return stored{
		untouched: op.Phase == transitions.Prepared && op.NotCreatedRevision == 0,
		delivers:  op.WantsDelivery,
	}
}

// warn says before anything is sent what cannot be mended afterwards: whether results are brought home is stored with
// each operation when it is prepared.
func (b *batch) warn() {
	fetched, not := 0, 0
	for _, known := range b.stored {
		if known.delivers {
			fetched++
		} else {
			not++
		}
	}
	switch fresh := len(b.in.Items) - len(b.stored); {
	case !b.spec.WantsDelivery() && fresh > 0:
		b.app.sayf("fencerow: warning: the results of %d operations are not fetched, and cannot be fetched later for these: %s has no deliver section, and that is stored with each when it is prepared", fresh+not, b.spec.File)
	case not > 0:
		b.app.sayf("fencerow: warning: the results of %d operations are not fetched, and cannot be fetched later for these: they were prepared with a provider file that had no deliver section", not)
	}
}

// conflicts gathers the operations that were prepared before with another request, provider, account or kind.
type conflicts struct {
	app         *app
	file        string
	lines       []string
	count, sent int
}

// maxConflicts is how many are told one by one.
const maxConflicts = 20

func (c *conflicts) add(line int, r machine.Request, existing machine.Operation) {
	var conflict *machine.ConflictError
	if !errors.As(machine.Conflict(r, existing), &conflict) {
		return
	}
	c.count++
	if existing.Attempts > 0 && existing.Phase != transitions.Prepared {
		c.sent++
	}
	if len(c.lines) < maxConflicts {
		c.lines = append(c.lines, fmt.Sprintf("%s:%d: operation %q was prepared before with another %s; %s",
			c.file, line, r.OperationID, differences(r, existing, conflict.Differs), whereabouts(existing)))
	}
}

// differences says in what a request is another than the stored one.
func differences(r machine.Request, existing machine.Operation, columns []string) string {
	var parts []string
	if contains(columns, "request") {
		part := "request"
		if compact(r.Request) == compact(existing.Request) {
			part = "request (only its white space differs)"
		}
		parts = append(parts, part)
	}
	for _, d := range []struct{ name, now, before string }{
		{"kind", r.Kind, existing.Kind}, {"provider", r.Provider, existing.Provider}, {"account", r.Account, existing.Account},
	} {
		if d.now != d.before {
			parts = append(parts, fmt.Sprintf("%s (%q then, %q now)", d.name, d.before, d.now))
		}
	}
	return strings.Join(parts, " and another ")
}

// compact writes JSON without white space between its parts.
func compact(text []byte) string {
	var b bytes.Buffer
	if json.Compact(&b, text) != nil {
		return string(text)
	}
	return b.String()
}

// whereabouts says whether an operation was sent, and what became of it.
func whereabouts(op machine.Operation) string {
	switch {
	case op.Attempts == 0 && op.Outcome != "":
		return "it was never sent, and is " + op.Outcome
	case op.Attempts == 0:
		return "it was not sent yet"
	case op.Phase == transitions.Prepared:
		return "sending it was tried, provably without creating anything, and will be tried again"
	case op.Phase == transitions.Uncertain:
		return "it was sent, and it is uncertain what came of it (" + op.UncertainReason + ")"
	case op.Delivery == "delivered":
		return "it was sent and delivered"
	case op.Outcome != "":
		text := "it was sent, and " + op.Outcome
		if op.Delivery != "" {
			text += ", delivery " + op.Delivery
		}
		return text
	}
	return "it was sent, and is " + op.Phase
}

// err is nil if there are none. It gives the advice in the order of what it costs.
func (c *conflicts) err() error {
	if c.count == 0 {
		return nil
	}
	text := strings.Join(c.lines, "\n")
	if more := c.count - len(c.lines); more > 0 {
		text += fmt.Sprintf("\nand %d more", more)
	}
	if c.count > 1 {
		text += fmt.Sprintf("\n%d operations of %s were prepared before with another request, provider, account or kind; %d of them were sent", c.count, c.file, c.sent)
	}
	return usagef("%s\nnothing was prepared and nothing was sent\n%s\n%s", text,
		"If these are not meant to be new requests, put back the request or the provider file that they were prepared with ("+c.app.command("show", "ID")+" has them), and run it again.",
		"A new id is a new purchase: give one only to what is to be bought in addition.")
}
