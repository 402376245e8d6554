package main

import "strconv"

// target is what the median of a figure ought to come to. The zero target asks for nothing.
type target struct {
	bound float64
	most  bool // the median ought to be no greater; else no less
}

func atLeast(bound float64) target { return target{bound: bound} }

func atMost(bound float64) target { return target{bound: bound, most: true} }

func (t target) set() bool { return t != target{} }

// met judges the median as it was measured, not as it is rounded to be told.
func (t target) met(median float64) bool {
	if t.most {
		return median <= t.bound
	}
	return median >= t.bound
}

// judge is "at least 15, not met"; nothing where nothing is asked for.
func (t target) judge(median float64) string {
	if !t.set() {
		return ""
	}
	says := "at least "
	if t.most {
		says = "at most "
	}
	says += strconv.FormatFloat(t.bound, 'g', -1, 64)
	if t.met(median) {
		return says + ", met"
	}
	return says + ", not met"
}
