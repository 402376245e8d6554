//go:build !linux

package sqlitestore

// networkWarning cannot tell file systems apart here.
func networkWarning(string) string { return "" }
