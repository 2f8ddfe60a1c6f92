package speak_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/internal/speak"
)

func TestVersion(t *testing.T) {
	require.Equal(t, "&{2025-11-25}", fmt.Sprint(speak.Version("2025-11-25")))
	require.Equal(t, "&{}", fmt.Sprint(speak.Version("")))
}
