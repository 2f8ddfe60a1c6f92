package words

import "time"

// Time shows by an example how a time is written in a layout of package time.
func Time(layout string) string {
	switch example := exampleTime.Format(layout); layout {
	case "":
		return "a date or time"
	case time.RFC3339, time.RFC3339Nano:
		return "a date and time with its zone, such as 2026-01-31T13:45:00Z"
	case time.DateOnly:
		return "a date such as " + example
	default:
		return "a string such as '" + example + "'"
	}
}

// exampleTime has no two parts that are the same, so that it shows which is which.
var exampleTime = time.Date(2026, time.January, 31, 13, 45, 6, 0, time.UTC)
