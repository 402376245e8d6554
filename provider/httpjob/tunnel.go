package httpjob

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"
)

// maxConnectAnswer bounds what a proxy may say to a CONNECT.
const maxConnectAnswer = 16 << 10

// dialThrough has a proxy connect to addr. Plain http goes through a tunnel as well: a proxy that forwards requests
// answers for the API, and its own refusals could not be told from the API's.
func dialThrough(ctx context.Context, dialer *net.Dialer, proxy *url.URL, addr string) (net.Conn, error) {
	port := proxy.Port()
	if port == "" {
		port = "80"
	}
	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(proxy.Hostname(), port))
	if err != nil {
		return nil, fmt.Errorf("connecting to the proxy: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	err = connect(conn, proxy, addr)
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn, nil
}

func connect(conn net.Conn, proxy *url.URL, addr string) error {
	request := "CONNECT " + addr + " HTTP/1.1\r\nHost: " + addr + "\r\n"
	if proxy.User != nil {
		password, _ := proxy.User.Password()
		pair := proxy.User.Username() + ":" + password
		request += "Proxy-Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(pair)) + "\r\n"
	}
	if _, err := conn.Write([]byte(request + "\r\n")); err != nil {
		return fmt.Errorf("asking the proxy for %s: %w", addr, err)
	}
	// Byte by byte, so that nothing after the answer's end is swallowed.
	var answer []byte
	for one := make([]byte, 1); !bytes.HasSuffix(answer, []byte("\r\n\r\n")); answer = append(answer, one[0]) {
		if len(answer) > maxConnectAnswer {
			return fmt.Errorf("asking the proxy for %s: its answer has no end within %d bytes", addr, maxConnectAnswer)
		}
		if _, err := conn.Read(one); err != nil {
			return fmt.Errorf("asking the proxy for %s: %w", addr, err)
		}
	}
	resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(answer)), &http.Request{Method: http.MethodConnect})
	if err != nil {
		return fmt.Errorf("asking the proxy for %s: %w", addr, err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		password, _ := proxy.User.Password()
		said := newRedactor([]string{password}).text(resp.Status)
		return fmt.Errorf("the proxy refused to connect to %s: %s", addr, printable(said, 100))
	}
	return nil
}
