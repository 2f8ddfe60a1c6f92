package retry_test

import (
	"os"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/retry"
)

// The types behind the names of this package are internal, so go doc shows none of what they
// have: the comments do.
func TestCommentsHaveWhatTypesHave(t *testing.T) {
	text, err := os.ReadFile("hint.go")
	require.NoError(t, err)
	hint, response := reflect.TypeFor[retry.Hint](), reflect.TypeFor[*retry.ResponseError]()
	for i := range hint.NumField() {
		require.Regexp(t, `(?m)^//\t`+hint.Field(i).Name+` +[\w.]*`+hint.Field(i).Type.Name(), string(text))
	}
	for i := range response.NumMethod() {
		require.Regexp(t, `(?m)^//\t`+response.Method(i).Name+`\(\) .*`+response.Method(i).Type.Out(0).Name(), string(text))
	}
}
