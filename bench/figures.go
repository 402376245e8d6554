package main

import (
	"github.com/fencerow/fencerow/persist/pgstore"
	"github.com/fencerow/fencerow/persist/sqlitestore"
)

// atBest is how a store is opened for speed: with direct connections, as the loops by hand have them.
var atBest = pgstore.Options{Prepare: true, GroupCommit: true}

// apart sends every event in a statement of its own.
var apart = pgstore.Options{Prepare: true}

// figures are all that is measured, in the order in which it is told.
var figures = []figure{
	{
		name: "one_at_a_time_by_hand", says: "whole lifecycle, one operation at a time, against the same statements through pgx",
		ours: byEngine(1, atBest), theirs: oneByOne(1), target: atLeast(0.9),
	},
	{
		name: "16_in_flight_by_hand", says: "whole lifecycle, 16 in flight, against the same statements through pgx, one by one",
		ours: byEngine(16, atBest), theirs: oneByOne(16),
	},
	{
		name: "64_in_flight_by_hand_in_batches", says: "whole lifecycle, 64 in flight, against a loop that sends one statement for 64 operations",
		ours: byEngine(64, atBest), theirs: inBatches(2, 64),
	},
	{
		name: "64_in_flight_group_commit", says: "whole lifecycle, 64 in flight, with group commit against without",
		ours: byEngine(64, atBest), theirs: byEngine(64, apart),
	},
	{
		name: "one_at_a_time_joined", says: "whole lifecycle, one operation at a time, with three pairs of events joined against a statement an event",
		ours: byEngine(1, atBest), theirs: byEngineApart(1, atBest),
	},
	{
		name: "256_in_flight_joined", says: "whole lifecycle, 256 in flight, with three pairs of events joined against a statement an event",
		ours: byEngine(256, atBest), theirs: byEngineApart(256, atBest),
	},
	{
		name: "256_in_flight_by_hand_in_batches", says: "whole lifecycle, 256 in flight, against a loop that sends one statement for 64 operations",
		ours: byEngine(256, atBest), theirs: inBatches(2, 64),
	},
	{
		name: "256_in_flight", says: "whole lifecycle, 256 in flight, operations a second",
		ours: byEngine(256, atBest), counts: "operations/s", count: tally.rate,
	},
	{
		name: "1024_in_flight_by_hand_in_batches", says: "whole lifecycle, 1,024 in flight, against a loop that sends one statement for 100 operations",
		ours: byEngine(1024, atBest), theirs: inBatches(4, 100), target: atLeast(0.5),
	},
	{
		name: "1024_in_flight_river_chain", says: "whole lifecycle, 1,024 in flight, against four chained jobs of River with 200 workers",
		ours: byEngine(1024, atBest), theirs: riverChain(200), target: atLeast(15),
	},
	{
		name: "1024_in_flight_river_resumable", says: "whole lifecycle, 1,024 in flight, against one resumable job of River with 200 workers",
		ours: byEngine(1024, atBest), theirs: riverResumable(200), target: atLeast(6),
	},
	{
		name: "16_in_flight_river_chain", says: "whole lifecycle, 16 in flight, against four chained jobs of River with 16 workers",
		ours: byEngine(16, atBest), theirs: riverChain(16),
	},
	{
		name: "16_in_flight_river_resumable", says: "whole lifecycle, 16 in flight, against one resumable job of River with 16 workers",
		ours: byEngine(16, atBest), theirs: riverResumable(16),
	},
	{
		name: "16_in_flight_dbos", says: "whole lifecycle, 16 in flight, against 16 workflows of DBOS with four steps",
		ours: byEngine(16, atBest), theirs: byDBOS(16),
	},
	{
		name: "1024_in_flight_dbos", says: "whole lifecycle, 1,024 in flight, against 64 workflows of DBOS with four steps",
		ours: byEngine(1024, atBest), theirs: byDBOS(64), target: atLeast(10),
	},
	{
		name: "wal_bytes_river_chain", says: "WAL of a whole lifecycle, 16 in flight, against four chained jobs of River",
		ours: byEngine(16, atBest), theirs: riverChain(16), counts: "bytes", count: tally.walEach, target: atMost(0.4),
	},
	{
		name: "statements_an_operation", says: "statements of a whole lifecycle, one operation at a time",
		ours: byEngine(1, atBest), counts: "statements", count: tally.statementsEach, target: atMost(8),
	},
	{
		name: "wal_bytes_an_operation", says: "WAL of a whole lifecycle, one operation at a time, page images included",
		ours: byEngine(1, atBest), counts: "bytes", count: tally.walEach,
	},
	{
		name: "32_in_flight_wake_ups", says: "whole lifecycle, 32 in flight, with wake-ups on against off",
		ours: byEngine(32, pgstore.Options{Prepare: true, WakeUps: true}), theirs: byEngine(32, apart), target: atLeast(0.9),
	},
	{
		name: "idle_river_single_job", says: "idle system, milliseconds from a prepare's commit to its Submit in another process, against a single job of River; less is better",
		ours: byWorker(false), theirs: riverIdle, counts: "ms", count: tally.millisEach, target: atMost(1),
	},
	{
		name: "idle_one_process_river_single_job", says: "idle system, milliseconds from a prepare's commit to its Submit in the same process, against a single job of River; less is better",
		ours: byWorker(true), theirs: riverIdle, counts: "ms", count: tally.millisEach, target: atMost(1),
	},
	{
		name: "prepare_copy", says: "prepare a hundred thousand in one call, with history, against a bare COPY of the rows",
		ours: byPrepares, theirs: byCopies, target: atLeast(0.5),
	},
	{
		name: "claim_million_finished", says: "a claim of 8, with a million finished operations in the table against ten thousand; less is better",
		ours: byClaims(table{due: 1000, finished: 1_000_000}), theirs: byClaims(table{due: 1000, finished: 10_000}), counts: "ms", count: tally.millisEach,
	},
	{
		name: "claim_ten_million_finished", says: "a claim of 8 among 10,000 live operations, with 9,990,000 finished in the table against none; less is better",
		ours: byClaims(table{due: 5000, leased: 5000, finished: 9_990_000}), theirs: byClaims(table{due: 5000, leased: 5000}), counts: "ms", count: tally.millisEach,
		target: atMost(1.2), long: true,
	},
	{
		name: "claim_leased", says: "a claim of 8, with a hundred thousand under lease against none; less is better",
		ours: byClaims(table{due: 1000, leased: 100_000}), theirs: byClaims(table{due: 1000}), counts: "ms", count: tally.millisEach, target: atMost(1.5),
	},
	{
		name: "claim_other_provider", says: "a claim of 8, with a million due of another provider against none; less is better",
		ours: byClaims(table{due: 1000, others: 1_000_000, apart: "provider"}), theirs: byClaims(table{due: 1000}), counts: "ms", count: tally.millisEach, target: atMost(1.5),
	},
	{
		name: "claim_other_action", says: "a claim of 8, with a million due of another action against none; less is better",
		ours: byClaims(table{due: 1000, others: 1_000_000, apart: "action"}), theirs: byClaims(table{due: 1000}), counts: "ms", count: tally.millisEach, target: atMost(1.5),
	},
	{
		name: "claim_other_priority", says: "a claim of 8, with a million due of a lower priority against none; less is better",
		ours: byClaims(table{due: 1000, others: 1_000_000, apart: "priority"}), theirs: byClaims(table{due: 1000}), counts: "ms", count: tally.millisEach, target: atMost(1.5),
	},
	{
		name: "empty_claim", says: "a claim that finds nothing among 160,000 live operations of which none is due",
		ours: byClaims(table{later: 160_000}), counts: "ms", count: tally.millisEach, target: atMost(0.2),
	},
	{
		name: "sqlite_64_in_flight_group_commit", says: "whole lifecycle on SQLite, 64 in flight, with group commit against without",
		ours: bySQLite(64, sqlitestore.Options{GroupCommit: true}), theirs: bySQLite(64, sqlitestore.Options{}), target: atLeast(5),
	},
	{
		name: "sqlite_one_at_a_time", says: "whole lifecycle on SQLite, one at a time",
		ours: bySQLite(1, sqlitestore.Options{}), counts: "operations/s", count: tally.rate,
	},
	{
		name: "growth_million_lifecycles", says: "the operations' table after a million whole lifecycles (-lifecycles), against the same rows freshly loaded; less is better",
		once: growth, target: atMost(1.5), long: true,
	},
}
