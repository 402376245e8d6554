package pgstore_test

import (
	"context"
	"io"
	"net"
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/fencerow/fencerow/internal/pgtest"
	"github.com/fencerow/fencerow/persist/pgstore"
)

// A pooler such as PgBouncer refuses session parameters, and the role has to have them instead.
func TestBehindAPoolerTheSettingsAreTheRoles(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	direct := pgtest.URL(t)
	behind := pooled(t, direct)
	_, err := pgstore.Open(ctx, behind, pgstore.Options{})
	if err == nil || !strings.Contains(err.Error(), "ALTER ROLE") {
		t.Fatalf("open without the role's settings: got %v, want what to set", err)
	}
	conn, err := pgx.Connect(ctx, direct)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	name := pgx.Identifier{conn.Config().Database}.Sanitize()
	if _, err := conn.Exec(ctx, "ALTER DATABASE "+name+" SET statement_timeout = '7s'"); err != nil {
		t.Fatal(err)
	}
	store, err := pgstore.Open(ctx, behind, pgstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	if got := store.Bound().String(); got != "7s" {
		t.Errorf("the bound is %s, want the server's own 7s", got)
	}
	if _, err := store.Migrate(ctx); err != nil {
		t.Error(err)
	}
}

// pooled gives the address of something that passes connections on, but no session parameters.
func pooled(t *testing.T, address string) string {
	t.Helper()
	return through(t, address, pass)
}

// through gives an address at which each connection is passed on by pass, which gets one to the server with it.
func through(t *testing.T, address string, pass func(client, upstream net.Conn)) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	server := u.Host
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = client.Close() }()
				upstream, err := net.Dial("tcp", server)
				if err != nil {
					return
				}
				defer func() { _ = upstream.Close() }()
				pass(client, upstream)
			}()
		}
	}()
	u.Host = listener.Addr().String()
	return u.String()
}

func pass(client, upstream net.Conn) {
	front := pgproto3.NewBackend(client, client)
	message, err := front.ReceiveStartupMessage()
	if err != nil {
		return
	}
	startup, ok := message.(*pgproto3.StartupMessage)
	if !ok {
		return
	}
	if _, set := startup.Parameters["statement_timeout"]; set {
		front.Send(&pgproto3.ErrorResponse{Severity: "FATAL", Code: "08P01", Message: "unsupported startup parameter: statement_timeout"})
		_ = front.Flush()
		return
	}
	encoded, err := startup.Encode(nil)
	if err != nil {
		return
	}
	if _, err := upstream.Write(encoded); err != nil {
		return
	}
	go func() {
		_, _ = io.Copy(upstream, client)
		_ = upstream.Close()
	}()
	_, _ = io.Copy(client, upstream)
}
