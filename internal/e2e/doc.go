// Package e2e tests the program as it is used: as a process, against a remote that counts, on real databases, killed
// and cut off at any moment.
package e2e
