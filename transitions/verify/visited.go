package verify

import "hash/maphash"

// visited finds a state among the nodes. It holds their numbers and hashes only, where a map held every state once more:
// a search of millions of states spent a third of its time waiting for that memory.
type visited struct {
	seed  maphash.Seed
	slots []slot // a power of two, at most half of them in use
	used  int
}

// slot is a node's number + 1 and its state's hash, by which it has its place; 0 is a free one.
type slot struct {
	node int32
	hash uint32
}

func newVisited() *visited {
	return &visited{seed: maphash.MakeSeed(), slots: make([]slot, 1<<12)}
}

// add notes a state that is to be the next node, and reports false if it is one already.
func (v *visited) add(st *state, nodes []node) bool {
	hash := uint32(maphash.Comparable(v.seed, *st))
	at := v.place(hash)
	for ; v.slots[at].node != 0; at = v.after(at) {
		if s := v.slots[at]; s.hash == hash && nodes[s.node-1].state == *st {
			return false
		}
	}
	v.slots[at] = slot{int32(len(nodes)) + 1, hash}
	if v.used++; 2*v.used > len(v.slots) {
		v.grow()
	}
	return true
}

func (v *visited) place(hash uint32) int { return int(hash) & (len(v.slots) - 1) }

func (v *visited) after(at int) int { return (at + 1) & (len(v.slots) - 1) }

func (v *visited) grow() {
	full := v.slots
	v.slots = make([]slot, 2*len(full))
	for _, s := range full {
		if s.node == 0 {
			continue
		}
		at := v.place(s.hash)
		for v.slots[at].node != 0 {
			at = v.after(at)
		}
		v.slots[at] = s
	}
}
