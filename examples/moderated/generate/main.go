// Command generate writes the pages of the table moderated into the folder that it is started in.
package main

import (
	"log"

	"github.com/fencerow/fencerow/examples/moderated"
	"github.com/fencerow/fencerow/persist/pages"
	"github.com/fencerow/fencerow/transitions"
)

func main() {
	if err := pages.Write(".", "moderated", transitions.MustCompile(moderated.Table())); err != nil {
		log.Fatal(err)
	}
}
