// Package pgproxy is a hostile wire for tests: a TCP proxy between a client and PostgreSQL that reads the protocol far
// enough to lose, cut or hold back the request or the reply of a chosen statement, and to hold back cancel requests.
package pgproxy

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// Fate is what happens to a statement on the wire.
type Fate int

// The fates.
const (
	Pass           Fate = iota
	SwallowReply        // it runs; nothing of its reply comes back, and the connection stays open
	CutReply            // it runs; the connection is cut before a byte of its reply comes back
	CutBeforeReady      // it runs; its reply comes back up to CommandComplete, then the connection is cut
	NeverForward        // it never reaches the server, and the connection stays open
	CutRequest          // it never reaches the server, and the connection is cut
)

// String names the fate in test names.
func (f Fate) String() string {
	return [...]string{"passed", "its reply swallowed", "cut before its reply", "cut before ReadyForQuery", "never forwarded", "cut before it was forwarded"}[f]
}

// Proxy stands between clients and one server.
type Proxy struct {
	listener net.Listener
	target   string
	mu       sync.Mutex
	match    string
	fates    []Fate        // of the next statements that match, in turn
	met      chan struct{} // gets one for every fate that a statement met
	holdBack chan struct{} // cancel requests wait here; nil: they pass
	conns    map[net.Conn]bool
	wg       sync.WaitGroup
}

// New starts a proxy before the server of a postgres:// URL and stops it at the end of the test.
func New(t testing.TB, serverURL string) (*Proxy, string) {
	t.Helper()
	u, err := url.Parse(serverURL)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{listener: listener, target: u.Host, met: make(chan struct{}, 1000), conns: map[net.Conn]bool{}}
	p.wg.Go(p.accept)
	t.Cleanup(p.close)
	u.Host = listener.Addr().String()
	q := u.Query()
	q.Set("sslmode", "disable")
	u.RawQuery = q.Encode()
	return p, u.String()
}

// Arm gives the next statements that contain match their fates, in turn; later ones pass.
func (p *Proxy) Arm(match string, fates ...Fate) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.match, p.fates = match, fates
}

// Met is signalled each time a statement meets its fate: for the fates that run it, when the server has answered.
func (p *Proxy) Met() <-chan struct{} { return p.met }

// HoldCancels keeps cancel requests from the server until the function that it returns is called.
func (p *Proxy) HoldCancels() (release func()) {
	hold := make(chan struct{})
	p.mu.Lock()
	p.holdBack = hold
	p.mu.Unlock()
	return sync.OnceFunc(func() {
		p.mu.Lock()
		p.holdBack = nil
		p.mu.Unlock()
		close(hold)
	})
}

// CutAll cuts every connection.
func (p *Proxy) CutAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		_ = c.Close()
	}
}

func (p *Proxy) close() {
	_ = p.listener.Close()
	p.mu.Lock()
	if p.holdBack != nil {
		close(p.holdBack)
		p.holdBack = nil
	}
	p.mu.Unlock()
	p.CutAll()
	p.wg.Wait()
}

func (p *Proxy) track(c net.Conn) (untrack func()) {
	p.mu.Lock()
	p.conns[c] = true
	p.mu.Unlock()
	return func() {
		_ = c.Close()
		p.mu.Lock()
		delete(p.conns, c)
		p.mu.Unlock()
	}
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.wg.Go(func() { p.serve(client) })
	}
}

const cancelRequest = 80877102

func (p *Proxy) serve(client net.Conn) {
	defer p.track(client)()
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		return
	}
	defer p.track(server)()
	first, err := readStartup(client)
	if err != nil {
		return
	}
	if binary.BigEndian.Uint32(first[4:]) == cancelRequest {
		p.mu.Lock()
		hold := p.holdBack
		p.mu.Unlock()
		if hold != nil {
			<-hold
		}
	}
	if _, err := server.Write(first); err != nil {
		return
	}
	l := &link{proxy: p, client: client, server: server}
	done := make(chan struct{})
	go func() { defer close(done); l.fromServer(); _ = client.Close() }()
	l.fromClient()
	_ = server.Close()
	<-done
}

func readStartup(r io.Reader) ([]byte, error) {
	head := make([]byte, 8)
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(head)
	if n < 8 || n > 1<<16 {
		return nil, errors.New("no startup packet")
	}
	rest := make([]byte, n-8)
	_, err := io.ReadFull(r, rest)
	return append(head, rest...), err
}

// link is one client's connection.
type link struct {
	proxy          *Proxy
	client, server net.Conn
	mu             sync.Mutex
	fate           Fate // of the statement that is under way
}

func (l *link) get() Fate {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fate
}

func (l *link) set(f Fate) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fate = f
}

// readMessage reads one message of the protocol: a type byte, then a length that counts itself.
func readMessage(r *bufio.Reader) ([]byte, error) {
	head := make([]byte, 5)
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, err
	}
	body := make([]byte, int(binary.BigEndian.Uint32(head[1:]))-4)
	_, err := io.ReadFull(r, body)
	return append(head, body...), err
}

func (l *link) fromClient() {
	r := bufio.NewReader(l.client)
	for {
		m, err := readMessage(r)
		if err != nil {
			return
		}
		if sql, ok := statement(m); ok {
			l.set(l.proxy.next(sql))
		}
		switch l.get() {
		case NeverForward:
			l.proxy.meet(l)
			_, _ = io.Copy(io.Discard, r)
			return
		case CutRequest:
			l.proxy.meet(l)
			return
		}
		if _, err := l.server.Write(m); err != nil {
			return
		}
	}
}

// statement reads the SQL of a Parse or Query message.
func statement(m []byte) (string, bool) {
	switch m[0] {
	case 'Q':
		return string(bytes.TrimRight(m[5:], "\x00")), true
	case 'P':
		if parts := bytes.SplitN(m[5:], []byte{0}, 3); len(parts) == 3 {
			return string(parts[1]), true
		}
	}
	return "", false
}

func (p *Proxy) next(sql string) Fate {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.fates) == 0 || !strings.Contains(sql, p.match) {
		return Pass
	}
	fate := p.fates[0]
	p.fates = p.fates[1:]
	return fate
}

func (p *Proxy) meet(*link) { p.met <- struct{}{} }

func (l *link) fromServer() {
	r := bufio.NewReader(l.server)
	for {
		m, err := readMessage(r)
		if err != nil {
			return
		}
		fate, ready := l.get(), m[0] == 'Z'
		switch {
		case fate == SwallowReply && ready:
			l.proxy.meet(l)
			continue
		case fate == SwallowReply:
			continue
		case (fate == CutReply || fate == CutBeforeReady) && ready:
			l.proxy.meet(l)
			return
		case fate == CutReply:
			continue
		}
		if _, err := l.client.Write(m); err != nil {
			return
		}
	}
}
