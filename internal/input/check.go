package input

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/fencerow/fencerow/machine"
)

// MaxLine is the number of bytes that a line may have.
const MaxLine = 10 << 20

// maxFindings is the number of bad lines that are told one by one.
const maxFindings = 20

// Finding is one bad line.
type Finding struct {
	Line   int
	Reason string
}

// BadError holds the bad lines of a file: the first ones, and how many more there are.
type BadError struct {
	File     string
	Findings []Finding
	More     int
}

// Error gives one finding a line, as file:line: reason.
func (e *BadError) Error() string {
	lines := make([]string, 0, len(e.Findings)+1)
	for _, f := range e.Findings {
		lines = append(lines, fmt.Sprintf("%s:%d: %s", e.File, f.Line, f.Reason))
	}
	if e.More > 0 {
		lines = append(lines, fmt.Sprintf("and %d more bad lines", e.More))
	}
	return strings.Join(lines, "\n")
}

func (e *BadError) add(line int, reason string) {
	if len(e.Findings) < maxFindings {
		e.Findings = append(e.Findings, Finding{line, reason})
	} else {
		e.More++
	}
}

var bom = []byte("\xef\xbb\xbf")

// check reads every line and keeps what is needed to find its request again.
func (f *File) check(r io.Reader, kind string) error {
	lines := &lineReader{r: bufio.NewReaderSize(r, 64<<10)}
	bad := &BadError{File: f.Name}
	first := map[string]int{} // id → line
	for {
		line, at, err := lines.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil && !errors.Is(err, errTooLong) {
			return fmt.Errorf("reading %s: line %d: %w", f.Name, lines.number, err)
		}
		if err != nil {
			bad.add(lines.number, err.Error())
			continue
		}
		if lines.number == 1 && bytes.HasPrefix(line, bom) {
			line, at = line[len(bom):], at+int64(len(bom))
		}
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		item, request, err := parse(line, kind)
		if err == nil {
			err = storable(item, request, kind)
		}
		if before, twice := first[item.ID]; err == nil && twice {
			err = fmt.Errorf("id %q is on line %d already; an id names one request", item.ID, before)
		}
		if err != nil {
			bad.add(lines.number, err.Error())
			continue
		}
		first[item.ID] = lines.number
		item.Line, item.Size = lines.number, len(request)
		item.offset += at
		item.sum = sha256.Sum256(request)
		f.Items = append(f.Items, item)
	}
	if len(bad.Findings) > 0 {
		return bad
	}
	return nil
}

// storable holds an item against what the machine would refuse later.
func storable(item Item, request []byte, kind string) error {
	return machine.Request{OperationID: item.ID, Kind: kind, Request: request}.Validate()
}

// errTooLong says that a line is longer than MaxLine.
var errTooLong = fmt.Errorf("the line has more than %d bytes (10 MiB)", MaxLine)

// lineReader gives lines without their end. A line that is too long is passed over without being kept.
type lineReader struct {
	r      *bufio.Reader
	number int   // of the last line
	offset int64 // after the last line
	buf    []byte
}

// next gives a line and where it starts; the bytes are good until the next call.
func (l *lineReader) next() ([]byte, int64, error) {
	start := l.offset
	l.number++
	l.buf = l.buf[:0]
	for long := false; ; {
		part, err := l.r.ReadSlice('\n')
		l.offset += int64(len(part))
		// Two bytes more than allowed may be the line's end.
		if !long && len(l.buf)+len(part) > MaxLine+2 {
			long = true
		}
		if !long {
			l.buf = append(l.buf, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && l.offset == start:
			return nil, start, io.EOF
		case err != nil && !errors.Is(err, io.EOF):
			return nil, start, err
		}
		line := bytes.TrimSuffix(bytes.TrimSuffix(l.buf, []byte("\n")), []byte("\r"))
		if long || len(line) > MaxLine {
			return nil, start, errTooLong
		}
		return line, start, nil
	}
}
