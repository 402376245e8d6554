package main

import (
	"fmt"
	"os"
	"slices"
	"testing"
)

// lifetime is what the server is bound to: a run, which is no test.
type lifetime struct {
	testing.TB
	ends []func()
}

// Helper says nothing.
func (l *lifetime) Helper() {}

// Cleanup keeps f for the end of the run.
func (l *lifetime) Cleanup(f func()) { l.ends = append(l.ends, f) }

// Fatalf ends the run.
func (l *lifetime) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

// Fatal ends the run.
func (l *lifetime) Fatal(args ...any) { panic(fmt.Sprint(args...)) }

// Errorf tells of trouble at the end.
func (l *lifetime) Errorf(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

func (l *lifetime) end() {
	for _, f := range slices.Backward(l.ends) {
		f()
	}
}
