package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/provider/httpjob"
)

// maxProviderFile bounds what is read; a larger file is no provider file.
const maxProviderFile = 1 << 20

func providerFlag(c *cobra.Command, path *string) {
	c.Flags().StringVar(path, "provider", "", "file that describes the remote API (required)")
}

// provider reads and checks a provider file. What is wrong with it is a wrong command line: nothing was changed.
func (a *app) provider(path string) (*httpjob.Spec, error) {
	if path == "" {
		return nil, usagef("--provider is missing: name the file that describes the remote API; fencerow sandbox prints one to try")
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, usagef("--provider: %w", err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxProviderFile+1))
	if err != nil {
		return nil, usagef("--provider %s: %w", path, err)
	}
	if len(text) > maxProviderFile {
		return nil, usagef("--provider %s: the file is larger than %d bytes; that is no provider file", path, maxProviderFile)
	}
	spec, err := httpjob.Parse(path, text, a.lookup)
	if err != nil {
		return nil, usage(err)
	}
	return spec, nil
}

// requestOf is the operation that a line of the input becomes under a provider file.
func requestOf(spec *httpjob.Spec, id string, request []byte) machine.Request {
	return machine.Request{
		Quarantine:  quarantine(spec.Timeout()),
		OperationID: id, Kind: spec.Kind, Provider: spec.Provider(), Account: spec.Account, Request: request,
		WantsDelivery: spec.WantsDelivery(), DeliveryAttempts: spec.DeliverAttempts(), CanInvestigate: spec.CanInvestigate(),
		ObserveDeadline: spec.Deadline(), NotFoundGrace: spec.NotFoundGrace(),
	}
}

// quarantine is longer than a request may take; 0 leaves the table's default.
func quarantine(timeout time.Duration) time.Duration {
	const usual = 10 * time.Minute
	if 2*timeout <= usual {
		return 0
	}
	return 2 * timeout
}

// who is whose operations a worker of this provider file takes.
func who(spec *httpjob.Spec) machine.Who {
	return machine.Who{Provider: spec.Provider(), Account: spec.Account}
}

func providerWords(spec *httpjob.Spec) string {
	return fmt.Sprintf("kind %s, provider %s, account %s", spec.Kind, spec.Provider(), spec.Account)
}
