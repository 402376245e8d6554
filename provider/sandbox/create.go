package sandbox

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxRequest bounds a request's body.
const maxRequest = 16 << 20

// order is what a POST asks for.
type order struct {
	operation string
	faults    []string
	body      []byte
}

// parseOrder reads a request. Only "op" and "fault" mean anything to the sandbox.
func (s *Sandbox) parseOrder(body []byte) (order, error) {
	o := order{operation: fmt.Sprintf("sha256:%x", sha256.Sum256(body)), body: body}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil {
		return o, fmt.Errorf("the request is no JSON object: %w", err)
	}
	var name string
	if json.Unmarshal(fields["op"], &name) == nil && name != "" {
		o.operation = name
	}
	raw, given := fields["fault"]
	if !given {
		o.faults = s.faultsFor(o.operation)
		return o, nil
	}
	var one string
	if json.Unmarshal(raw, &one) == nil {
		o.faults = []string{one}
	} else if err := json.Unmarshal(raw, &o.faults); err != nil {
		return o, fmt.Errorf("the field fault is neither a name nor a list of names")
	}
	o.faults = slices.DeleteFunc(o.faults, func(name string) bool { return name == "" || name == "none" })
	for _, name := range o.faults {
		if !isFault(name) {
			return o, fmt.Errorf("there is no fault %q: known are none, %s", name, faultNames())
		}
	}
	return o, nil
}

func (o order) meets(fault string) bool { return slices.Contains(o.faults, fault) }

// create takes a POST. It counts before it acts, so that the count holds whatever becomes of the answer.
func (s *Sandbox) create(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	if err != nil {
		s.note(Request{Method: r.Method, Path: r.URL.RequestURI()})
		writeJSON(w, http.StatusBadRequest, map[string]string{"error": "the request could not be read: " + err.Error()})
		return
	}
	o, err := s.parseOrder(body)
	first := s.arrive(o.operation) == 1
	if err != nil {
		s.record(r, o, "", http.StatusBadRequest)
		writeJSON(w, http.StatusBadRequest, map[string]string{"error": err.Error()})
		return
	}
	if s.refuses(w, r, o, first) {
		return
	}
	fault := ""
	for _, name := range []string{AcceptCut, Accept500, NoID, BlankID, Stall, HalfAnswer, HTML, Slow} {
		if o.meets(name) && first {
			fault = name
			break
		}
	}
	s.answerCreated(w, r, s.accept(r, o, fault), fault)
}

// refuses answers without creating a job if a fault says so.
func (s *Sandbox) refuses(w http.ResponseWriter, r *http.Request, o order, first bool) bool {
	say := func(fault string, status int, text string) bool {
		s.record(r, o, fault, status)
		writeJSON(w, status, map[string]string{"error": text})
		return true
	}
	switch {
	case o.meets(Reject422):
		return say(Reject422, http.StatusUnprocessableEntity, "the prompt is not allowed")
	case o.meets(NoCredit):
		return say(NoCredit, http.StatusPaymentRequired, "the account has no credit")
	case o.meets(Refuse429) && first:
		w.Header().Set("Retry-After", strconv.Itoa(int((s.opts.RetryAfter+time.Second-1)/time.Second)))
		return say(Refuse429, http.StatusTooManyRequests, "too many requests")
	case o.meets(Error500) && first:
		return say(Error500, http.StatusInternalServerError, "something went wrong")
	case o.meets(Redirect307) && first:
		w.Header().Set("Location", baseURL(r)+"/v1/generations")
		return say(Redirect307, http.StatusTemporaryRedirect, "moved")
	}
	return false
}

// arrive counts a request that was read to its end, before anything is done with it, and gives its number.
func (s *Sandbox) arrive(operation string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.count(operation)
	c.Received++
	return c.Received
}

// record counts a request that created no job.
func (s *Sandbox) record(r *http.Request, o order, fault string, status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.count(o.operation)
	c.Refused++
	c.Fault = fault
	s.noteLocked(Request{Method: r.Method, Path: r.URL.RequestURI(), Operation: o.operation, Fault: fault, Status: status})
}

// refuseUnread answers a POST whose key is wrong.
func (s *Sandbox) refuseUnread(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	o, _ := s.parseOrder(body)
	s.arrive(o.operation)
	s.record(r, o, "", http.StatusUnauthorized)
	writeJSON(w, http.StatusUnauthorized, map[string]string{"error": "the key is missing or wrong"})
}

// accept creates a job.
func (s *Sandbox) accept(r *http.Request, o order, fault string) *job {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.count(o.operation)
	c.Accepted++
	c.Fault = fault
	if fault == "" && len(o.faults) > 0 {
		c.Fault = o.faults[0]
	}
	id := fmt.Sprintf("gen-%x", sha256.Sum256(fmt.Appendf(nil, "%d/%s/%d", s.opts.Seed, o.operation, c.Accepted)))[:20]
	c.IDs = append(c.IDs, id)
	j := &job{id: id, operation: o.operation, faults: o.faults, request: o.body, created: s.opts.Now()}
	s.jobs[id] = j
	s.order = append(s.order, j)
	status := map[string]int{AcceptCut: 0, Stall: 0, Accept500: http.StatusInternalServerError, HTML: http.StatusOK}
	code, odd := status[fault]
	if !odd {
		code = http.StatusCreated
	}
	s.noteLocked(Request{Method: r.Method, Path: r.URL.RequestURI(), Operation: o.operation, Fault: c.Fault, Status: code})
	return j
}

// answerCreated tells of the job, or fails to.
func (s *Sandbox) answerCreated(w http.ResponseWriter, r *http.Request, j *job, fault string) {
	answer := s.describe(j, baseURL(r))
	answer.Status = "queued"
	answer.Output = nil
	switch fault {
	case AcceptCut:
		panic(http.ErrAbortHandler) // cuts the connection
	case Accept500:
		writeJSON(w, http.StatusInternalServerError, map[string]string{"error": "something went wrong"})
		return
	case NoID:
		writeJSON(w, http.StatusCreated, map[string]string{"status": "queued"})
		return
	case BlankID:
		answer.ID = "   "
	case Stall:
		wait(r, s.opts.StallFor)
		panic(http.ErrAbortHandler)
	case HalfAnswer:
		text, _ := json.Marshal(answer)
		cutAfter(w, http.StatusCreated, text, len(text)/2)
	case HTML:
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, "<!doctype html><title>Welcome</title><p>Your request is being processed.\n")
		return
	case Slow:
		wait(r, s.opts.SlowFor)
	}
	writeJSON(w, http.StatusCreated, answer)
}

// wait returns when d is over or the client has gone.
func wait(r *http.Request, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.Context().Done():
	}
}

// cutAfter announces all of body, sends n bytes of it and cuts the connection.
func cutAfter(w http.ResponseWriter, status int, body []byte, n int) {
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body[:n])
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

// baseURL is the sandbox's address as the client sees it.
func baseURL(r *http.Request) string {
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	return scheme + "://" + strings.TrimSuffix(r.Host, "/")
}
