// Package workertest holds a Handler of one's own to the rule that costs the most when it is broken: one call of Submit,
// one request. Vendors' clients, and Go's own under some conditions, send again beneath their caller; SendsOnce counts.
package workertest
