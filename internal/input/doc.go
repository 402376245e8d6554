// Package input reads a file of requests: one JSON object a line, each to become one operation.
//
// It guarantees that a file with a bad line gives no items at all, only findings; that a request's bytes are those of
// the line; and that memory holds the ids and one line at a time, never the file. A request is read again when it is
// needed and compared with what was checked.
package input
