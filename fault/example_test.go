package fault_test

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/mcpchain/mcpchain/fault"
)

// A fault that is built once, at package level, and completed where it happens.
var errLocked = fault.New(fault.KindConflict, "the invoice is locked by somebody else").WithCode("INVOICE_LOCKED")

// findInvoice stands for a handler's own code.
func findInvoice(id string) error {
	switch id {
	case "2026-007":
		return errLocked.After(30*time.Second).
			Step("See who holds the lock", "get_lock", map[string]any{"invoice": id})
	default:
		err := fmt.Errorf("SELECT total FROM invoices: %w", sql.ErrNoRows) // nobody but the operator sees this
		return fault.NotFound("invoice", id, "2026-007", "2026-008", "2019-113").Because(err)
	}
}

// What a caller reads says what failed, whether to try again and what to do next.
// What the database said is for the operator's log.
func Example() {
	fmt.Println(findInvoice("2026-007"))
	fmt.Println()

	err := findInvoice("2026-07")
	fmt.Println(err)
	fmt.Println(errors.Is(err, fault.KindNotFound), errors.Is(err, sql.ErrNoRows))

	// Output:
	// Conflict: the invoice is locked by somebody else.
	// Retry: yes, after 30 s.
	// Next: 1. See who holds the lock: call get_lock {"invoice":"2026-007"}.
	//
	// Not found: invoice '2026-07' does not exist. These exist: '2026-007', '2026-008', '2019-113'.
	// true true
}

func ExampleOneOf() {
	fmt.Println(fault.OneOf("unit", "Kelvin", "celsius", "fahrenheit", "kelvin"))
	fmt.Println(fault.OneOf("unit", 5, "celsius", "kelvin"))

	// Output:
	// Validation Error: Argument 'unit' expected 'celsius', 'fahrenheit' or 'kelvin', but received 'Kelvin'. Did you mean 'kelvin'?
	// Validation Error: Argument 'unit' expected 'celsius' or 'kelvin', but received 5.
}

func ExampleNotFound() {
	projects := []string{"apollo", "gemini", "mercury"} // the ones that the caller may know

	fmt.Println(fault.NotFound("project", "appolo", projects...))
	fmt.Println()
	fmt.Println(fault.NotFound("project", "voyager", projects...))

	// Output:
	// Not found: project 'appolo' does not exist. Did you mean 'apollo'?
	//
	// Not found: project 'voyager' does not exist. These exist: 'apollo', 'gemini', 'mercury'.
}

func ExampleInvalid() {
	fmt.Println(fault.Invalid("quantity", "five", "an integer from 1 to 99"))
	fmt.Println(fault.Invalid("color", "blau", "a colour in English", "red", "green"))
	fmt.Println(fault.Invalid("password", "hunter2", "at least 12 characters"))

	// Output:
	// Validation Error: Argument 'quantity' expected an integer from 1 to 99, but received 'five'.
	// Validation Error: Argument 'color' expected a colour in English, but received 'blau'. For example: 'red' or 'green'.
	// Validation Error: Argument 'password' expected at least 12 characters, but received a string that is not shown.
}

func ExampleViolations() {
	fmt.Println(fault.Violations(
		fault.Violation{Field: "from", Rule: "required", Expected: "a date"},
		fault.Violation{Field: "limit", Rule: "maximum", Expected: "100 or less", Received: 5000},
	))

	// Output:
	// Validation Error: 2 arguments are wrong.
	// - Argument 'from' is required: expected a date.
	// - Argument 'limit' expected 100 or less, but received 5000.
}

func ExampleDenied() {
	fmt.Println(fault.Denied("delete", "project 'apollo'").Needs("projects:delete"))

	// Output:
	// Permission denied: you are not allowed to delete project 'apollo'. Required permission: projects:delete.
	// Suggestion: Ask the user to obtain the permission or to choose another way.
}

func ExampleRateLimited() {
	fmt.Println(fault.RateLimited("the search API", 90*time.Second).
		Step("Read cached results", "list_cached", map[string]any{"topic": "weather"}))

	// Output:
	// Rate limited: the search API accepts no more calls now.
	// Retry: yes, after 90 s.
	// Next: 1. Read cached results: call list_cached {"topic":"weather"}.
}

// A kind of one's own needs no registration.
func ExampleNew() {
	fmt.Println(fault.New("deployment_in_progress", "version 7 is being deployed").After(time.Minute))

	// Output:
	// Deployment in progress: version 7 is being deployed.
	// Retry: yes, after 60 s.
}

func ExampleError_Step() {
	err := fault.New(fault.KindPreconditionFailed, "the order has no delivery address").
		Step("Find the customer's addresses", "list_addresses", map[string]any{"customer": 4711}).
		Step("Ask the user which one to use", "", nil).
		Step("Set it", "set_address", map[string]any{"order": 17, "address": "the chosen one"})
	fmt.Println(err)

	// Output:
	// Precondition failed: the order has no delivery address.
	// Next: 1. Find the customer's addresses: call list_addresses {"customer":4711}.
	//       2. Ask the user which one to use.
	//       3. Set it: call set_address {"address":"the chosen one","order":17}.
}

// Programs read the same fault as JSON, with a code and details.
func ExampleError_With() {
	err := fault.New(fault.KindConflict, "the seat is taken").
		WithCode("SEAT_TAKEN").
		With("seat", "12A").
		With("free", []string{"12C", "14F"})
	fmt.Println(err)

	b, _ := json.MarshalIndent(err, "", "  ")
	fmt.Println(string(b))

	var received fault.Error
	if json.Unmarshal(b, &received) == nil {
		fmt.Println(received.Data().Code, received.Data().Details["free"])
	}

	// Output:
	// Conflict: the seat is taken.
	// Details: {"free":["12C","14F"],"seat":"12A"}
	// {
	//   "type": "conflict",
	//   "message": "the seat is taken",
	//   "code": "SEAT_TAKEN",
	//   "details": {
	//     "free": [
	//       "12C",
	//       "14F"
	//     ],
	//     "seat": "12A"
	//   }
	// }
	// SEAT_TAKEN [12C 14F]
}

// The cause is reached with errors.Is and errors.As, and the log prints it.
func ExampleError_Because() {
	err := fault.Unavailable("the weather service").
		Because(errors.New("dial tcp 10.0.0.7:443: connection refused"))
	fmt.Println(err.Text())

	log := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{
		ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if len(groups) == 0 && a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	}))
	log.Error("call failed", slog.Any("err", err))

	// Output:
	// Service unavailable: the weather service is not available now.
	// Suggestion: Keep the arguments: they are not the cause.
	// level=ERROR msg="call failed" err.type=service_unavailable err.message="the weather service is not available now." err.cause="dial tcp 10.0.0.7:443: connection refused"
}

func ExampleJoin() {
	fmt.Println(fault.Join(
		fault.NotFound("file", "raport.txt", "report.txt"),
		fault.Timeout("the conversion", 30*time.Second).Suggest("").After(time.Minute),
	))

	// Output:
	// Not found: 2 things failed.
	// - Not found: file 'raport.txt' does not exist. Did you mean 'report.txt'?
	// - Timeout: the conversion did not finish within 30 s.
	// Retry: yes, after 60 s.
}
