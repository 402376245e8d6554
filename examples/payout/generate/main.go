// Command generate writes the pages of the payouts' table into the folder that it is started in.
package main

import (
	"log"

	"github.com/fencerow/fencerow/examples/payout"
	"github.com/fencerow/fencerow/persist/pages"
	"github.com/fencerow/fencerow/transitions"
)

func main() {
	if err := pages.Write(".", "payout", transitions.MustCompile(payout.Table())); err != nil {
		log.Fatal(err)
	}
}
