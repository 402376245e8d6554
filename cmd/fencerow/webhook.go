package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/provider/httpjob"
	"github.com/fencerow/fencerow/webhook"
)

// webhookPath is where the remote calls.
const webhookPath = "/webhook"

// The bounds of a call; the handler has its own for the body and for the database.
const (
	callHeaders = 5 * time.Second
	callWhole   = 30 * time.Second
	callIdle    = time.Minute
	callsAtOnce = 8 // each takes a connection to the database for a moment, and workers need some too
)

// checkWebhook holds --webhook against the provider file.
func (f *workFlags) checkWebhook(spec *httpjob.Spec) error {
	if f.webhook == "" {
		return nil
	}
	if _, _, err := net.SplitHostPort(f.webhook); err != nil {
		return usagef("--webhook %q: want HOST:PORT, such as 127.0.0.1:8081, or :8081 for every interface: %w", f.webhook, err)
	}
	w := spec.Webhook
	switch {
	case w == nil:
		return usagef("--webhook %s: %s has no webhook section, which says where in a call the remote job id and the status are", f.webhook, spec.File)
	case w.Signature == nil && !w.Unsigned:
		return usagef("--webhook %s: the webhook section of %s has no signature, so anybody could say what became of a job; add webhook.signature, or signature: none, with which calls are answered and change nothing", f.webhook, spec.File)
	}
	if _, err := verifierOf(w); err != nil {
		return usagef("--webhook %s: %s: %w", f.webhook, spec.File, err)
	}
	return nil
}

// verifierOf is the check of a file's signature, nil where it says that there is none.
func verifierOf(w *httpjob.Webhook) (webhook.Verifier, error) {
	if w.Unsigned {
		return nil, nil
	}
	s := w.Signature
	return webhook.HMAC{
		Header: s.Header, Prefix: s.Prefix, Encoding: webhook.Encoding(s.Encoding), Secrets: s.Secrets,
		TimestampHeader: s.TimestampHeader, Tolerance: s.Tolerance, Signed: s.Signed,
	}.Verifier()
}

// listener receives the calls of the remote.
type listener struct {
	server *http.Server
	done   chan error
}

// listen begins to receive the calls of the remote. Nil means that nobody asked for it.
func (a *app) listen(ctx context.Context, f *workFlags, m *machine.Machine, h *httpjob.Handler, log *slog.Logger) (*listener, error) {
	if f.webhook == "" {
		return nil, nil
	}
	spec := h.Spec()
	verify, err := verifierOf(spec.Webhook)
	if err != nil {
		return nil, err
	}
	handler, err := webhook.New(webhook.Config{
		Machine: m, Who: who(spec), Verify: verify, Unverified: verify == nil, Reader: h, Concurrent: callsAtOnce, Log: log,
	})
	if err != nil {
		return nil, err
	}
	socket, err := (&net.ListenConfig{}).Listen(ctx, "tcp", f.webhook)
	if err != nil {
		return nil, fmt.Errorf("--webhook %s: %w", f.webhook, err)
	}
	routes := http.NewServeMux()
	routes.Handle(webhookPath, handler)
	l := &listener{done: make(chan error, 1), server: &http.Server{
		Handler: routes, ReadHeaderTimeout: callHeaders, ReadTimeout: callWhole, WriteTimeout: callWhole, IdleTimeout: callIdle,
		MaxHeaderBytes: 64 << 10, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}}
	go func() { l.done <- l.server.Serve(socket) }()
	a.sayf("fencerow: the remote may call http://%s%s", socket.Addr(), webhookPath)
	if verify == nil {
		a.sayf("fencerow: its calls have no signature: they are answered and change nothing")
	}
	return l, nil
}

// stop answers the calls that have come, and takes no further ones.
func (l *listener) stop() error {
	if l == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), webhook.DefaultTimeout)
	defer cancel()
	err := l.server.Shutdown(ctx)
	if err != nil {
		_ = l.server.Close()
	}
	if served := <-l.done; !errors.Is(served, http.ErrServerClosed) {
		err = served
	}
	return err
}
