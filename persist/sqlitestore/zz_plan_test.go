package sqlitestore_test

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fencerow/fencerow/persist"
	"github.com/fencerow/fencerow/persist/sqlitestore"
	"github.com/fencerow/fencerow/transitions"
)

func TestZZPlan(t *testing.T) {
	f := open(t, file(t), sqlitestore.Options{})
	p := f.Program()
	set, _ := persist.Compile(p, persist.SQLite, persist.Names{})
	_, err := f.DB().Exec(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<400000)
INSERT INTO fencerow_operations (operation_id,kind,provider,account,phase,next_action,request,due_at,outcome,created_at,updated_at)
SELECT 'id-'||i,'clip','clip','', CASE WHEN i%2=0 THEN 'terminal' ELSE 'prepared' END, CASE WHEN i%2=0 THEN NULL ELSE 'dispatch' END, x'7b7d', CASE WHEN i%2=0 THEN NULL ELSE i END, CASE WHEN i%2=0 THEN 'succeeded' END, i, i FROM n`)
	if err != nil { t.Fatal(err) }
	f.DB().Exec("PRAGMA optimize")
	for _, st := range set.Statements {
		if st.Form == transitions.One { continue }
		args := make([]any, len(st.Params))
		for i, n := range st.Params { switch n { case "limit": args[i]=100; case "provider": args[i]="clip"; case "account": args[i]="" ; case "ttl_ms": args[i]=1000; case "owner": args[i]="w"} }
		rows, err := f.DB().Query("EXPLAIN QUERY PLAN "+st.SQL, args...)
		if err != nil { t.Fatal(err) }
		var plan []string
		for rows.Next() { var a,b,c int; var s string; rows.Scan(&a,&b,&c,&s); plan = append(plan, s) }
		rows.Close()
		start := time.Now()
		pr := transitions.Params{"limit": transitions.IntValue(100), "provider": transitions.TextValue("clip"), "account": transitions.TextValue(""), "owner": transitions.TextValue("w"), "ttl_ms": transitions.IntValue(1000)}
		got, err := f.Take(context.Background(), st.Event, pr)
		fmt.Println(st.Event, time.Since(start), len(got), err, strings.Join(plan, " | "))
	}
	_ = sql.ErrNoRows
}
