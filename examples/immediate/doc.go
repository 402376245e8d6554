// Package immediate shows the standard lifecycle cut down to a request whose own answer is already final: a payment that
// is booked at once, a text that comes back in the response. Nothing is observed; what is left is what keeps a request
// from being sent twice. table.go is the only file that says so; go generate and make golden PKG=./examples/immediate
// make the rest.
package immediate

//go:generate go run ./generate
