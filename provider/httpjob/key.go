package httpjob

import (
	"crypto/sha256"
	"fmt"
	"strings"
)

// maxKeyValue is the longest value that stands in a key in full; file systems end a name at 255 bytes.
const maxKeyValue = 120

// sidecarDir is where the deliverer keeps what it knows about the objects.
const sidecarDir = ".fencerow"

// resultsFile is what a run writes beside the objects.
const resultsFile = "results.jsonl"

// objectKey is the place of an operation's result: a path with slashes, relative to the output folder. It depends on
// nothing but its arguments, and two operation ids never have one key. (On a file system that folds case, ids that
// differ in case only do meet; the record beside each object then tells them apart and the second is refused.)
func objectKey(t Template, operationID, kind string) (string, error) {
	key, err := t.Text(map[string]string{"operation_id": escapeKeyValue(operationID), "kind": escapeKeyValue(kind)})
	if err != nil {
		return "", err
	}
	if strings.ContainsFunc(key, func(c rune) bool { return isControl(c) || c == '\\' }) {
		return "", fmt.Errorf("the key %q holds a backslash or a control character", key)
	}
	for i, segment := range strings.Split(key, "/") {
		switch {
		case segment == "" && i == 0:
			return "", fmt.Errorf("the key %q begins with a slash: keys are relative to the output folder", key)
		case segment == "":
			return "", fmt.Errorf("the key %q has an empty part", key)
		case strings.HasPrefix(segment, "."):
			return "", fmt.Errorf("the key %q has a part that begins with a dot: it could leave the output folder or hide", key)
		case strings.HasSuffix(segment, ".") || strings.HasSuffix(segment, " ") || strings.Contains(segment, ":"):
			return "", fmt.Errorf("the key %q has a part that some file systems read as another name", key)
		case len(segment) > 240:
			return "", fmt.Errorf("the key %q has a part over 240 bytes", key)
		}
	}
	if strings.EqualFold(key, resultsFile) {
		return "", fmt.Errorf("the key %q is the name of the list of results", key)
	}
	return key, nil
}

// escapeKeyValue writes a value with ASCII letters, digits, dot, dash and underscore only, percent-encoding the rest.
// A dot at either end is encoded as well. A long value is cut and gets its hash, after a tilde, which is encoded
// everywhere else: so the result is a function of the value that never gives one text for two values.
func escapeKeyValue(s string) string {
	if s == "" {
		return ""
	}
	escaped := percent(s, "-._")
	if escaped[0] == '.' {
		escaped = "%2E" + escaped[1:]
	}
	if last := len(escaped) - 1; escaped[last] == '.' {
		escaped = escaped[:last] + "%2E"
	}
	if len(escaped) > maxKeyValue {
		return fmt.Sprintf("%s~%x", escaped[:maxKeyValue/2], sha256.Sum256([]byte(s)))
	}
	return escaped
}
