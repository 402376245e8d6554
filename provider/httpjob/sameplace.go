package httpjob

import (
	"math"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
)

// samePlace reports whether a request to b would be one to a, as far as an address can tell: servers differ in what they
// make of slashes, dots, escapes and upper case, and every spelling that one of them takes for a is a. named says that
// the provider file names the host of b; otherwise the remote did, and another name may be the same server.
func samePlace(a, b *url.URL, named bool) bool {
	return port(a) == port(b) && sameHost(a.Hostname(), b.Hostname(), named) &&
		plainPath(a.Path) == plainPath(b.Path) && holdsQuery(b.RawQuery, a.RawQuery)
}

// port is an address's port. One service often answers at the standard ports of both schemes.
func port(u *url.URL) string {
	switch p := strings.TrimLeft(u.Port(), "0"); p {
	case "", "443":
		return "80"
	default:
		return p
	}
}

func sameHost(a, b string, named bool) bool {
	a, b = strings.TrimSuffix(strings.ToLower(a), "."), strings.TrimSuffix(strings.ToLower(b), ".")
	first, isFirst := numeric(a)
	second, isSecond := numeric(b)
	switch {
	case a == b:
		return true
	case isFirst && isSecond:
		return first == second || anywhereHere(first) && anywhereHere(second)
	default:
		return !named || isFirst != isSecond // what a name resolves to cannot be known here
	}
}

func anywhereHere(a netip.Addr) bool { return a.IsLoopback() || a.IsUnspecified() }

// numeric reads an IP address, also in the old forms that resolvers take: 127.1, 0x7f000001, 0177.0.0.1, 2130706433.
func numeric(host string) (netip.Addr, bool) {
	if a, err := netip.ParseAddr(host); err == nil {
		return a.Unmap().WithZone(""), true
	}
	parts := strings.Split(host, ".")
	if len(parts) > 4 {
		return netip.Addr{}, false
	}
	var all uint64
	for i, p := range parts {
		bits := 8
		if i == len(parts)-1 {
			bits = 8 * (5 - len(parts))
		}
		n, err := strconv.ParseUint(p, 0, 32)
		if err != nil || strings.Contains(p, "_") || n > math.MaxUint32>>(32-bits) {
			return netip.Addr{}, false
		}
		all = all<<bits | n
	}
	return netip.AddrFrom4([4]byte{byte(all >> 24), byte(all >> 16), byte(all >> 8), byte(all)}), true
}

// plainPath is a path without escapes, however deep, parameters of segments, doubled slashes, dot segments and case.
func plainPath(p string) string {
	for {
		decoded, err := url.PathUnescape(p)
		if err != nil || decoded == p {
			break
		}
		p = decoded
	}
	segments := strings.Split(strings.ReplaceAll(p, `\`, "/"), "/")
	for i, s := range segments {
		segments[i], _, _ = strings.Cut(s, ";")
	}
	return strings.ToLower(path.Clean("/" + strings.Join(segments, "/")))
}

// holdsQuery reports whether every parameter of want is in query; one that cannot be read may hold anything.
func holdsQuery(query, want string) bool {
	have, err := url.ParseQuery(query)
	needed, wantErr := url.ParseQuery(want)
	if err != nil || wantErr != nil {
		return true
	}
	for name, values := range needed {
		for _, v := range values {
			if !slices.Contains(have[name], v) {
				return false
			}
		}
	}
	return true
}
