// Package pgproxy is a hostile wire for tests: a TCP proxy between a client and PostgreSQL that reads the protocol far
// enough to lose, cut, hold back or delay the request or the reply of a chosen statement, and to hold back cancel
// requests. It changes no byte of what it lets pass, and knows nothing of TLS.
package pgproxy

import (
	"maps"
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
	Late                // it reaches the server when Land is called, whether its client is still there or not
)

// Fates are those that are not Pass.
var Fates = []Fate{SwallowReply, CutReply, CutBeforeReady, NeverForward, CutRequest, Late}

// String names the fate in test names.
func (f Fate) String() string {
	return [...]string{
		"passed", "its reply swallowed", "cut before its reply", "cut before ReadyForQuery", "never forwarded",
		"cut before it was forwarded", "forwarded late",
	}[f]
}

// Runs reports whether a statement of this fate has run by the time that its client learns that something went wrong.
func (f Fate) Runs() bool { return f <= CutBeforeReady }

// Proxy stands between clients and one server.
type Proxy struct {
	listener net.Listener
	target   string
	wg       sync.WaitGroup

	mu     sync.Mutex
	choose func(sql string) Fate
	met    chan Fate // gets every fate that a statement met, as long as somebody reads it
	counts map[Fate]int
	hold   chan struct{} // cancel requests wait here; nil: they pass
	held   chan struct{} // gets every cancel request that is kept back, as long as somebody reads it
	obeyed chan struct{} // likewise, when the server has been told
	late   []*late
	conns  map[net.Conn]bool
	closed bool
}

// late is a statement that waits to be forwarded.
type late struct {
	land chan struct{} // closed when it is to be forwarded
	done chan struct{} // closed when the server has answered it
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
	p := &Proxy{
		listener: listener, target: u.Host, choose: passAll, met: make(chan Fate, 1000), held: make(chan struct{}, 1000), obeyed: make(chan struct{}, 1000),
		counts: map[Fate]int{}, conns: map[net.Conn]bool{},
	}
	p.wg.Go(p.accept)
	t.Cleanup(p.close)
	u.Host = listener.Addr().String()
	q := u.Query()
	q.Set("sslmode", "disable")
	u.RawQuery = q.Encode()
	return p, u.String()
}

func passAll(string) Fate { return Pass }

// Arm gives the next statements that contain match their fates, in turn; later ones pass.
func (p *Proxy) Arm(match string, fates ...Fate) {
	p.Choose(func(sql string) Fate {
		if len(fates) == 0 || !strings.Contains(sql, match) {
			return Pass
		}
		fate := fates[0]
		fates = fates[1:]
		return fate
	})
}

// Choose asks for the fate of every statement that comes, one at a time.
func (p *Proxy) Choose(choose func(sql string) Fate) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.choose = choose
}

// Heal lets every later statement pass.
func (p *Proxy) Heal() { p.Choose(passAll) }

// Met is signalled each time a statement meets its fate: for the fates that run it, when the server has answered; for
// a late one, when it is held.
func (p *Proxy) Met() <-chan Fate { return p.met }

// Counts tells how many statements met which fate.
func (p *Proxy) Counts() map[Fate]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.counts)
}

// HoldCancels keeps cancel requests from the server until the function that it returns is called.
func (p *Proxy) HoldCancels() (release func()) {
	hold := make(chan struct{})
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hold = hold
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.hold == hold {
			p.hold = nil
			close(hold)
		}
	}
}

// Held is signalled each time a cancel request comes that is kept back.
func (p *Proxy) Held() <-chan struct{} { return p.held }

// Obeyed is signalled each time the server has been told of a cancel request, and has sent it on to the session.
func (p *Proxy) Obeyed() <-chan struct{} { return p.obeyed }

// Land forwards the late statements, tells how many there were, and returns when the server has answered them.
func (p *Proxy) Land() int {
	p.mu.Lock()
	landing := p.late
	p.late = nil
	p.mu.Unlock()
	for _, l := range landing {
		close(l.land)
	}
	for _, l := range landing {
		<-l.done
	}
	return len(landing)
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
	p.closed = true
	if p.hold != nil {
		close(p.hold)
		p.hold = nil
	}
	p.mu.Unlock()
	p.CutAll()
	p.Land() // on cut connections: nothing reaches the server any more
	p.wg.Wait()
}

// track makes a connection one that CutAll cuts; false means that the proxy is closed.
func (p *Proxy) track(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		_ = c.Close()
		return false
	}
	p.conns[c] = true
	return true
}

func (p *Proxy) untrack(c net.Conn) {
	_ = c.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c)
}

func (p *Proxy) next(sql string) Fate {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.choose(sql)
}

func (p *Proxy) meet(f Fate) {
	p.mu.Lock()
	p.counts[f]++
	p.mu.Unlock()
	signal(p.met, f)
}

func signal[T any](to chan T, what T) {
	select {
	case to <- what:
	default:
	}
}

// detain keeps a statement until Land. On a closed proxy it lands at once, on a connection that is cut.
func (p *Proxy) detain() *late {
	l := &late{land: make(chan struct{}), done: make(chan struct{})}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		close(l.land)
		return l
	}
	p.late = append(p.late, l)
	return l
}
