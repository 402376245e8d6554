package clause

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// shown lists a statement's cuts with what is left after each, on one line.
func shown(t *testing.T, sql string) []string {
	t.Helper()
	cuts, err := Of(sql)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, c := range cuts {
		all = append(all, c.ID+" | "+strings.Join(strings.Fields(c.Apply(sql)), " "))
	}
	return all
}

func TestEveryClauseCanBeCutOut(t *testing.T) {
	t.Parallel()
	for sql, want := range map[string][]string{
		"SELECT a FROM t AS t WHERE b = 1": {
			"where 1 | SELECT a FROM t AS t",
		},
		"SELECT a FROM t AS t WHERE b = 1 AND (c OR d BETWEEN 1 AND 2) AND NOT e ORDER BY f DESC, g LIMIT 3 FOR UPDATE OF t SKIP LOCKED": {
			"where 1 | SELECT a FROM t AS t WHERE (c OR d BETWEEN 1 AND 2) AND NOT e ORDER BY f DESC, g LIMIT 3 FOR UPDATE OF t SKIP LOCKED",
			"where 2 | SELECT a FROM t AS t WHERE b = 1 AND NOT e ORDER BY f DESC, g LIMIT 3 FOR UPDATE OF t SKIP LOCKED",
			"where 2.1 | SELECT a FROM t AS t WHERE b = 1 AND (d BETWEEN 1 AND 2) AND NOT e ORDER BY f DESC, g LIMIT 3 FOR UPDATE OF t SKIP LOCKED",
			"where 2.2 | SELECT a FROM t AS t WHERE b = 1 AND (c) AND NOT e ORDER BY f DESC, g LIMIT 3 FOR UPDATE OF t SKIP LOCKED",
			"where 3 | SELECT a FROM t AS t WHERE b = 1 AND (c OR d BETWEEN 1 AND 2) ORDER BY f DESC, g LIMIT 3 FOR UPDATE OF t SKIP LOCKED",
			"order 1 | SELECT a FROM t AS t WHERE b = 1 AND (c OR d BETWEEN 1 AND 2) AND NOT e LIMIT 3 FOR UPDATE OF t SKIP LOCKED",
			"order 2 | SELECT a FROM t AS t WHERE b = 1 AND (c OR d BETWEEN 1 AND 2) AND NOT e ORDER BY g LIMIT 3 FOR UPDATE OF t SKIP LOCKED",
			"order 3 | SELECT a FROM t AS t WHERE b = 1 AND (c OR d BETWEEN 1 AND 2) AND NOT e ORDER BY f , g LIMIT 3 FOR UPDATE OF t SKIP LOCKED",
			"order 4 | SELECT a FROM t AS t WHERE b = 1 AND (c OR d BETWEEN 1 AND 2) AND NOT e ORDER BY f DESC LIMIT 3 FOR UPDATE OF t SKIP LOCKED",
			"limit 1 | SELECT a FROM t AS t WHERE b = 1 AND (c OR d BETWEEN 1 AND 2) AND NOT e ORDER BY f DESC, g FOR UPDATE OF t SKIP LOCKED",
			"for update 1 | SELECT a FROM t AS t WHERE b = 1 AND (c OR d BETWEEN 1 AND 2) AND NOT e ORDER BY f DESC, g LIMIT 3",
			"skip locked 1 | SELECT a FROM t AS t WHERE b = 1 AND (c OR d BETWEEN 1 AND 2) AND NOT e ORDER BY f DESC, g LIMIT 3 FOR UPDATE OF t",
		},
		"WITH p AS MATERIALIZED (SELECT a FROM t), w AS (INSERT INTO h (x, y) SELECT 1, NULL FROM p AS p2) SELECT * FROM p, q AS r": {
			"p materialized 1 | WITH p AS (SELECT a FROM t), w AS (INSERT INTO h (x, y) SELECT 1, NULL FROM p AS p2) SELECT * FROM p, q AS r",
			"p from 1 | WITH p AS MATERIALIZED (SELECT a ), w AS (INSERT INTO h (x, y) SELECT 1, NULL FROM p AS p2) SELECT * FROM p, q AS r",
			"w statement 1 | WITH p AS MATERIALIZED (SELECT a FROM t) SELECT * FROM p, q AS r",
			"w insert 1 | WITH p AS MATERIALIZED (SELECT a FROM t), w AS (INSERT INTO h (y) SELECT NULL FROM p AS p2) SELECT * FROM p, q AS r",
			"from 1 | WITH p AS MATERIALIZED (SELECT a FROM t), w AS (INSERT INTO h (x, y) SELECT 1, NULL FROM p AS p2) SELECT * FROM q AS r",
		},
		"UPDATE t AS o SET a = 1, b = CASE WHEN c OR d THEN 2 ELSE 3 END FROM j AS k JOIN i ON i.n = k.n WHERE o.z IS NOT DISTINCT FROM k.z RETURNING o.a": {
			"set 1 | UPDATE t AS o SET b = CASE WHEN c OR d THEN 2 ELSE 3 END FROM j AS k JOIN i ON i.n = k.n WHERE o.z IS NOT DISTINCT FROM k.z RETURNING o.a",
			"set 2 | UPDATE t AS o SET a = 1 FROM j AS k JOIN i ON i.n = k.n WHERE o.z IS NOT DISTINCT FROM k.z RETURNING o.a",
			"set 2.1 | UPDATE t AS o SET a = 1, b = CASE WHEN d THEN 2 ELSE 3 END FROM j AS k JOIN i ON i.n = k.n WHERE o.z IS NOT DISTINCT FROM k.z RETURNING o.a",
			"set 2.2 | UPDATE t AS o SET a = 1, b = CASE WHEN c THEN 2 ELSE 3 END FROM j AS k JOIN i ON i.n = k.n WHERE o.z IS NOT DISTINCT FROM k.z RETURNING o.a",
			"join 1 | UPDATE t AS o SET a = 1, b = CASE WHEN c OR d THEN 2 ELSE 3 END FROM j AS k JOIN i ON 1 = 1 WHERE o.z IS NOT DISTINCT FROM k.z RETURNING o.a",
			"where 1 | UPDATE t AS o SET a = 1, b = CASE WHEN c OR d THEN 2 ELSE 3 END FROM j AS k JOIN i ON i.n = k.n RETURNING o.a",
			"returning 1 | UPDATE t AS o SET a = 1, b = CASE WHEN c OR d THEN 2 ELSE 3 END FROM j AS k JOIN i ON i.n = k.n WHERE o.z IS NOT DISTINCT FROM k.z",
		},
		"SELECT array_remove(ARRAY[CASE WHEN a THEN NULL ELSE 'a' END, CASE WHEN EXISTS (SELECT 1 FROM t AS u WHERE b) THEN NULL ELSE 'b' END]::text[], NULL) FROM t AS x": {
			"guard 1 | SELECT array_remove(ARRAY[CASE WHEN EXISTS (SELECT 1 FROM t AS u WHERE b) THEN NULL ELSE 'b' END]::text[], NULL) FROM t AS x",
			"guard 2 | SELECT array_remove(ARRAY[CASE WHEN a THEN NULL ELSE 'a' END]::text[], NULL) FROM t AS x",
			"guard 2.where 1 | SELECT array_remove(ARRAY[CASE WHEN a THEN NULL ELSE 'a' END, CASE WHEN EXISTS (SELECT 1 FROM t AS u ) THEN NULL ELSE 'b' END]::text[], NULL) FROM t AS x",
		},
		"SELECT substr(CASE WHEN a THEN '' ELSE ',a' END || CASE WHEN b THEN '' ELSE ',b' END, 2) FROM t AS x": {
			"guard 1 | SELECT substr(CASE WHEN b THEN '' ELSE ',b' END, 2) FROM t AS x",
			"guard 2 | SELECT substr(CASE WHEN a THEN '' ELSE ',a' END, 2) FROM t AS x",
		},
		"SELECT substr(CASE WHEN a THEN '' ELSE ',a' END, 2) FROM t AS x": {
			"guard 1 | SELECT substr('', 2) FROM t AS x",
		},
		"SELECT 1 UNION ALL SELECT json_object('a', b, 'it''s', c) FROM t AS x INDEXED BY \"i\" WHERE 1": {
			"union 1 | SELECT json_object('a', b, 'it''s', c) FROM t AS x INDEXED BY \"i\" WHERE 1",
			"union 2 | SELECT 1",
			"changes 1 | SELECT 1 UNION ALL SELECT json_object('it''s', c) FROM t AS x INDEXED BY \"i\" WHERE 1",
			"changes 2 | SELECT 1 UNION ALL SELECT json_object('a', b) FROM t AS x INDEXED BY \"i\" WHERE 1",
			"indexed by 1 | SELECT 1 UNION ALL SELECT json_object('a', b, 'it''s', c) FROM t AS x WHERE 1",
		},
		"INSERT INTO t AS o (a, b) SELECT 1, 2 FROM j AS k WHERE c ON CONFLICT (a) DO NOTHING RETURNING o.*": {
			"insert 1 | INSERT INTO t AS o (b) SELECT 2 FROM j AS k WHERE c ON CONFLICT (a) DO NOTHING RETURNING o.*",
			"insert 2 | INSERT INTO t AS o (a) SELECT 1 FROM j AS k WHERE c ON CONFLICT (a) DO NOTHING RETURNING o.*",
			"where 1 | INSERT INTO t AS o (a, b) SELECT 1, 2 FROM j AS k ON CONFLICT (a) DO NOTHING RETURNING o.*",
			"on conflict 1 | INSERT INTO t AS o (a, b) SELECT 1, 2 FROM j AS k WHERE c RETURNING o.*",
			"returning 1 | INSERT INTO t AS o (a, b) SELECT 1, 2 FROM j AS k WHERE c ON CONFLICT (a) DO NOTHING",
		},
	} {
		if diff := cmp.Diff(want, shown(t, sql)); diff != "" {
			t.Errorf("the cuts of %s (-want +got):\n%s", sql, diff)
		}
	}
}

func TestWhatCannotBeReadIsAnError(t *testing.T) {
	t.Parallel()
	for sql, want := range map[string]string{
		"SELECT (a":                   "the bracket at byte 7 is never closed",
		"SELECT a)":                   "closes nothing",
		"SELECT 'a":                   "the quote at byte 7 is never closed",
		"SELECT a -- b":               "a comment",
		"DELETE FROM t":               `"DELETE" begins no clause`,
		"WITH p (SELECT 1) SELECT 2":  "is no part of a WITH",
		"INSERT INTO t SELECT 1 FROM": "names no columns",
	} {
		if _, err := Of(sql); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want an error that says %q", sql, err, want)
		}
	}
}

func TestACutIsFoundByItsIDWhateverTheTablesAreCalled(t *testing.T) {
	t.Parallel()
	for sql, want := range map[string]string{
		`SELECT a FROM "t" AS o WHERE b AND c`:       `SELECT a FROM "t" AS o WHERE b`,
		`SELECT a FROM "x"."y z" AS o WHERE b AND c`: `SELECT a FROM "x"."y z" AS o WHERE b`,
	} {
		c, err := Find(sql, "where 2")
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Apply(sql); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if _, err := Find("SELECT a FROM t AS o WHERE b", "where 2"); err == nil {
		t.Error("a cut that there is not is found")
	}
}
