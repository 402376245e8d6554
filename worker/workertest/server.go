package workertest

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
)

// server counts the requests that reach it. It answers well until it is told to meet its end.
type server struct {
	remote Remote
	base   string
	end    func(*conn, Remote)

	listener net.Listener
	busy     sync.WaitGroup

	mu      sync.Mutex
	n       int // requests since the last look
	ending  bool
	silence func()
	open    map[net.Conn]bool
	closed  chan struct{}
}

// conn is a client's connection.
type conn struct {
	net.Conn
	server *server
}

func listen(remote Remote, end func(*conn, Remote)) (*server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &server{remote: remote, base: "http://" + l.Addr().String(), end: end, listener: l, silence: func() {},
		open: map[net.Conn]bool{}, closed: make(chan struct{})}
	s.busy.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.busy.Go(func() { s.serve(&conn{c, s}) })
		}
	})
	return s, nil
}

// close cuts every connection and returns when nothing of the server is left.
func (s *server) close() {
	_ = s.listener.Close()
	s.mu.Lock()
	close(s.closed)
	for c := range s.open {
		_ = c.Close()
	}
	s.mu.Unlock()
	s.busy.Wait()
}

// serve answers the requests of one connection, which it keeps alive, one after the other.
func (s *server) serve(c *conn) {
	defer c.Close()
	if !s.track(c.Conn) {
		return
	}
	defer s.untrack(c.Conn)
	for in := bufio.NewReader(c); ; {
		request, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		ending := s.arrive(request)
		if _, err := io.Copy(io.Discard, request.Body); err != nil {
			return
		}
		if ending {
			s.end(c, s.remote)
		} else {
			status(http.StatusOK)(c, s.remote)
		}
	}
}

// arrive counts a request when its head is there, before anything is done with it.
func (s *server) arrive(r *http.Request) (ending bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.remote.Sends(r) {
		return false
	}
	s.n++
	return s.ending
}

// sent gives the number of requests that arrived since it was asked last.
func (s *server) sent() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.n
	s.n = 0
	return n
}

func (s *server) meetEnd() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ending = true
}

func (s *server) onSilence(do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.silence = do
}

func (s *server) track(c net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.closed:
		return false
	default:
		s.open[c] = true
		return true
	}
}

func (s *server) untrack(c net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, c)
}

// status answers in full: 200 with what the handler takes as accepted, 307 with another address of the same server.
func status(code int) func(*conn, Remote) {
	return func(c *conn, remote Remote) {
		body, more := `{"error":"`+http.StatusText(code)+`"}`, ""
		switch code {
		case http.StatusOK:
			body = remote.Accepted
		case http.StatusTemporaryRedirect:
			more = "Location: " + c.server.base + "/workertest/elsewhere\r\n"
		}
		_, _ = fmt.Fprintf(c, "HTTP/1.1 %d %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n%s\r\n%s",
			code, http.StatusText(code), len(body), more, body)
	}
}

func cut(c *conn, _ Remote) { _ = c.Close() }

func reset(c *conn, _ Remote) {
	if tcp, ok := c.Conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}

// stall says nothing for as long as the server lives, and has the sender's context end.
func stall(c *conn, _ Remote) {
	c.server.mu.Lock()
	giveUp := c.server.silence
	c.server.mu.Unlock()
	giveUp()
	<-c.server.closed
}
