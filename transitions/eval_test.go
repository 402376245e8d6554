package transitions

import "testing"

func TestAnOperationIsSentObservedAndDelivered(t *testing.T) {
	p := MustCompile(Standard())
	w := World{Now: 1_000_000}
	id := Params{"operation_id": TextValue("a")}
	fire := func(row Row, event string, more Params) Row {
		t.Helper()
		params := Params{}
		for k, v := range id {
			params[k] = v
		}
		for k, v := range more {
			params[k] = v
		}
		v := p.Eval(event, row, params, w)
		if !v.Applied {
			t.Fatalf("%s was denied: %v", event, v.Failed)
		}
		return v.Row
	}
	get := func(row Row, col string) Value { return row[p.Column(col)] }
	mine := Params{"owner": TextValue("w"), "ttl_ms": IntValue(45_000), "provider": TextValue("video"), "account": TextValue("")}
	held := func(row Row) Params {
		return Params{"owner": TextValue("w"), "revision": get(row, "revision")}
	}
	row := fire(nil, "prepare", Params{"request": BytesValue([]byte("{}")), "kind": TextValue("video"), "wants_delivery": BoolValue(true)})
	row = fire(row, "dispatch_claim", mine)
	row = fire(row, "submit_begin", held(row))
	accepted := held(row)
	accepted["remote_job_id"] = TextValue("job-1")
	row = fire(row, "submit_accepted", accepted)
	row = fire(row, "observe_claim", mine)
	row = fire(row, "observe_succeeded", held(row))
	row = fire(row, "deliver_claim", mine)
	done := held(row)
	done["object_key"] = TextValue("a.mp4")
	row = fire(row, "deliver_done", done)
	want := map[string]Value{
		"phase": TextValue(Terminal), "outcome": TextValue("succeeded"), "delivery": TextValue("delivered"),
		"revision": IntValue(3), "next_action": NullValue, "lease_owner": NullValue,
	}
	for col, v := range want {
		if got := get(row, col); got != v {
			t.Errorf("%s is %s, want %s", col, got, v)
		}
	}
}
