package httpjob

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"

	"github.com/fencerow/fencerow/worker"
)

var (
	_ worker.Handler      = (*Handler)(nil)
	_ worker.Deliverer    = (*Handler)(nil)
	_ worker.Investigator = (*Handler)(nil)
	_ worker.Canceler     = (*Handler)(nil)
)

// Options are what a provider file does not say.
type Options struct {
	// OutDir is the folder of the results; it is made when it is not there. Needed when the file delivers anything.
	OutDir string
	// Logger is told about status words that the file does not list. Nil: nobody is.
	Logger *slog.Logger
	// RootCAs are the authorities that servers must show a certificate of. Nil: the system's.
	RootCAs *x509.CertPool
}

// Handler drives jobs at the API of one provider file. It is safe for use by many goroutines and keeps no state about
// operations. Close it when no worker uses it any more.
type Handler struct {
	spec   *Spec
	tls    *tls.Config
	redact *redactor
	log    *slog.Logger
	client *http.Client            // for reading; never for a submission
	out    *os.Root                // nil: nothing to deliver
	wrap   func(net.Conn) net.Conn // tests see what a submission's connection does; nil: as it is

	mu       sync.Mutex
	reported map[string]bool // status words in no list that were logged
}

// New makes the handler of a provider file. It opens the output folder and sends nothing.
func New(spec *Spec, opts Options) (*Handler, error) {
	if spec == nil || spec.base == nil {
		return nil, errors.New("making an HTTP handler: the provider file was not read by Load or Parse")
	}
	h := &Handler{
		spec:     spec,
		tls:      &tls.Config{RootCAs: opts.RootCAs, MinVersion: tls.VersionTLS12},
		redact:   newRedactor(spec.secrets),
		log:      opts.Logger,
		reported: map[string]bool{},
	}
	if h.log == nil {
		h.log = slog.New(slog.DiscardHandler)
	}
	h.client = h.newReadClient()
	if !spec.WantsDelivery() {
		return h, nil
	}
	if opts.OutDir == "" {
		return nil, fmt.Errorf("making an HTTP handler: %s delivers results: name the folder that they go to", spec.File)
	}
	if err := os.MkdirAll(opts.OutDir, 0o755); err != nil {
		return nil, fmt.Errorf("making the output folder: %w", err)
	}
	out, err := os.OpenRoot(opts.OutDir)
	if err != nil {
		return nil, fmt.Errorf("opening the output folder: %w", err)
	}
	h.out = out
	return h, nil
}

// Spec is the provider file that the handler was made of.
func (h *Handler) Spec() *Spec { return h.spec }

// Close gives up idle connections and the output folder.
func (h *Handler) Close() error {
	h.client.CloseIdleConnections()
	if h.out == nil {
		return nil
	}
	return h.out.Close()
}
