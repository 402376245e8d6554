package pgtest

import (
	"context"
	"os"
	"testing"

	"github.com/jackc/pgx/v5"
)

// No t.Parallel: nobody else may take the emptied database in between.
func TestADatabaseThatATestIsDoneWithServesTheNextAsANewOne(t *testing.T) {
	const oid = "SELECT oid::int FROM pg_database WHERE datname = current_database()"
	left := `SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
		WHERE n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'`
	whole := func(t *testing.T) (int, int, string) {
		conn, err := pgx.Connect(t.Context(), URL(t))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close(context.Background()) })
		was, found, timeout := query[int](t, conn, oid), query[int](t, conn, left), query[string](t, conn, "SHOW lock_timeout")
		exec1(t, conn, "CREATE TABLE mine (id int)")
		exec1(t, conn, "CREATE SCHEMA other CREATE TABLE also (id int)")
		exec1(t, conn, "ALTER DATABASE "+query[string](t, conn, "SELECT current_database()")+" SET lock_timeout = '4321ms'")

		return was, found, timeout
	}
	var first, second int
	t.Run("first", func(t *testing.T) { first, _, _ = whole(t) })
	t.Run("second", func(t *testing.T) {
		var found int
		var timeout string
		if second, found, timeout = whole(t); found != 0 || timeout != "0" {
			t.Errorf("the next test finds %d relations and a lock_timeout of %s", found, timeout)
		}
	})
	if own := os.Getenv(lent) == ""; own != (first == second) { // a lent server's databases are dropped
		t.Errorf("the first test had database %d, the next %d, of our own server: %t", first, second, own)
	}
}
