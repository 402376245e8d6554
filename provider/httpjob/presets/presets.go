// Package presets holds provider files for well-known APIs, to be copied and adapted. Each was written from the API's
// public documentation, which it names, and is tested against answers of the shape that is documented there. None was
// run against the API itself.
package presets

import (
	"embed"
	"fmt"
	"strings"
)

//go:embed *.yaml
var files embed.FS

const ext = ".yaml"

// Names lists the presets in alphabetical order.
func Names() []string {
	entries, err := files.ReadDir(".")
	if err != nil {
		panic(err) // the folder is part of the program
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = strings.TrimSuffix(e.Name(), ext)
	}
	return names
}

// Read gives the text of a preset, for httpjob.Parse or for a file to adapt.
func Read(name string) ([]byte, error) {
	text, err := files.ReadFile(name + ext)
	if err != nil {
		return nil, fmt.Errorf("there is no preset %q: known are %s", name, strings.Join(Names(), ", "))
	}
	return text, nil
}
