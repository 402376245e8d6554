package sandbox

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"
)

// job is one generation.
type job struct {
	id        string
	operation string
	faults    []string
	request   []byte
	created   time.Time
	canceled  bool

	doneReads int  // how often the status was read since the job was done
	downloads int  // how often the result was asked for
	renewed   bool // the expired address was seen, the status gives another
}

// view is a job as the API shows it.
type view struct {
	ID     string            `json:"id"`
	Op     string            `json:"op"`
	Status string            `json:"status"`
	Error  *string           `json:"error"`
	Output *output           `json:"output"`
	URLs   map[string]string `json:"urls"`
}

type output struct {
	URL string `json:"url"`
}

func (j *job) meets(fault string) bool { return slices.Contains(j.faults, fault) }

// phase is where the job is by wall time.
func (s *Sandbox) phase(j *job) string {
	age := s.opts.Now().Sub(j.created)
	switch {
	case j.canceled:
		return "canceled"
	case age < s.opts.Queued:
		return "queued"
	case age < s.opts.Queued+s.opts.Running:
		return "running"
	case j.meets(FailedJob):
		return "failed"
	case j.meets(CanceledJob):
		return "canceled"
	}
	return "succeeded"
}

// describe shows the job; it does not count as a look at it.
func (s *Sandbox) describe(j *job, base string) view {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.describeLocked(j, base)
}

func (s *Sandbox) describeLocked(j *job, base string) view {
	address := base + "/v1/generations/" + url.PathEscape(j.id)
	v := view{ID: j.id, Op: j.operation, Status: s.phase(j), URLs: map[string]string{"get": address, "cancel": address + "/cancel"}}
	switch v.Status {
	case "failed":
		why := "the model ran out of memory"
		v.Error = &why
	case "succeeded":
		issue := 1
		if j.renewed {
			issue = 2
		}
		v.Output = &output{URL: base + "/v1/files/" + url.PathEscape(j.id) + "?issue=" + strconv.Itoa(issue)}
	}
	return v
}

// status answers a look at a job.
func (s *Sandbox) status(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	j, ok := s.jobs[r.PathValue("id")]
	if !ok || j.meets(Late404) && s.opts.Now().Sub(j.created) < s.opts.LateFor {
		fault, operation := "", ""
		if ok {
			fault, operation = Late404, j.operation
		}
		s.noteLocked(Request{Method: r.Method, Path: r.URL.RequestURI(), Operation: operation, Fault: fault, Status: http.StatusNotFound})
		s.mu.Unlock()
		writeJSON(w, http.StatusNotFound, map[string]string{"error": "there is no such generation"})
		return
	}
	v := s.describeLocked(j, baseURL(r))
	fault := ""
	switch {
	case v.Status == "succeeded":
		j.doneReads++
		if j.meets(GoesBack) && (j.doneReads == 2 || j.doneReads == 3) {
			fault, v.Status, v.Output = GoesBack, "running", nil
		}
	case j.meets(OddWord) && (v.Status == "queued" || v.Status == "running"):
		fault, v.Status = OddWord, "warming_up"
	}
	s.noteLocked(Request{Method: r.Method, Path: r.URL.RequestURI(), Operation: j.operation, Fault: fault, Status: http.StatusOK})
	s.mu.Unlock()
	writeJSON(w, http.StatusOK, v)
}

// list answers with the jobs of one operation, or with all of them, in the order of their creation.
func (s *Sandbox) list(w http.ResponseWriter, r *http.Request) {
	operation, asked := r.URL.Query().Get("op"), r.URL.Query().Has("op")
	views := []view{}
	s.mu.Lock()
	for _, j := range s.order {
		if !asked || j.operation == operation {
			views = append(views, s.describeLocked(j, baseURL(r)))
		}
	}
	s.noteLocked(Request{Method: r.Method, Path: r.URL.RequestURI(), Operation: operation, Status: http.StatusOK})
	s.mu.Unlock()
	writeJSON(w, http.StatusOK, map[string][]view{"data": views})
}

// cancel ends a job that is not done.
func (s *Sandbox) cancel(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	j, ok := s.jobs[r.PathValue("id")]
	code := http.StatusOK
	var v view
	switch {
	case !ok:
		code = http.StatusNotFound
	case s.phase(j) == "queued" || s.phase(j) == "running":
		j.canceled = true
	case s.phase(j) != "canceled":
		code = http.StatusConflict
	}
	if ok {
		v = s.describeLocked(j, baseURL(r))
	}
	s.noteLocked(Request{Method: r.Method, Path: r.URL.RequestURI(), Operation: v.Op, Status: code})
	s.mu.Unlock()
	switch code {
	case http.StatusNotFound:
		writeJSON(w, code, map[string]string{"error": "there is no such generation"})
	case http.StatusConflict:
		writeJSON(w, code, map[string]string{"error": "the generation is already " + v.Status})
	default:
		writeJSON(w, code, v)
	}
}
