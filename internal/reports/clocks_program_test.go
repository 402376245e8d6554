package reports_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/transitions"
)

var howOld = regexp.MustCompile(`"age_ms":[0-9]+`)

// B48: the program says the same instants in every time zone that its process may have, in words that tell their offset
// (RFC 3339), and they are the database's.
func TestB48TheProgramTellsTheSameInstantsInEveryZone(t *testing.T) {
	t.Parallel()
	binary := filepath.Join(t.TempDir(), "fencerow")
	if out, err := exec.Command("go", "build", "-buildvcs=false", "-o", binary, "github.com/fencerow/fencerow/cmd/fencerow").CombinedOutput(); err != nil {
		t.Fatalf("build the program: %v\n%s", err, out)
	}
	onDatabases(t, func(t *testing.T, s *stand) {
		l := s.at(transitions.Prepared, requestOf("a"))
		var said []string
		for _, zone := range zones {
			cmd := exec.Command(binary, "show", "a", "--json")
			cmd.Env = append(os.Environ(), "FENCEROW_DB="+s.url, "TZ="+zone)
			var stderr strings.Builder
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("show: %v\n%s", err, stderr.String())
			}
			said = append(said, howOld.ReplaceAllString(string(out), `"age_ms":0`)) // the one value that counts from now
		}
		for i := range said[1:] {
			if diff := cmp.Diff(said[0], said[i+1]); diff != "" {
				t.Errorf("%s and %s (-want +got):\n%s", zones[0], zones[i+1], diff)
			}
		}
		var shown struct {
			LeaseUntil string `json:"lease_until"`
			CreatedAt  string `json:"created_at"`
		}
		if err := json.Unmarshal([]byte(strings.SplitN(said[0], "\n", 2)[0]), &shown); err != nil {
			t.Fatalf("%v in %s", err, said[0])
		}
		for text, want := range map[string]time.Time{shown.LeaseUntil: l.Operation.LeaseUntil, shown.CreatedAt: l.Operation.CreatedAt} {
			at, err := time.Parse(time.RFC3339Nano, text)
			if err != nil || !at.Equal(want) {
				t.Errorf("the program says %q (%v), the store %s", text, err, want)
			}
		}
	})
}
