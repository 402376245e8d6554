package sqlitestore

// AlwaysGather sends a lone event too the way of those that share a transaction.
func AlwaysGather(o Options) Options {
	o.GroupCommit, o.alwaysGather = true, true
	return o
}

// Waiting is how many calls wait for company.
func (s *Store) Waiting() int {
	s.gather.mu.Lock()
	defer s.gather.mu.Unlock()
	return len(s.gather.waiting)
}
