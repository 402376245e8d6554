package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// The ways in which a person settles what nobody here can know.
const (
	attach     = "attach"
	notCreated = "not-created"
	abandon    = "abandon"
)

// review settles what is uncertain with the program's own verbs, and sees it to its end.
func (o *ordeal) review() {
	o.Helper()
	if !strings.HasPrefix(o.now(), "uncertain") {
		return
	}
	before := o.remote.Counts()[only]
	switch o.step.review {
	case attach:
		o.decide(0, attach, "--remote-job-id", before.IDs[0])
	case notCreated:
		// Within the quarantine an old sender might still send.
		if said := o.decide(1, notCreated); !strings.Contains(said, "quarantine") {
			o.Errorf("within the quarantine it says\n%s", said)
		}
		if err := o.exec("UPDATE fencerow_operations SET quarantine_until = updated_at"); err != nil {
			o.Fatal(err)
		}
		o.decide(0, notCreated)
	case abandon:
		o.decide(0, abandon)
	default:
		o.Fatalf("nothing says how a person settles that the operation is %s at %q", o.now(), o.step.name)
	}
	o.again()
	want := map[string]string{attach: home, notCreated: home, abandon: "abandoned"}[o.step.review]
	if got := o.now(); got != want {
		o.Errorf("after %s the operation is %s, want %s\n%s", o.step.review, got, want, o.stdout("show", only))
	}
	sent := map[string]int{notCreated: 1}[o.step.review]
	if after := o.remote.Counts()[only]; after.Received != before.Received+sent {
		o.Errorf("after %s the remote counts %d requests, and %d before", o.step.review, after.Received, before.Received)
	}
}

// decide runs a verb of review on what review list shows, and gives what it says.
func (o *ordeal) decide(want int, verb string, flags ...string) string {
	o.Helper()
	var listed struct {
		ID       string `json:"operation_id"`
		Revision int64  `json:"revision"`
		Evidence int64  `json:"evidence_seq"`
	}
	if err := json.Unmarshal([]byte(o.stdout("review", "list", "--json")), &listed); err != nil || listed.ID != only {
		o.Fatalf("review list shows %+v, %v", listed, err)
	}
	args := []string{"review", verb, only, "--reviewer", "ada", "--reason", "looked at the remote", "--seen", fmt.Sprintf("%d.%d", listed.Revision, listed.Evidence)}
	status, said := o.run(time.Minute, append(args, flags...)...)
	if status != want {
		o.Errorf("review %s ended with %d, want %d:\n%s", verb, status, want, said)
	}
	return said
}
