package httpjob

import (
	"encoding/json"
	"fmt"
	"html"
	"math/rand/v2"
	"strings"
	"testing"
)

// Encoders differ in which characters they escape: what is written here by the one or the other was readable once.
func TestASecretIsFoundWhicheverOfItsCharactersAreEscaped(t *testing.T) {
	t.Parallel()
	const key, odd = "ab/cd+Ef==12Q", `sk-Zz9/"Quo&te'<1\1> é😀`
	within, _ := json.Marshal(odd)
	for _, c := range []struct{ by, secret, echo string }{
		{"Gson", key, `ab/cd+Ef\u003d\u003d12Q`},
		{"Mustache", key, `ab&#x2F;cd+Ef&#x3D;&#x3D;12Q`},
		{"Handlebars", key, `ab/cd+Ef&#x3D;&#x3D;12Q`},
		{"Python's quote", key, `ab/cd%2BEf%3D%3D12Q`},
		{"Python's quote, lower case", key, `ab/cd%2bEf%3d%3d12Q`},
		{"encodeURI", key, `ab/cd+Ef==12Q`},
		{"PHP", key, `ab\/cd+Ef==12Q`},
		{"PHP, in JSON again", key, `ab\\\/cd+Ef==12Q`},
		{"Gson, in JSON again", key, `ab/cd+Ef\\u003d\\u003D12Q`},
		{"an address in an address", key, `ab%252Fcd%252BEf%253D%253d12Q`},
		{"HTML in HTML", key, `ab&amp;#x2F;cd+Ef&amp;#61;&amp;equals;12Q`},
		{"HTML in Go's JSON", key, `ab\u0026#x2F;cd+Ef\u0026#x3D;=12Q`},
		{"leading zeros", key, `ab&#00047;cd&#x002b;Ef==12Q`},
		{"names", key, `ab&sol;cd&plus;Ef&equals;=12Q`},
		{"nginx's log", key, `ab\x2Fcd+Ef\x3d=12Q`},
		{"one letter of all", key, `ab/cd+E\u0066==12Q`},
		{"another case", key, `AB\/CD+eF\u003D=12q`},
		{"Go's JSON", odd, string(within[1 : len(within)-1])},
		{"Go's HTML", odd, html.EscapeString(odd)},
		{"HTML in JSON", odd, `sk-Zz9\/&quot;Quo&amp;te&#x27;&lt;1\\1&gt; \u00e9\ud83d\ude00`},
		{"a form", odd, `sk-Zz9/%22Quo%26te%27%3C1%5c1%3E+%C3%A9%F0%9F%98%80`},
		{"base64 of it, by Gson", "ab/cd+Ef==12Q~~~???", `YWIvY2QrRWY9PTEyUX5+fj8\/Pw\u003d\u003d`},
	} {
		got := newRedactor([]string{c.secret}).text("bad header: Bearer " + c.echo + ".")
		if left := strings.TrimSuffix(strings.TrimPrefix(got, "bad header: Bearer "), "."); strings.Trim(left, `\u03d=w`) != redacted {
			t.Errorf("%s: %s is left of %s", c.by, got, c.echo)
		}
	}
}

// written writes s with each character as it is or in one of its escapes.
func written(r *rand.Rand, s string) string {
	var b strings.Builder
	for _, c := range s {
		formats := []string{"%[1]c", `\u%04[1]x`, `\u%04[1]X`, `%%%02[1]x`, `%%%02[1]X`, "&#%[1]d;", "&#x%03[1]X;", `\x%02[1]x`}
		if c > '~' || c < '!' || !isAlnum(byte(c)) {
			formats = append(formats, `\%[1]c`)
		}
		if c == '%' || c == '&' || c == '\\' {
			formats = formats[1:] // as it is, such a character may make an escape of what follows it
		}
		fmt.Fprintf(&b, formats[r.IntN(len(formats))], c)
	}
	return b.String()
}

func TestASecretIsFoundInAnyMixtureOfEscapesAndNothingElseIsCut(t *testing.T) {
	t.Parallel()
	const keys = `abcXYZ019/+=-_.~!"#$&'()*,:;<>?@[]^{|}\%`
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 7))
		secret := make([]byte, minSecret+r.IntN(40))
		for i := range secret {
			secret[i] = keys[r.IntN(len(keys))]
		}
		red := newRedactor([]string{string(secret)})
		echo := written(r, string(secret))
		if got, want := red.text("(QQ "+echo+" QQ)"), "(QQ "+redacted+" QQ)"; got != want {
			t.Fatalf("seed %d: want %s, got %s, of %s as %s", seed, want, got, secret, echo)
		}
	}
}

// An answer is cut where it is too long to be read, and may be cut within an escape.
func TestTheBeginningOfASecretIsCutOutWhereTheTextEnds(t *testing.T) {
	t.Parallel()
	red := newRedactor([]string{"sec/ret+key=="})
	for _, echo := range []string{`sec/ret+key==`, `sec\/ret\u002bkey\u003d=`, `sec%2Fret%2Bkey%3D%3D`, `sec%252Fret%252bkey=%253D`,
		`sec&#x2F;ret&#x2B;key&#x3D;=`, `sec&amp;sol;ret&amp;#43;key&amp;#61;=`, `sec\\\/ret\\u002bkey==`} {
		for n := len(echo) - 1; n >= len("sec/"); n-- {
			got := red.cut("it said " + echo[:n])
			if strings.HasPrefix(got, "it said sec") && strings.ContainsAny(echo[3:n], "r") {
				t.Errorf("%s: got %s", echo[:n], got)
			}
		}
	}
}
