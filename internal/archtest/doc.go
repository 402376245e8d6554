// Package archtest holds tests of the project's shape: which package may
// import what and why, how long a file or a function may grow, and the house
// rules that a reader would otherwise have to enforce in review. It has no code
// of its own.
package archtest
