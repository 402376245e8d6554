package pgstore

import (
	"encoding/binary"
	"io"
	"sync"

	"github.com/fencerow/fencerow/persist"
	"github.com/fencerow/fencerow/transitions"
)

// The binary format of COPY: a head, each row as the count of its fields and, of each, its length and its bytes. The
// encodings are those in which PostgreSQL's types receive.
const (
	copyHead = "PGCOPY\n\xff\r\n\x00\x00\x00\x00\x00\x00\x00\x00\x00"

	postgresEpoch = 946_684_800_000_000 // of its times, in Unix microseconds
	jsonbVersion  = 1
)

// appendRow appends a row of a table.
func appendRow(b []byte, to persist.Copied, v *transitions.Verdict, at transitions.Value) []byte {
	b = binary.BigEndian.AppendUint16(b, uint16(len(to.Columns)))
	for i := range to.Columns {
		if value := to.Columns[i].Value; value != nil {
			b = appendField(b, value(v, at))
			continue
		}
		start := len(b)
		b = append(b, 0, 0, 0, 0, jsonbVersion)
		b = transitions.AppendChanges(b, v.Entry.Changes)
		binary.BigEndian.PutUint32(b[start:], uint32(len(b)-start-4))
	}
	return b
}

func appendField(b []byte, v transitions.Value) []byte {
	switch v.Kind() {
	case transitions.Text, transitions.Bytes:
		b = binary.BigEndian.AppendUint32(b, uint32(len(v.Text())))
		return append(b, v.Text()...)
	case transitions.Int:
		b = binary.BigEndian.AppendUint32(b, 8)
		return binary.BigEndian.AppendUint64(b, uint64(v.Int()))
	case transitions.Bool:
		return append(b, 0, 0, 0, 1, bit(v.Bool()))
	case transitions.Time:
		b = binary.BigEndian.AppendUint32(b, 8)
		return binary.BigEndian.AppendUint64(b, uint64(v.Micros()-postgresEpoch))
	default:
		return append(b, 0xff, 0xff, 0xff, 0xff)
	}
}

func bit(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// copyReader is what is copied, made while it is read: pgx sends what is there while the server works.
type copyReader struct {
	more func(b []byte) ([]byte, bool) // appends something; false: that was the last

	mu   sync.Mutex
	left []byte // made, and not read
	made []byte // the memory of left
	last bool
}

// Read implements io.Reader. It fills p where it can: pgx sends a message each time.
func (r *copyReader) Read(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.left) < len(p) && !r.last {
		r.made = append(r.made[:0], r.left...)
		for len(r.made) < len(p) && !r.last {
			var more bool
			r.made, more = r.more(r.made)
			r.last = !more
		}
		r.left = r.made
	}
	if len(r.left) == 0 {
		return 0, io.EOF
	}
	n := copy(p, r.left)
	r.left = r.left[n:]
	return n, nil
}

// stop ends it. Where the connection broke pgx returns while it still reads.
func (r *copyReader) stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.left, r.last = nil, true
}
