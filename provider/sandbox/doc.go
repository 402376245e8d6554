// Package sandbox is a remote generation API for trying things out and for tests: it creates jobs, lets them go on by
// wall time, serves their results, and goes wrong in the ways that such APIs do.
//
//	POST /v1/generations              creates a job of any JSON object
//	GET  /v1/generations/{id}         its status
//	GET  /v1/generations?op=NAME      the jobs of one operation
//	POST /v1/generations/{id}/cancel  cancels it
//	GET  /v1/files/{id}               its result, a function of the request (see Result)
//	GET  /_sandbox/counts             what arrived, per operation
//	GET  /_sandbox/requests           every request, in the order of arrival
//
// It counts what arrived before it acts, by the operation that a request names in its field "op" (the hash of the
// body if it names none). Like the APIs that it stands for it knows no idempotency key: a request that is sent twice
// creates two jobs, and the count shows it.
//
// Faults (see Faults) are chosen by the request's own field "fault", or by the seed and the operation from
// Options.Faults: the same seed and operation always meet the same fault. State is in memory and ends with the process.
package sandbox
