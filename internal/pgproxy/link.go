package pgproxy

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
)

const cancelRequest = 80877102

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.wg.Go(func() { p.serve(client) })
	}
}

func (p *Proxy) serve(client net.Conn) {
	if !p.track(client) {
		return
	}
	defer p.untrack(client)
	server, err := net.Dial("tcp", p.target)
	if err != nil || !p.track(server) {
		return
	}
	defer p.untrack(server)
	first, err := readStartup(client)
	if err != nil {
		return
	}
	if binary.BigEndian.Uint32(first[4:]) == cancelRequest {
		p.cancel(server, first)
		return
	}
	if _, err := server.Write(first); err != nil {
		return
	}
	l := &link{proxy: p, client: client, server: server, answered: make(chan struct{})}
	gone := make(chan struct{})
	go func() { defer close(gone); l.fromServer(); _ = client.Close() }()
	l.fromClient(gone)
	_ = server.Close()
	<-gone
}

// cancel forwards a cancel request, also where the client has stopped waiting for that. The server closes the connection
// once it has sent the signal.
func (p *Proxy) cancel(server net.Conn, request []byte) {
	p.mu.Lock()
	hold := p.hold
	p.mu.Unlock()
	if hold != nil {
		signal(p.held, struct{}{})
		<-hold
	}
	if _, err := server.Write(request); err != nil {
		return
	}
	_, _ = io.Copy(io.Discard, server)
	signal(p.obeyed, struct{}{})
}

// readStartup reads the one message that has no type byte.
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
	answered       chan struct{} // closed when the server has answered a late statement
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
	n := binary.BigEndian.Uint32(head[1:])
	if n < 4 || n > 1<<30 {
		return nil, errors.New("no message")
	}
	body := make([]byte, n-4)
	_, err := io.ReadFull(r, body)
	return append(head, body...), err
}

func (l *link) fromClient(gone <-chan struct{}) {
	r := bufio.NewReader(l.client)
	prepared := map[string]string{} // SQL by the name under which the server keeps it
	for {
		m, err := readMessage(r)
		if err != nil {
			return
		}
		if sql, ok := statement(m, prepared); ok {
			l.set(l.proxy.next(sql))
		}
		switch f := l.get(); f {
		case NeverForward:
			l.proxy.meet(f)
			_, _ = io.Copy(io.Discard, r)
			return
		case CutRequest:
			l.proxy.meet(f)
			return
		case Late:
			l.forwardLate(r, m, gone)
			return
		}
		if _, err := l.server.Write(m); err != nil {
			return
		}
	}
}

// forwardLate keeps a statement, up to the end of its request, until it may land. The client gets no answer: by then
// it is gone, or will be.
func (l *link) forwardLate(r *bufio.Reader, m []byte, gone <-chan struct{}) {
	request := bytes.Clone(m)
	for m[0] != 'Q' && m[0] != 'S' {
		var err error
		if m, err = readMessage(r); err != nil {
			return
		}
		request = append(request, m...)
	}
	held := l.proxy.detain()
	defer close(held.done)
	l.proxy.meet(Late)
	<-held.land
	if _, err := l.server.Write(request); err != nil {
		return
	}
	select {
	case <-l.answered:
	case <-gone:
	}
}

// statement reads the SQL of a message that begins to run a statement. Preparing one under a name runs nothing; its
// fate is chosen each time that it is bound.
func statement(m []byte, prepared map[string]string) (string, bool) {
	switch m[0] {
	case 'Q':
		return string(bytes.TrimRight(m[5:], "\x00")), true
	case 'P':
		parts := bytes.SplitN(m[5:], []byte{0}, 3)
		if len(parts) < 3 {
			return "", false
		}
		if name := string(parts[0]); name != "" {
			prepared[name] = string(parts[1])
			return "", false
		}
		return string(parts[1]), true
	case 'B':
		if parts := bytes.SplitN(m[5:], []byte{0}, 3); len(parts) == 3 && len(parts[1]) > 0 {
			return prepared[string(parts[1])], true
		}
	}
	return "", false
}

func (l *link) fromServer() {
	r := bufio.NewReader(l.server)
	for {
		m, err := readMessage(r)
		if err != nil {
			return
		}
		fate, ready := l.get(), m[0] == 'Z'
		switch {
		case fate == Late && ready:
			close(l.answered)
			return
		case fate == SwallowReply && ready:
			l.proxy.meet(fate)
			continue
		case fate == SwallowReply || fate == Late:
			continue
		case (fate == CutReply || fate == CutBeforeReady) && ready:
			l.proxy.meet(fate)
			return
		case fate == CutReply:
			continue
		}
		if _, err := l.client.Write(m); err != nil {
			return
		}
	}
}
