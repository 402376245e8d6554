package presets_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/worker"
)

// A preset asks the API to cancel a job as the API's documentation says, with its key, and otherwise says that it cannot.
// That it cannot look for a lost job goes for all of them.
func TestAPresetCancelsWhereItsAPIDocumentsHow(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r *remote) {
		h, _ := r.open()
		a := r.accepted(h)
		if r.cancel != "" {
			r.set(r.cancel, http.StatusAccepted, `{"status":"CANCELLATION_REQUESTED"}`)
		}
		got, err := h.Cancel(t.Context(), worker.Cancellation{OperationID: "op-1", Kind: "video", RemoteJobID: a.RemoteJobID, Keep: a.Keep})
		if _, looked := h.Investigate(t.Context(), worker.Investigation{OperationID: "op-1", Kind: "video"}); !errors.Is(looked, errors.ErrUnsupported) {
			t.Errorf("looking for a lost job: %v", looked)
		}
		if r.cancel == "" {
			if !errors.Is(err, errors.ErrUnsupported) || len(r.atAPI) != 1 {
				t.Errorf("got %v, and %d requests", err, len(r.atAPI))
			}
			return
		}
		if err != nil || !strings.HasSuffix(got.Detail, "answered 202 Accepted") {
			t.Errorf("got %+v, %v", got, err)
		}
		last := r.atAPI[len(r.atAPI)-1]
		if diff := cmp.Diff([]string{r.cancel, "", r.headers["Authorization"]}, []string{last.What, last.Body, last.header.Get("Authorization")}); diff != "" {
			t.Error(diff)
		}
	})
}
