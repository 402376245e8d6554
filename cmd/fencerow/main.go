// Command fencerow drives operations that must not be sent twice: a file of requests against a remote API, or what
// other programs have prepared, with the reviews and reports that an operator needs.
//
// Every verb is one file. What it promises is the library's promise; what it adds is wiring and words.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	os.Exit(run(signals(context.Background()), os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.LookupEnv))
}

// oneSignal is the time in which further signals belong to the first: timeout(1) and some supervisors signal a process
// and then its group, which is one wish to stop and reaches the process twice.
const oneSignal = 500 * time.Millisecond

// signals gives a context that the first SIGINT or SIGTERM ends, so that work is drained. One that comes later than
// oneSignal after it ends the process at once.
func signals(parent context.Context) context.Context {
	ctx, cancel := context.WithCancel(parent)
	heard := make(chan os.Signal, 8)
	signal.Notify(heard, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-heard
		cancel()
		for first := time.Now(); time.Since(first) < oneSignal; {
			<-heard
		}
		fmt.Fprintln(os.Stderr, "fencerow: ended at once: what was in flight will be uncertain when its leases have run out")
		os.Exit(exitError)
	}()
	return ctx
}
