package transitions

import "slices"

// reach gives the phases that can be come to from some phases, those themselves included. It does not go on from a
// phase in which it is told to stop.
func (s *survey) reach(starts []string, stop func(*Phase) bool) map[string]bool {
	seen := map[string]bool{}
	for len(starts) > 0 {
		at := starts[0]
		starts = starts[1:]
		if seen[at] || s.phase[at] == nil {
			continue
		}
		seen[at] = true
		if stop(s.phase[at]) {
			continue
		}
		for _, d := range s.deeds {
			if to := s.lands(d, at); to != nil && slices.Contains(d.from, at) {
				starts = append(starts, to.Name)
			}
		}
	}
	return seen
}

func never(*Phase) bool { return false }

func checkReachable(s *survey, found report) {
	var first []string
	for _, d := range s.deeds {
		if d.New {
			first = append(first, d.To)
		}
	}
	if len(first) == 0 {
		return // everything would be unreachable; that nothing is created is the finding
	}
	seen := s.reach(first, never)
	for _, ph := range s.Phases {
		if !seen[ph.Name] {
			found(ph.Name, "no event leads to this phase", "add the event that does, or drop the phase")
		}
	}
}

// exits lists the events that change a phase.
func (s *survey) exits(phase string) []*deed {
	var out []*deed
	for _, d := range s.deeds {
		if to := s.lands(d, phase); slices.Contains(d.from, phase) && to != nil && to.Name != phase {
			out = append(out, d)
		}
	}
	return out
}

func checkWayOut(s *survey, found report) {
	for _, ph := range s.Phases {
		if !ph.isFinal() && len(s.exits(ph.Name)) == 0 {
			found(ph.Name, "no event leads out of this phase, and it is no end", "add a way out, or mark it HasOutcome if an operation may rest there")
		}
	}
}

func checkWayToAnEnd(s *survey, found report) {
	var trapped []string
	for _, ph := range s.Phases {
		if len(s.exits(ph.Name)) == 0 {
			continue // an end, or a finding of its own
		}
		seen := s.reach([]string{ph.Name}, never)
		if !slices.ContainsFunc(s.Phases, func(end Phase) bool { return seen[end.Name] && (end.isFinal() || len(s.exits(end.Name)) == 0) }) {
			trapped = append(trapped, ph.Name)
		}
	}
	if len(trapped) > 0 {
		found(list(trapped), "events lead on from here for ever and never to an end", "add a way to a phase that has an outcome and no lease holder")
	}
}

// A holder that died leaves its lease behind. What was under way must go on without it: by an event for whose firing
// nobody holds a lease, or by a claim that puts another holder in its place.
func checkDeadHolder(s *survey, found report) {
	for _, ph := range s.Phases {
		exits := s.exits(ph.Name)
		if ph.isFinal() || len(exits) == 0 {
			continue
		}
		without := func(d *deed) bool { return d.Fence == Vacant || d.Fence == Lapsed || d.Fence == Seen }
		replaced := slices.ContainsFunc(s.deeds, func(d *deed) bool {
			return d.takesLease() && without(d) && slices.Contains(d.from, ph.Name)
		})
		if !replaced && !slices.ContainsFunc(exits, without) {
			found(ph.Name, "every way out needs a lease holder that may be dead, or a word from the remote that may never come",
				"add an event fenced lapsed or seen, or a claim that replaces the holder")
		}
	}
}
