// Package embed shows how a program of one's own prepares operations in its own transactions, runs a worker, and reads
// the outcome. Its example is the one in the README.
package embed
