package httpjob_test

import (
	"os"
	"strings"
	"testing"

	"github.com/fencerow/fencerow/provider/httpjob"
)

func TestTheFilesInTheDocumentationAreGood(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/providers.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(text), "```yaml\n")[1:]
	if len(blocks) == 0 {
		t.Fatal("there are none")
	}
	for _, block := range blocks {
		file, _, _ := strings.Cut(block, "```")
		if _, err := httpjob.Parse("docs/providers.md", []byte(file), func(string) (string, bool) { return "bG9uZyBlbm91Z2g=", true }); err != nil {
			t.Error(err)
		}
	}
}
