package scrub_test

import (
	"fmt"

	"github.com/mcpchain/mcpchain/internal/scrub"
)

func ExampleText() {
	fmt.Println(scrub.Text("open /etc/app/key.pem: permission denied"))
	fmt.Println(scrub.Text("dial tcp 10.0.0.5:5432: connect: connection refused"))
	fmt.Println(scrub.Text(`login failed: {"user":"bob","password":"hunter2"}`))
	fmt.Println(scrub.Text("Please select a file from the list."))
	// Output:
	// open [path]: permission denied
	// dial tcp [address]: connect: connection refused
	// login failed: {"user":"bob","password":"[redacted]"}
	// Please select a file from the list.
}

func ExampleSecretName() {
	fmt.Println(scrub.SecretName("apiKey"), scrub.SecretName("token_count"))
	// Output: true false
}
