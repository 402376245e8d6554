package httpjob

import "net"

// WrapConn has f stand between the HTTP client and the connection of every submission.
func (h *Handler) WrapConn(f func(net.Conn) net.Conn) { h.wrap = f }
