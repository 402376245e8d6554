package httpjob

import (
	"fmt"
	"strings"
)

// Finding is one thing that is wrong with a provider file, and where.
type Finding struct {
	File    string
	Line    int // from 1
	Field   string
	Message string
}

// String is "file:line: field: message".
func (f Finding) String() string {
	if f.Field == "" {
		return fmt.Sprintf("%s:%d: %s", f.File, f.Line, f.Message)
	}
	return fmt.Sprintf("%s:%d: %s: %s", f.File, f.Line, f.Field, f.Message)
}

// FileError is everything that is wrong with a provider file, in the order of its lines.
type FileError struct {
	Findings []Finding
}

// Error gives one finding a line.
func (e *FileError) Error() string {
	lines := make([]string, len(e.Findings))
	for i, f := range e.Findings {
		lines[i] = f.String()
	}
	return strings.Join(lines, "\n")
}
