// Package httpjob turns a provider file into the handler that the workers call.
//
// Most remote generation APIs have one shape: a POST creates a job and answers with its id, a GET tells the job's
// status, a URL gives the result. A provider file describes one such API; Load reads it and New makes a Handler of it:
//
//	spec, err := httpjob.Load("video.yaml")
//	handler, err := httpjob.New(spec, httpjob.Options{OutDir: "results"})
//
// What the package guarantees:
//
//   - Submit lets a request leave at most once. Each submission has its own connection, which carries HTTP/1.1, follows
//     no redirect, is never used again and takes no byte after Submission.SendBy.
//   - Submit claims no more than was proven. "Not sent" needs a connection that was never had or that was handed not
//     one byte; "refused", "rejected" and "accepted" need a whole answer whose end is marked; all else is unknown.
//   - Headers of the API reach its own origin (scheme, host and port) and no other, redirects included.
//   - A result appears under its key whole or not at all, stays inside the output folder and belongs to one operation.
//   - Values that headers take from the environment are cut out of everything that is handed back or logged.
//
// What it does not: it keeps no state about operations, retries nothing, and cannot know whether an answer in a list of
// the provider file means what the file says it means.
package httpjob
