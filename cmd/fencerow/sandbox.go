package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fencerow/fencerow/provider/sandbox"
)

const sandboxKey = "sandbox-key"

func (a *app) sandboxVerb() *cobra.Command {
	var addr, faults, file string
	var options sandbox.Options
	c := &cobra.Command{
		Use:   "sandbox",
		Short: "Run the built-in remote API, to try things on",
		Long: `Sandbox serves a remote generation API in memory until it is interrupted. It prints a provider file that fits it.
With --faults it goes wrong in the ways that such APIs do; --faults help explains each.`,
		Example: `  fencerow sandbox > sandbox.yaml &
  fencerow run requests.jsonl --provider sandbox.yaml --db sqlite:try.db
  fencerow sandbox --faults all --rate 0.3 --seed 7 --provider-file sandbox.yaml`,
		Args: exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			if faults == "help" {
				for _, f := range sandbox.Faults() {
					fmt.Fprintf(a.stdout, "%-14s %s\n", f.Name, f.Explains)
				}
				return nil
			}
			names, err := sandbox.ParseFaults(faults)
			if err != nil {
				return usagef("--faults: %w", err)
			}
			if options.Rate <= 0 || options.Rate > 1 {
				return usagef("--rate %g: want a share above 0 and at most 1", options.Rate)
			}
			options.Faults = names
			return a.sandbox(c.Context(), addr, file, options)
		},
	}
	flags := c.Flags()
	flags.StringVar(&addr, "addr", "127.0.0.1:8089", "where to listen; port 0 takes a free one")
	flags.StringVar(&faults, "faults", "", "names of faults with commas between, all, or help")
	flags.Float64Var(&options.Rate, "rate", 1, "share of the operations that meet one of the faults")
	flags.Uint64Var(&options.Seed, "seed", 1, "with an operation's name it decides what goes wrong")
	flags.DurationVar(&options.Queued, "queued", 0, "how long a job waits (default 300ms)")
	flags.DurationVar(&options.Running, "running", 0, "how long a job runs (default 700ms)")
	flags.StringVar(&file, "provider-file", "", "write the provider file there too")
	return c
}

func (a *app) sandbox(ctx context.Context, addr, file string, options sandbox.Options) error {
	server, err := sandbox.New(options).Serve(addr)
	if err != nil {
		return fmt.Errorf("%w; --addr says where to listen", err)
	}
	defer server.Close()
	spec := sandboxSpec(server.URL)
	if file != "" {
		if err := os.WriteFile(file, []byte(spec), 0o600); err != nil {
			return fmt.Errorf("writing the provider file: %w", err)
		}
	}
	a.sayf("The sandbox listens at %s; what arrived is at %s/_sandbox/counts. The provider file is on standard output.", server.URL, server.URL)
	fmt.Fprintf(a.stdout, "# The sandbox listens at %s\n%s", server.URL, spec)
	<-ctx.Done()
	return errInterrupted
}

// sandboxSpec is the sandbox's provider file with its address and key written in.
func sandboxSpec(url string) string {
	return strings.NewReplacer("${FENCEROW_SANDBOX_URL}", url, "${FENCEROW_SANDBOX_KEY}", sandboxKey).Replace(string(sandbox.SpecYAML))
}
