package transitions

// Pruned is the history row that stands for a history which was pruned. It is no event of a table.
const Pruned = "pruned"

// PrunableColumns tell which operations are finished, and to what end: one whose table lacks any cannot be pruned, nor one
// whose table has no outcome "abandoned", the word for what was sent without a known end.
var PrunableColumns = []string{
	"outcome", "delivery", "remote_job_id", "late_remote_job_id", "evidence_seq", "duplicate_suspected", "outcome_contradicted",
}
