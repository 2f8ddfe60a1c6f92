package batch

// A StopReason says why a batch did not run to its end.
type StopReason string

// The reasons, as they stand in an answer.
const (
	StoppedByFailures StopReason = "failures"     // RunOptions.MaxFailures
	StoppedByRate     StopReason = "failure_rate" // RunOptions.MaxFailureRate
	StoppedByBudget   StopReason = "budget"       // RunOptions.Budget
	StoppedByDeadline StopReason = "deadline"     // the context's
	StoppedByCancel   StopReason = "cancelled"    // the context was cancelled
	StoppedByStuck    StopReason = "stuck"        // too many items did not return in time
	StoppedByConsumer StopReason = "consumer"     // the function that takes the outcomes of Stream
)

// text says the reason in words.
func (s StopReason) text() string {
	switch s {
	case StoppedByFailures:
		return "too many items failed"
	case StoppedByRate:
		return "too large a share of the items failed"
	case StoppedByBudget, StoppedByDeadline:
		return "the time for it was over"
	case StoppedByCancel:
		return "it was cancelled"
	case StoppedByStuck:
		return "too many items did not finish in time"
	default:
		return "there was no use for more"
	}
}

// A stopCode is a StopReason that any goroutine can set.
type stopCode uint32

const (
	stopFailures stopCode = iota + 1
	stopRate
	stopYield
	stopBroken // the sequence panicked
)

var stopReasons = map[stopCode]StopReason{
	stopFailures: StoppedByFailures, stopRate: StoppedByRate, stopYield: StoppedByConsumer,
}
