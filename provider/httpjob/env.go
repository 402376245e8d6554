package httpjob

import (
	"fmt"
	"strings"
)

// expand puts the environment's values in the place of each ${NAME}. It gives the values back, by name, so that the
// caller can treat them as secrets. An unset or empty variable is an error: an empty key is never what was meant.
func expand(text string, lookup func(string) (string, bool)) (string, map[string]string, error) {
	var b strings.Builder
	values := map[string]string{}
	for {
		at := strings.Index(text, "${")
		if at < 0 {
			b.WriteString(text)
			return b.String(), values, nil
		}
		b.WriteString(text[:at])
		text = text[at+2:]
		end := strings.IndexByte(text, '}')
		if end < 0 {
			return "", nil, fmt.Errorf("${ without a }")
		}
		name := text[:end]
		text = text[end+1:]
		if !isVariable(name) {
			return "", nil, fmt.Errorf("${%s} does not name an environment variable: letters, digits and _ are allowed", name)
		}
		value, ok := lookup(name)
		switch {
		case !ok:
			return "", nil, fmt.Errorf("the environment variable %s is not set: set it before the start", name)
		case value == "":
			return "", nil, fmt.Errorf("the environment variable %s is empty: set it before the start", name)
		}
		values[name] = value
		b.WriteString(value)
	}
}

func isVariable(name string) bool {
	for i := range len(name) {
		if !isAlnum(name[i]) && name[i] != '_' {
			return false
		}
	}
	return name != "" && (name[0] < '0' || name[0] > '9')
}

// keyLike reports whether a variable's name says that its value is a secret, wherever it stands.
func keyLike(name string) bool {
	upper := strings.ToUpper(name)
	for _, word := range []string{"KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL"} {
		if strings.Contains(upper, word) {
			return true
		}
	}
	return false
}
