package httpjob

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"time"
)

var (
	errSecondConnection = errors.New("a second connection for one submission was refused")
	errPastSendBy       = errors.New("the sender's own deadline passed before the first byte was written")
	errSealed           = errors.New("the submission has ended")
)

// wire is the one connection that one submission may have. It counts what it was handed above TLS: the handshake's
// bytes are not the request's. net/http's own trace is no evidence, its WroteRequest fires before bytes leave.
type wire struct {
	tls    *tls.Config
	proxy  *url.URL
	sendBy time.Time // zero: no bound but the context's
	wrap   func(net.Conn) net.Conn

	dials    atomic.Int64
	received atomic.Int64
	ended    atomic.Bool // the answer's bytes came to an end, by a close or an error

	mu     sync.Mutex
	handed int64 // bytes of the request that were handed to the connection, whether it took them or not
	sealed bool  // nothing more is taken
	whole  bool  // the answer was read to its end
	gate   *gate // the connection, once there is one
	early  bool  // bytes came from the remote before it was handed any
}

// seal ends the wire: from here on it takes no byte. It returns how many it was handed, which is then final.
func (w *wire) seal(whole bool) int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sealed, w.whole = true, whole
	return w.handed
}

// isEarly reports whether bytes came from the remote before it was handed any.
func (w *wire) isEarly() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.early
}

func (w *wire) dialPlain(ctx context.Context, _, addr string) (net.Conn, error) {
	return w.dial(ctx, addr, nil)
}

func (w *wire) dialTLS(ctx context.Context, _, addr string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	config := w.tls.Clone()
	config.ServerName = host
	config.NextProtos = []string{"http/1.1"}
	return w.dial(ctx, addr, config)
}

func (w *wire) dial(ctx context.Context, addr string, config *tls.Config) (net.Conn, error) {
	if w.dials.Add(1) > 1 {
		return nil, errSecondConnection
	}
	if !w.sendBy.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadlineCause(ctx, w.sendBy, errPastSendBy)
		defer cancel()
	}
	conn, err := dialTCP(ctx, addr, w.proxy)
	if err != nil {
		return nil, err
	}
	carrier := conn
	if config != nil {
		secure := tls.Client(conn, config)
		if err := secure.HandshakeContext(ctx); err != nil {
			_ = conn.Close()
			return nil, fmt.Errorf("TLS handshake with %s: %w", addr, err)
		}
		carrier = secure
	}
	g := &gate{Conn: carrier, tcp: conn, wire: w}
	w.mu.Lock()
	w.gate = g
	w.mu.Unlock()
	if w.wrap != nil {
		return w.wrap(g), nil
	}
	return g, nil
}

func dialTCP(ctx context.Context, addr string, proxy *url.URL) (net.Conn, error) {
	dialer := &net.Dialer{}
	if proxy == nil {
		return dialer.DialContext(ctx, "tcp", addr)
	}
	return dialThrough(ctx, dialer, proxy, addr)
}

// gate is a wire's connection.
type gate struct {
	net.Conn // what carries the request: TCP, or TLS over it
	tcp      net.Conn
	wire     *wire
	close    sync.Once
}

// Write judges the sender's deadline immediately before the first byte, and has the connection carry none after it.
func (g *gate) Write(p []byte) (int, error) {
	if err := g.admit(len(p)); err != nil {
		return 0, err
	}
	return g.Conn.Write(p)
}

func (g *gate) admit(n int) error {
	g.wire.mu.Lock()
	defer g.wire.mu.Unlock()
	if g.wire.sealed {
		return errSealed
	}
	if by := g.wire.sendBy; !by.IsZero() {
		if g.wire.handed == 0 {
			if err := g.SetWriteDeadline(by); err != nil {
				return err
			}
		}
		if past(time.Now(), by) {
			return errPastSendBy
		}
	}
	g.wire.handed += int64(n)
	return nil
}

// past compares by the monotonic clock and by the wall clock, and believes the one that is further on: the monotonic
// one stops while a machine is suspended.
func past(now, by time.Time) bool {
	return !now.Before(by) || !now.Round(0).Before(by.Round(0))
}

// Read counts the answer's bytes and notes their end, and whether they came before there was anything to answer.
func (g *gate) Read(p []byte) (int, error) {
	n, err := g.Conn.Read(p)
	if n > 0 {
		g.wire.mu.Lock()
		g.wire.early = g.wire.early || g.wire.handed == 0
		g.wire.mu.Unlock()
	}
	g.wire.received.Add(int64(n))
	if err != nil {
		g.wire.ended.Store(true)
	}
	return n, err
}

// Close drops what the kernel still holds of the request unless the answer was read to its end: a request that was
// given up must not go on trickling out.
func (g *gate) Close() error {
	g.close.Do(func() {
		g.wire.mu.Lock()
		whole := g.wire.whole
		g.wire.mu.Unlock()
		if tcp, ok := g.tcp.(*net.TCPConn); ok && !whole {
			_ = tcp.SetLinger(0)
		}
	})
	return g.Conn.Close()
}
