package machine

import (
	"context"
	"sync"
)

// keyed are locks by name, for one process.
type keyed struct {
	mu   sync.Mutex
	held map[string]chan struct{} // closed when its holder unlocks
}

// lock waits until nobody else holds the name, or until ctx ends.
func (k *keyed) lock(ctx context.Context, name string) (unlock func(), err error) {
	for {
		k.mu.Lock()
		other, taken := k.held[name]
		if !taken {
			if k.held == nil {
				k.held = map[string]chan struct{}{}
			}
			mine := make(chan struct{})
			k.held[name] = mine
			k.mu.Unlock()
			return func() {
				k.mu.Lock()
				delete(k.held, name)
				k.mu.Unlock()
				close(mine)
			}, nil
		}
		k.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
