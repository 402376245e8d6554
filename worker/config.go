package worker

import (
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/transitions"
)

// The defaults of a Config.
const (
	DefaultSlots   = 16
	DefaultPoll    = time.Second
	DefaultDrain   = 30 * time.Second
	DefaultBrake   = 5
	DefaultHold    = 15 * time.Minute
	DefaultTimeout = 30 * time.Second
)

// The defaults of LookAgain and AskAgain.
var (
	defaultLookAgain = []time.Duration{time.Minute, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour}
	defaultAskAgain  = []time.Duration{10 * time.Second, time.Minute, 5 * time.Minute, 30 * time.Minute}
)

// Config is one worker process's share of the work of one provider and account.
type Config struct {
	Machine  *machine.Machine
	Who      machine.Who        // claims name it and take no other's
	Handlers map[string]Handler // by kind
	Slots    int                // operations worked on at once, per action; 0 means DefaultSlots

	// SubmitTimeout is the longest that a Submit may take. It must fit into the lease together with the margin
	// (contract A10); 0 means DefaultTimeout.
	SubmitTimeout time.Duration
	// Hold is the longest that an observation, a delivery or an investigation is renewed; 0 means DefaultHold. Its
	// handler's context ends within a lease after that. A Handler whose looks should end sooner bounds them itself.
	Hold time.Duration
	// Poll is how often the database is asked for due work while there is none; 0 means DefaultPoll. What becomes due
	// through the Machine's own store, in this process, is not waited for so long where that is a machine.Hearer.
	Poll time.Duration
	// Every and MaxEvery bound the time between two observations of one operation, growing with jitter.
	Every, MaxEvery time.Duration
	// LookAgain are the pauses after the first, the second and each further inconclusive investigation of an operation;
	// after one more a reviewer is left with it. Nil means 1m, 5m, 30m, 2h; empty, that there is one look.
	LookAgain []time.Duration
	// AskAgain are the least pauses between two times that the remote is asked to cancel a job that somebody wants
	// canceled and that has not ended; after one more it is asked no more. Nil means 10s, 1m, 5m, 30m; empty, that it
	// is asked once.
	AskAgain []time.Duration
	// Drain is what a request in flight gets at shutdown; 0 means DefaultDrain.
	Drain time.Duration
	// Brake is the number of submissions in a row with the same bad end that stop further sends; 0 means
	// DefaultBrake, a negative one switches the brake off.
	Brake int
	// MaxSends is the number of submissions begun at most; 0 means no bound.
	MaxSends int

	Log *slog.Logger // nil means slog.Default
	// Braked is called when the brake stops sends, with the reason, and with "" when they go on. It may be nil.
	Braked func(reason string)
	// Failpoint is called with the name of each step as it is reached; it may be nil. Tests stop, kill or cut off a
	// process there.
	Failpoint func(step string)
}

// withDefaults fills in what is not set and checks that the durations fit each other.
func (c Config) withDefaults() (Config, error) {
	if c.Machine == nil || len(c.Handlers) == 0 {
		return c, fmt.Errorf("worker: a machine and at least one handler are needed")
	}
	if transitions.IsBlank(c.Who.Provider) {
		return c, fmt.Errorf("worker: the provider is blank; claims must name it")
	}
	set := func(d *time.Duration, def time.Duration) {
		if *d == 0 {
			*d = def
		}
	}
	set(&c.SubmitTimeout, DefaultTimeout)
	set(&c.Hold, DefaultHold)
	set(&c.Poll, DefaultPoll)
	set(&c.Drain, DefaultDrain)
	set(&c.Every, 2*time.Second)
	set(&c.MaxEvery, 30*time.Second)
	if c.LookAgain == nil {
		c.LookAgain = defaultLookAgain
	}
	if c.AskAgain == nil {
		c.AskAgain = defaultAskAgain
	}
	if c.Slots == 0 {
		c.Slots = DefaultSlots
	}
	if c.Brake == 0 {
		c.Brake = DefaultBrake
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	lease := c.Machine.Config()
	if c.SubmitTimeout+lease.Margin > lease.TTL {
		return c, fmt.Errorf("worker: a submit timeout of %s and a margin of %s do not fit into a lease of %s; use a longer lease or a shorter timeout",
			c.SubmitTimeout, lease.Margin, lease.TTL)
	}
	if c.Slots < 0 || c.Every < 0 || c.MaxEvery < c.Every || c.Poll < 0 || c.Hold < 0 || c.Drain < 0 {
		return c, fmt.Errorf("worker: slots %d, every %s, max every %s, poll %s, hold %s, drain %s: none may be negative, and every not above max every",
			c.Slots, c.Every, c.MaxEvery, c.Poll, c.Hold, c.Drain)
	}
	for _, pauses := range [][]time.Duration{c.LookAgain, c.AskAgain} {
		if len(pauses) > 0 && slices.Min(pauses) < time.Millisecond {
			return c, fmt.Errorf("worker: pauses of %v before looking or asking again: each must be at least 1ms", pauses)
		}
	}
	return c, nil
}
