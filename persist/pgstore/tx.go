package pgstore

import (
	"database/sql"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/fencerow/fencerow/machine"
)

// InTx is the store inside a transaction of the caller's: events fired there are committed with the caller's own rows,
// or not at all (contract C5). The transaction has to be READ COMMITTED. An error aborts it, as every error does in
// PostgreSQL; an answer is final only when the caller's commit is. The statements bound the lock waits of the rest of
// the transaction too. Nothing remote may be waited for inside it.
func (s *Store) InTx(tx pgx.Tx) machine.Store { return s.inside(txRunner{tx}) }

// InSQLTx is InTx for a transaction of database/sql. Several operations are then fired at one by one.
func (s *Store) InSQLTx(tx *sql.Tx) machine.Store { return s.inside(sqlRunner{tx}) }

func (s *Store) inside(r runner) *Store {
	return &Store{program: s.program, set: s.set, runner: r, events: r, bound: s.bound}
}

// arrayText writes a text[] as PostgreSQL reads it, for a driver that knows no arrays.
func arrayText(list []string) string {
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	parts := make([]string, len(list))
	for i, s := range list {
		parts[i] = `"` + escape.Replace(s) + `"`
	}
	return "{" + strings.Join(parts, ",") + "}"
}
