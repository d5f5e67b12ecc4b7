// Package errorcode reads the codes by which AWS names its errors.
package errorcode

import (
	"errors"
	"slices"
	"strings"

	"github.com/aws/smithy-go"
)

// Read is AWS's name of an error, without the suffix that some services add; empty where AWS did not
// answer.
func Read(err error) string {
	var refused smithy.APIError
	if !errors.As(err, &refused) {
		return ""
	}
	return strings.TrimSuffix(refused.ErrorCode(), "Exception")
}

// Throttled reports whether AWS refuses a call because there are too many.
func Throttled(code string) bool {
	return strings.HasPrefix(code, "Throttl") ||
		slices.Contains([]string{"RequestLimitExceeded", "TooManyRequests", "RequestThrottled",
			"SlowDown"}, code)
}
