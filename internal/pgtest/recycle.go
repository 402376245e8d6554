package pgtest

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/jackc/pgx/v5"
)

// emptied are the databases of this process's own server that a test is done
// with. Making a database and dropping it costs several times what emptying
// it does, and a package may want hundreds.
var emptied struct {
	sync.Mutex
	names []string
}

// takeEmptied gives a database that has been emptied, "" if there is none.
func takeEmptied() string {
	emptied.Lock()
	defer emptied.Unlock()

	last := len(emptied.names) - 1
	if last < 0 {
		return ""
	}
	name := emptied.names[last]
	emptied.names = emptied.names[:last]

	return name
}

// giveBack empties a database for the next test, and drops it where that
// cannot be done: a test may have renamed it or closed it to everybody, or
// somebody may still be there, who would then write into the next test.
func giveBack(server, name string) error {
	if err := empty(server, name); err != nil {
		return forget(server, name)
	}

	emptied.Lock()
	defer emptied.Unlock()
	emptied.names = append(emptied.names, name)

	return nil
}

// empty takes away whatever a test may have left in a database or said about
// it. It refuses a database that somebody else does not leave at once.
func empty(server, name string) error {
	if err := errand(server, fmt.Sprintf("ALTER DATABASE %s RESET ALL", pgx.Identifier{name}.Sanitize())); err != nil {
		return err
	}
	address, err := urlOf(server, name)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), adminTimeout)
	defer cancel()
	conn, err := Beside(ctx, address)
	if err != nil {
		return err
	}
	// Whatever a test has set there, or left open, is over.
	for _, statement := range []string{"ROLLBACK", "DISCARD ALL"} {
		if _, err := conn.Exec(ctx, statement, pgx.QueryExecModeSimpleProtocol); err != nil {
			return err
		}
	}
	if err := conn.DeallocateAll(ctx); err != nil {
		return err
	}

	_, err = conn.Exec(ctx, `DO $$
		DECLARE s record;
		BEGIN
			FOR i IN 1..50 LOOP -- a session that was ended takes a moment to go
				PERFORM pg_stat_clear_snapshot();
				EXIT WHEN (SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()) = 1;
				PERFORM pg_sleep(0.01);
			END LOOP;
			IF (SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()) > 1 THEN
				RAISE 'somebody is still there';
			END IF;
			FOR s IN SELECT nspname FROM pg_namespace WHERE nspname !~ '^pg_' AND nspname <> 'information_schema' LOOP
				EXECUTE format('DROP SCHEMA %I CASCADE', s.nspname);
			END LOOP;
			CREATE SCHEMA public AUTHORIZATION pg_database_owner;
			GRANT USAGE ON SCHEMA public TO PUBLIC;
		END $$`)
	if err != nil {
		return err
	}

	var asNew bool
	err = conn.QueryRow(ctx, `SELECT datallowconn AND datconnlimit = -1 AND datacl IS NULL
		AND NOT EXISTS (SELECT FROM pg_db_role_setting WHERE setdatabase = d.oid)
		AND NOT EXISTS (SELECT FROM pg_prepared_xacts WHERE database = d.datname)
		AND (SELECT count(*) FROM pg_extension) = 1
		FROM pg_database AS d WHERE datname = current_database()`).Scan(&asNew)
	if err == nil && !asNew {
		err = errors.New("it is not as a new one is")
	}

	return err
}
