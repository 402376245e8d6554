package httpjob_test

import (
	"context"
	"io"
	"net"
	"net/http/httputil"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/provider/httpjob"
	"github.com/fencerow/fencerow/worker"
)

// Contract B2, B5: the error of a cut request says how many bytes the connection carried, as the remote itself counts them.
func TestACutRequestTellsWhatItsConnectionCarried(t *testing.T) {
	t.Parallel()
	for name, said := range map[string]string{
		"nothing was said": "", "cut within the head": "HTTP/1.1 201 Cre", "cut within the body": "HTTP/1.1 201 Created\r\nContent-Length: 90\r\n\r\n{\"id\":",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			counted := make(chan int64, 1)
			remote := startRaw(t, nil, func(r *rawRemote, c net.Conn) {
				req, err := r.readRequest(c)
				if err != nil {
					t.Error(err)
					return
				}
				head, err := httputil.DumpRequest(req, false)
				if err != nil {
					t.Error(err)
				}
				counted <- int64(len(head)) + req.ContentLength
				_, _ = io.WriteString(c, said)
			})
			_, err := newHandler(t, "http://"+remote.addr, httpjob.Options{}).Submit(context.Background(), submission())
			want := &worker.Wire{Handed: <-counted, Received: int64(len(said))}
			if diff := cmp.Diff(want, submitError(t, err).Wire); diff != "" {
				t.Error(diff)
			}
		})
	}
}
