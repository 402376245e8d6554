package machine

import "context"

// Wake says that work of an action has become due at a provider's account.
type Wake struct {
	Action   string
	Provider string
	Account  string
	Kind     string `json:",omitempty"` // "" is any

	// OperationID names the operation, where it became due alone and repeats no other: whoever has nothing else to do may
	// take it by its id (ClaimAndBegin) instead of asking what is due. It is a hint like the rest, and may be anybody's:
	// what counts is the row.
	OperationID string `json:",omitempty"`
}

// Unnamed is the same wake-up without the operation's name.
func (w Wake) Unnamed() Wake {
	w.OperationID = ""
	return w
}

// Waker is implemented by a Store through which processes wake each other. A wake-up is a hint and no more: one may be
// lost or come for nothing, and whoever works asks the database by itself all the same, only less often (contract G3).
type Waker interface {
	// Wakes listens until ctx ends or the connection is lost. It calls ready once it listens: what became due before is
	// not told, nor what this store itself makes due while anybody hears it (Hearer): whoever wraps a store passes both on,
	// or neither. Calls come one at a time, and none after it has returned. A store that does not listen answers at once,
	// with an error that wraps errors.ErrUnsupported.
	Wakes(ctx context.Context, ready func(), heard func(Wake)) error
}
