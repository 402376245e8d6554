package httpjob_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"net"
	"net/url"
	"strings"
	"testing"

	"github.com/fencerow/fencerow/provider/httpjob"
	"github.com/fencerow/fencerow/worker"
)

func everyRune(format string) string {
	var b strings.Builder
	for _, c := range secret {
		fmt.Fprintf(&b, format, c)
	}
	return b.String()
}

func TestASecretIsCutOutHoweverTheRemoteWritesIt(t *testing.T) {
	t.Parallel()
	std, web := base64.StdEncoding, base64.URLEncoding
	ways := map[string]string{
		"as it is": secret, "upper case": strings.ToUpper(secret), "lower case": strings.ToLower(secret),
		"an escaped slash": strings.ReplaceAll(secret, "/", `\/`), "unicode": everyRune(`\u%04x`), "unicode upper": everyRune(`\u%04X`),
		"unicode in part": `s3cr3t\u002dvalue\u002f\u002b`, "unicode in part, upper": `s3cr3t\u002Dvalue\u002F\u002B`,
		"percent": url.QueryEscape(secret), "percent lower": strings.ToLower(url.QueryEscape(secret)), "all percent": everyRune("%%%02x"),
		"hex": hex.EncodeToString([]byte(secret)), "hex upper": strings.ToUpper(hex.EncodeToString([]byte(secret))),
		"html": html.EscapeString(secret), "numeric": everyRune("&#%d;"), "numeric hex": everyRune("&#x%x;"), "numeric in part": "s3cr3t&#45;value&#47;&#43;",
	}
	for _, before := range []string{"", "a", "ab", "Bearer ", "user:"} {
		for _, after := range []string{"", "x", "xyz"} {
			text := []byte(before + secret + after)
			ways["base64 "+before+after], ways["base64url "+before+after] = std.EncodeToString(text), web.EncodeToString(text)
			ways["raw base64 "+before+after] = std.WithPadding(base64.NoPadding).EncodeToString(text)
		}
	}
	for name, echo := range ways {
		remote := startRaw(t, nil, answer(framed(500, `echo: <`+echo+`>`)))
		h := newHandler(t, "http://"+remote.addr, httpjob.Options{})
		_, err := h.Submit(t.Context(), submission())
		e := submitError(t, err)
		if !strings.Contains(string(e.Raw), "[redacted]") || !strings.Contains(e.Error(), "[redacted]") {
			t.Errorf("%s: %s got through: %v", name, echo, e)
		}
		left := strings.TrimSuffix(strings.TrimPrefix(string(e.Raw), "echo: <"), ">")
		if len(strings.ReplaceAll(left, "[redacted]", "")) > 18 {
			t.Errorf("%s: too much of %s is left: %s", name, echo, left)
		}
	}
}

func TestNoPlaceCutsASecretBeforeItIsLookedFor(t *testing.T) {
	t.Parallel()
	const part = "s3cr3t"
	fill := func(n int) string { return strings.Repeat("x", n-len(part)) + secret + strings.Repeat("y", 500) }
	t.Run("a redirect's target", func(t *testing.T) {
		t.Parallel()
		remote := startRaw(t, nil, answer(framed(302, "", "Location: /"+fill(299))))
		h := newHandler(t, "http://"+remote.addr, httpjob.Options{})
		if _, err := h.Submit(t.Context(), submission()); strings.Contains(err.Error(), part) {
			t.Error(err)
		}
	})
	t.Run("a status word", func(t *testing.T) {
		t.Parallel()
		for _, word := range []any{fill(100), []string{fill(98)}} {
			body, _ := json.Marshal(map[string]any{"status": word})
			remote := startRaw(t, nil, answer(framed(200, string(body))))
			h := newHandler(t, "http://"+remote.addr, httpjob.Options{})
			got, err := h.Observe(t.Context(), worker.Observation{OperationID: "op-1", RemoteJobID: "j"})
			if err != nil || got.Detail == "" || strings.Contains(got.Detail, part) {
				t.Errorf("got %v, %v", got.Detail, err)
			}
		}
	})
	t.Run("what a job is called", func(t *testing.T) {
		t.Parallel()
		remote := startRaw(t, nil, answer(framed(500, "")))
		h := newHandler(t, "http://"+remote.addr, httpjob.Options{})
		if _, err := h.Observe(t.Context(), worker.Observation{OperationID: "op-1", RemoteJobID: fill(100)}); err == nil || strings.Contains(err.Error(), part) {
			t.Error(err)
		}
	})
	t.Run("a result's refusal and its address", func(t *testing.T) {
		t.Parallel()
		remote := startRaw(t, nil, answer(framed(500, fill(300))))
		h := newHandler(t, "http://"+remote.addr, httpjob.Options{OutDir: t.TempDir()})
		for _, address := range []string{"http://" + remote.addr + "/f", "ftp://" + fill(194)} {
			d := worker.Delivery{OperationID: "op-1", RemoteJobID: "j", Snapshot: fmt.Appendf(nil, `{"output":{"url":%q}}`, address)}
			if _, err := h.Deliver(t.Context(), d); err == nil || strings.Contains(err.Error(), part) {
				t.Error(err)
			}
		}
	})
	t.Run("a proxy's refusal", func(t *testing.T) {
		t.Parallel()
		proxy := startRaw(t, nil, func(_ *rawRemote, c net.Conn) {
			_, _ = c.Read(make([]byte, 4096))
			_, _ = fmt.Fprintf(c, "HTTP/1.1 407 %s\r\n\r\n", fill(96))
		})
		h := newHandler(t, "http://api.example.com", httpjob.Options{}, "kind: video\n", "kind: video\nproxy: http://u:s3cr3t-value%2F+@"+proxy.addr+"\n")
		if _, err := h.Submit(t.Context(), submission()); err == nil || strings.Contains(err.Error(), part) || !strings.Contains(err.Error(), "407") {
			t.Error(err)
		}
	})
}
