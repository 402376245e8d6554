package sandbox

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"net/http"
	"strconv"
)

// resultSize is how long every result is.
const resultSize = 8 << 10

// Result gives the bytes that a job of this request ends in, so that a test can tell whether the right ones came home.
func Result(request []byte) []byte {
	var b bytes.Buffer
	sum := sha256.Sum256(request)
	fmt.Fprintf(&b, "fencerow sandbox result of %x\n", sum)
	for b.Len() < resultSize {
		sum = sha256.Sum256(sum[:])
		b.Write(sum[:])
	}
	return b.Bytes()[:resultSize]
}

// file serves a job's result.
func (s *Sandbox) file(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	j, ok := s.jobs[r.PathValue("id")]
	code, fault, operation := http.StatusOK, "", ""
	switch {
	case !ok || s.phase(j) != "succeeded":
		code = http.StatusNotFound
	case j.meets(ExpiredURL) && r.URL.Query().Get("issue") != "2":
		code, fault, j.renewed = http.StatusForbidden, ExpiredURL, true
	default:
		j.downloads++
		if j.meets(CutDownload) && j.downloads == 1 {
			fault = CutDownload
		}
	}
	if ok {
		operation = j.operation
	}
	s.noteLocked(Request{Method: r.Method, Path: r.URL.RequestURI(), Operation: operation, Fault: fault, Status: code})
	s.mu.Unlock()
	switch {
	case code == http.StatusNotFound:
		writeJSON(w, code, map[string]string{"error": "there is no such file"})
	case code == http.StatusForbidden:
		writeJSON(w, code, map[string]string{"error": "the address has expired"})
	case fault == CutDownload:
		w.Header().Set("Content-Type", "application/octet-stream")
		cutAfter(w, http.StatusOK, Result(j.request), resultSize/2)
	default:
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Header().Set("Content-Length", strconv.Itoa(resultSize))
		_, _ = w.Write(Result(j.request))
	}
}
