// Package lostjobs tests what the engine asks a remote beside sending and observing: to list the job of an operation of
// which nobody knows whether one exists, and to cancel a job that nobody wants any more (contract D4; lifecycle,
// investigate and cancel events). Each test runs on every store, with the HTTP provider and a real HTTP server that counts
// what reaches it. The schedules themselves, over hours of synthetic time, are tested in worker. It exports nothing.
package lostjobs
