package main

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/fencerow/fencerow/machine"
)

const remoteSecret = "sk-live-5Zq8vT1nRk2L"

// hostile are answers of a remote to a submission, by operation. Each leaves it uncertain.
var hostile = map[string]func(http.ResponseWriter, *http.Request){
	"escapes": func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusInternalServerError)
		fmt.Fprint(w, "\x1b[2J\x1b[31mall is well\x1b[0m\r\x07\x9b31m")
	},
	"five megabytes": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(http.StatusBadGateway)
		fmt.Fprint(w, "<html>"+strings.Repeat("<p>Bad gateway</p>\n", 5<<20/19)+"</html>")
	},
	"no UTF-8": func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = w.Write([]byte("\xff\xfe\xc3\x28 caf\xe9"))
	},
	"NUL": func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = w.Write([]byte("a\x00b\x00"))
	},
	"right to left": func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusInternalServerError)
		fmt.Fprint(w, "\u202eexe.txt\u2066\u200b\u00ad\ufe0f")
	},
	"secret in the page": func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusInternalServerError)
		fmt.Fprintf(w, "<pre>POST /jobs\nAuthorization: %s\n</pre>", r.Header.Get("Authorization"))
	},
	"secret behind bytes": func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusInternalServerError)
		fmt.Fprintf(w, "\xff\x00%s\xff", r.Header.Get("Authorization"))
	},
	"secret in the address": func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", "https://elsewhere.example/?key="+strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
		w.WriteHeader(http.StatusFound)
		fmt.Fprint(w, "moved")
	},
	"secret for an id": func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusCreated)
		fmt.Fprintf(w, `{"id": "\u001b[2J %s"}`, r.Header.Get("Authorization"))
	},
	"rubbish for an id": func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusCreated)
		fmt.Fprint(w, `{"id": "\u202ejob\u0000"}`)
	},
}

const hostileSpec = `kind: video
account: main
submit: {url: "%s/jobs", headers: {Authorization: "Bearer ${REMOTE_KEY}"}, id: /id, timeout: 10s}
observe: {url: "%s/jobs/{remote_job_id}", status: /status, pending: [running], succeeded: [succeeded]}
`

// Nothing that a remote returns breaks what a reviewer reads, or brings a secret into a log, history, evidence or JSON.
func TestWhatARemoteReturnsHarmsNobodyWhoReviewsIt(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, c *cli) {
		remote := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			hostile[r.URL.Query().Get("op")](w, r)
		}))
		t.Cleanup(remote.Close)
		c.env = map[string]string{"REMOTE_KEY": remoteSecret}
		c.spec = c.file("provider.yaml", strings.Replace(fmt.Sprintf(hostileSpec, remote.URL, remote.URL), "/jobs\"", "/jobs?op={operation_id}\"", 1))
		var in strings.Builder
		for id := range hostile {
			in.WriteString(request(id, "none"))
		}
		said := c.want(exitUnfinished, c.runFile(c.file("in.jsonl", in.String()), "--brake", "0", "--log-level", "debug")...)
		c.harmless("run", said.stdout+said.stderr)
		listed := c.want(exitOK, "review", "list")
		c.harmless("review list", listed.stdout+listed.stderr)
		if n := len(listed.stdout); n > 2000*len(hostile) {
			t.Errorf("review list prints %d bytes for %d operations", n, len(hostile))
		}
		shown := c.lines(c.want(exitOK, "review", "list", "--json").stdout)
		if len(shown) != len(hostile) {
			t.Fatalf("%d operations are uncertain, want %d", len(shown), len(hostile))
		}
		for id := range hostile {
			r := c.want(exitOK, "show", id)
			c.harmless("show "+id, r.stdout+r.stderr)
			c.keepsNoSecret("show --json "+id, c.want(exitOK, "show", id, "--json").stdout)
			c.contains(listed.stdout, id+"  uncertain, ")
		}
		c.keepsNoSecret("review list --json", c.want(exitOK, "review", "list", "--json").stdout)
		c.storesNoSecret()
	})
}

// harmless holds what is printed for people against what would change a terminal, and against the secret.
func (c *cli) harmless(what, text string) {
	c.Helper()
	for i, r := range text {
		if r == '\n' {
			continue
		}
		if r == utf8.RuneError || unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Variation_Selector, r) {
			c.Errorf("%s prints %+q: %+q", what, r, text[max(0, i-40):min(len(text), i+20)])
			return
		}
	}
	c.keepsNoSecret(what, text)
}

// keepsNoSecret looks for the secret as it is, and as it is written where bytes are not text.
func (c *cli) keepsNoSecret(what, text string) {
	c.Helper()
	forms := map[string]string{"as it is": remoteSecret, "in hex": hex.EncodeToString([]byte(remoteSecret))}
	for shift := range 3 { // the inner part of the secret, however it lies among base64's groups of three
		encoded := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", shift) + remoteSecret))
		forms[fmt.Sprint("in base64, shifted by ", shift)] = encoded[4 : len(encoded)-4]
	}
	for how, form := range forms {
		if i := strings.Index(text, form); i >= 0 {
			c.Errorf("%s holds the secret %s: %+q", what, how, text[max(0, i-60):i])
		}
	}
}

// storesNoSecret reads history and evidence as they are stored.
func (c *cli) storesNoSecret() {
	c.Helper()
	m := c.engine()
	for id := range hostile {
		history, err := m.Store().History(context.Background(), id)
		if err != nil {
			c.Fatal(err)
		}
		evidence, err := m.Store().Evidence(context.Background(), id)
		if err != nil {
			c.Fatal(err)
		}
		for _, h := range history {
			c.keepsNoSecret("the history of "+id, fmt.Sprint(h.Reason, h.Detail, h.Changes))
		}
		for _, e := range evidence {
			c.keepsNoSecret("the evidence of "+id, e.RemoteJobID+string(e.Detail))
			if len(e.Detail) > machine.MaxRaw+100 {
				c.Errorf("the evidence of %s has %d bytes", id, len(e.Detail))
			}
		}
		if len(evidence) == 0 {
			c.Errorf("nothing is kept of what the remote answered to %s", id)
		}
	}
}
