package transitions

import (
	"fmt"
	"strings"
)

// Finding is one broken safety rule.
type Finding struct {
	Code string // stable, e.g. FR001
	Row  string // the event, phase or column at fault
	Text string // what is wrong
	Fix  string // what to do
}

// String writes the finding on one line.
func (f Finding) String() string {
	return fmt.Sprintf("%s %s: %s; %s", f.Code, f.Row, f.Text, f.Fix)
}

// CheckError holds every finding of a table.
type CheckError struct {
	Table    string
	Findings []Finding
}

// Error lists the findings, one a line.
func (e *CheckError) Error() string {
	lines := make([]string, len(e.Findings))
	for i, f := range e.Findings {
		lines[i] = f.String()
	}
	return fmt.Sprintf("check table %s: %d findings:\n%s", e.Table, len(e.Findings), strings.Join(lines, "\n"))
}

// Check holds a table against every safety rule and returns all findings.
func Check(t Table) []Finding {
	return nil
}
