package classify_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/classify"
	"github.com/mcpchain/mcpchain/internal/failure"
)

// What a service answered becomes an error that knows whether to try again, and
// tells nothing of what the service wrote.
func ExampleFromResponse() {
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "30")
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = w.Write([]byte("account 4711 has used up its quota"))
	}))
	defer service.Close()

	resp, err := http.Get(service.URL)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	err = classify.FromResponse(resp)
	hint := failure.HintOf(fmt.Errorf("search: %w", err))
	fmt.Println("retry:", hint.Retry)
	fmt.Println("after:", hint.After)
	fmt.Println(failure.Classify(err))
	// Output:
	// retry: yes
	// after: 30s
	// Rate limited: too many calls were made in a short time.
	// Suggestion: Make fewer calls.
}

// A rule says what an error of this program means that the built-in table cannot
// know.
func ExampleHintRule() {
	errNightly := errors.New("the nightly import is running")
	nightly := func(err error) (fault.Hint, bool) {
		if errors.Is(err, errNightly) {
			return fault.Hint{Retry: fault.RetryYes, After: 10 * time.Minute, Effect: fault.EffectNone}, true
		}
		return fault.Hint{}, false
	}
	err := fmt.Errorf("create order: %w", errNightly)
	fmt.Println(failure.HintOf(err).Retry)
	hint := failure.HintOf(err, nightly)
	fmt.Println(hint.Retry, hint.After, hint.Effect)
	// Output:
	// no
	// yes 10m0s none
}
