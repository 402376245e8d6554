package transitions

// The guards and effects below are those of which the standard lifecycle is made, for tables that extend it or that are
// made like it. Each call gives a value of its own.

// ClaimGuards are what a claim asks for beside its fence: that the work is the action's, that it is due, and that it is
// of the worker's own provider and account; then more.
func ClaimGuards(action string, more ...Guard) []Guard { return claim(action, more...) }

// ReviewerGiven is the guard that the parameter reviewer is not blank.
func ReviewerGiven() Guard { return gReviewer }

// ReasonGiven is the guard that the parameter reason is not blank.
func ReasonGiven() Guard { return gReason }

// TakeLease installs the parameter owner for ttl_ms and raises the revision: for claims, under the fence Vacant.
func TakeLease() Effect { return take.Without() }

// ReleaseLease gives the lease up and leaves the revision: for events of the lease holder, under the fence Held.
func ReleaseLease() Effect { return release.Without() }

// ClearLease clears the lease and raises the revision: for everybody else who moves the operation, under the fences
// Vacant, Lapsed, Seen and Remote.
func ClearLease() Effect { return bump.Without() }

// Ends sets the outcome. Nothing is due afterwards.
func Ends(outcome string) Effect { return ends(outcome) }

// EndsWithResult sets the outcome succeeded, and makes the delivery due if it is wanted.
func EndsWithResult() Effect { return endsWithResult.Without() }

// KeepSnapshot stores the parameter snapshot where it is given.
func KeepSnapshot() Effect { return keepSnapshot.Without() }
