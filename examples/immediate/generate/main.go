// Command generate writes the pages of the table immediate into the folder that it is started in.
package main

import (
	"log"

	"github.com/fencerow/fencerow/examples/immediate"
	"github.com/fencerow/fencerow/persist/pages"
	"github.com/fencerow/fencerow/transitions"
)

func main() {
	if err := pages.Write(".", "immediate", transitions.MustCompile(immediate.Table())); err != nil {
		log.Fatal(err)
	}
}
