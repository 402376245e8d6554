// Package webhook receives what a remote tells of its jobs, as an http.Handler:
//
//	verify, err := webhook.HMAC{Header: "X-Signature", Secrets: [][]byte{secret}}.Verifier()
//	h, err := webhook.New(webhook.Config{Machine: m, Who: who, Verify: verify, Reader: reader})
//	http.Handle("/webhook", h)
//
// A call that is verified ends the operation that holds the remote job's id, without a lease and whoever observes it
// (contract C2, C6). One that comes again, late or out of order changes nothing; an end that contradicts the operation's
// is kept as its evidence; a call about a job that no operation holds is kept, and found when the answer of the
// submission that started the job is stored.
//
// What the package guarantees:
//
//   - A call is answered with 2xx only once it is stored, or where there is nothing to store. Where the database is away,
//     or does not answer in time, the answer is 503, and the remote calls again.
//   - A call that is not verified changes nothing.
//   - Bodies, times and the number of calls at once are bounded; a panic ends one call.
//   - Neither headers nor bodies are logged.
//
// What it does not: it asks no remote, and polling goes on as if there were no calls. A remote that says that it calls
// may not, so do not switch polling off.
package webhook
