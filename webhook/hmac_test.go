package webhook_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/webhook"
)

const body = `{"id":"job-1","status":"succeeded"}`

// sign is what a remote does.
func sign(secret, text string) []byte {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(text))
	return mac.Sum(nil)
}

func hexed(secret, text string) string { return hex.EncodeToString(sign(secret, text)) }
func based(secret, text string) string {
	return base64.StdEncoding.EncodeToString(sign(secret, text))
}

// call is a call with some headers, name and value in turn.
func call(headers ...string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/webhook", nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	return r
}

func secrets(all ...string) (list [][]byte) {
	for _, s := range all {
		list = append(list, []byte(s))
	}
	return list
}

func TestACallIsVerifiedByItsSignatureAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		now := strconv.FormatInt(time.Now().Unix(), 10)
		ago := func(d time.Duration) string { return strconv.FormatInt(time.Now().Add(-d).Unix(), 10) }
		plain := webhook.HMAC{Header: "X-Signature", Secrets: secrets("new secret", "old secret")}
		prefixed := webhook.HMAC{Header: "X-Hub-Signature-256", Prefix: "sha256=", Secrets: secrets("s3cret")}
		timed := webhook.HMAC{Header: "X-Signature", Secrets: secrets("s3cret"), TimestampHeader: "X-Time", Tolerance: time.Minute}
		// The form of https://www.standardwebhooks.com.
		standard := webhook.HMAC{Header: "webhook-signature", Prefix: "v1,", Encoding: webhook.Base64, Secrets: secrets("s3cret"),
			TimestampHeader: "webhook-timestamp", Signed: "{webhook-id}.{timestamp}.{body}"}
		std := func(id, at, signature string) *http.Request {
			return call("webhook-id", id, "webhook-timestamp", at, "webhook-signature", signature)
		}
		for _, c := range []struct {
			what string
			h    webhook.HMAC
			r    *http.Request
			says string // what the error says; "": there is none
		}{
			{"the new secret", plain, call("X-Signature", hexed("new secret", body)), ""},
			{"the secret that it replaces", plain, call("X-Signature", hexed("old secret", body)), ""},
			{"upper case", plain, call("X-Signature", strings.ToUpper(hexed("old secret", body))), ""},
			{"several signatures, one of them right", plain, call("X-Signature", hexed("x", body)+"  "+hexed("new secret", body)), ""},
			{"several headers, one of them right", plain, call("X-Signature", "junk", "X-Signature", hexed("new secret", body)), ""},
			{"a secret that nobody has", plain, call("X-Signature", hexed("no secret", body)), "none of the signatures"},
			{"another body", plain, call("X-Signature", hexed("new secret", body+" ")), "none of the signatures"},
			{"no header", plain, call(), "no signature"},
			{"an empty header", plain, call("X-Signature", ""), "no signature"},
			{"half a signature", plain, call("X-Signature", hexed("new secret", body)[:32]), "no signature"},
			{"another encoding", plain, call("X-Signature", based("new secret", body)), "no signature"},
			{"a signature behind too many", plain, call("X-Signature", strings.Repeat(hexed("x", body)+" ", 16)+hexed("new secret", body)), "none of the signatures"},

			{"a prefix", prefixed, call("X-Hub-Signature-256", "sha256="+hexed("s3cret", body)), ""},
			{"the prefix is missing", prefixed, call("X-Hub-Signature-256", hexed("s3cret", body)), "no signature"},
			{"another prefix", prefixed, call("X-Hub-Signature-256", "sha1="+hexed("s3cret", body)), "no signature"},

			{"a time", timed, call("X-Time", now, "X-Signature", hexed("s3cret", now+"."+body)), ""},
			{"a time that is off, within tolerance", timed, call("X-Time", ago(time.Minute), "X-Signature", hexed("s3cret", ago(time.Minute)+"."+body)), ""},
			{"an old call", timed, call("X-Time", ago(61*time.Second), "X-Signature", hexed("s3cret", ago(61*time.Second)+"."+body)), "another time"},
			{"a call of the future", timed, call("X-Time", ago(-61*time.Second), "X-Signature", hexed("s3cret", ago(-61*time.Second)+"."+body)), "another time"},
			{"an old signature under a new time", timed, call("X-Time", now, "X-Signature", hexed("s3cret", ago(time.Hour)+"."+body)), "none of the signatures"},
			{"no time", timed, call("X-Signature", hexed("s3cret", body)), "0 times"},
			{"two times", timed, call("X-Time", now, "X-Time", now, "X-Signature", hexed("s3cret", now+"."+body)), "2 times"},
			{"a time that is none", timed, call("X-Time", "now", "X-Signature", hexed("s3cret", "now."+body)), "no time"},
			{"a time of another age", timed, call("X-Time", "99999999999999999999", "X-Signature", hexed("s3cret", "99999999999999999999."+body)), "no time"},

			{"the standard form", standard, std("msg_1", now, "v1,"+based("s3cret", "msg_1."+now+"."+body)), ""},
			{"the standard form, while a secret is replaced", standard, std("msg_1", now, "v1,"+based("x", "")+" v1,"+based("s3cret", "msg_1."+now+"."+body)), ""},
			{"without padding", standard, std("msg_1", now, "v1,"+strings.TrimRight(based("s3cret", "msg_1."+now+"."+body), "=")), ""},
			{"another id", standard, std("msg_2", now, "v1,"+based("s3cret", "msg_1."+now+"."+body)), "none of the signatures"},
		} {
			verify, err := c.h.Verifier()
			if err != nil {
				t.Fatalf("%s: %v", c.what, err)
			}
			err = verify(c.r, []byte(body))
			if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s: %v, want an error that says %q", c.what, err, c.says)
			}
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("%s: the error %v holds a secret", c.what, err)
			}
		}
	})
}

func TestAConfigurationThatVerifiesNothingIsRefused(t *testing.T) {
	t.Parallel()
	good := func() webhook.HMAC { return webhook.HMAC{Header: "X-Signature", Secrets: secrets("s3cret")} }
	var refused []string
	for what, change := range map[string]func(*webhook.HMAC){
		"as it is":                         func(*webhook.HMAC) {},
		"no header":                        func(h *webhook.HMAC) { h.Header = "" },
		"no secret":                        func(h *webhook.HMAC) { h.Secrets = nil },
		"an empty secret":                  func(h *webhook.HMAC) { h.Secrets = secrets("s3cret", "") },
		"an encoding that is none":         func(h *webhook.HMAC) { h.Encoding = "base32" },
		"a negative tolerance":             func(h *webhook.HMAC) { h.Tolerance = -1 },
		"the body is not signed":           func(h *webhook.HMAC) { h.Signed = "{X-Id}" },
		"the time is not signed":           func(h *webhook.HMAC) { h.Signed, h.TimestampHeader = "{body}", "X-Time" },
		"a time is signed that is nowhere": func(h *webhook.HMAC) { h.Signed = "{timestamp}{body}" },
		"a brace without an end":           func(h *webhook.HMAC) { h.Signed = "{body" },
		"braces without a name":            func(h *webhook.HMAC) { h.Signed = "{}{body}" },
	} {
		h := good()
		change(&h)
		if _, err := h.Verifier(); err == nil {
			refused = append(refused, what)
		}
	}
	if diff := cmp.Diff([]string{"as it is"}, refused); diff != "" {
		t.Errorf("taken (-want +got):\n%s", diff)
	}
}

// Whatever a call holds, it is verified only if somebody who has the secret signed it.
func FuzzAHeaderIsNotVerifiedByChance(f *testing.F) {
	f.Add("sha256="+hexed("s3cret", body), "1764000000", body)
	f.Add("", "", "")
	f.Add("sha256= sha256=00 =", "-1", "\x00")
	verify, err := webhook.HMAC{Header: "X-Signature", Prefix: "sha256=", Secrets: secrets("s3cret"), TimestampHeader: "X-Time"}.Verifier()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, signature, at, text string) {
		r := call()
		r.Header["X-Signature"], r.Header["X-Time"] = []string{signature}, []string{at}
		if err := verify(r, []byte(text)); err == nil && !strings.Contains(strings.ToLower(signature), hexed("s3cret", at+"."+text)) {
			t.Errorf("verified %q at %q for %q", signature, at, text)
		}
	})
}
