package httpjob

import (
	"net/http"
	"strings"
	"time"
)

// maxRetryAfter caps the remote's wish: a slip of it must not put an operation to sleep for a year.
const maxRetryAfter = time.Hour

// retryAfter reads the Retry-After header: seconds, or a date, which is taken relative to the answer's own Date so that
// clocks need not agree. It gives 0 for everything else.
func retryAfter(header http.Header, now time.Time) time.Duration {
	text := strings.TrimSpace(header.Get("Retry-After"))
	if text == "" {
		return 0
	}
	if strings.Trim(text, "0123456789") == "" {
		seconds := strings.TrimLeft(text, "0")
		if len(seconds) > 4 {
			return maxRetryAfter
		}
		var n time.Duration
		for _, digit := range seconds {
			n = n*10 + time.Duration(digit-'0')
		}
		return min(n*time.Second, maxRetryAfter)
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	if date, err := http.ParseTime(header.Get("Date")); err == nil {
		now = date
	}
	return min(max(at.Sub(now), 0), maxRetryAfter)
}
